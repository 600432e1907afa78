#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks rules of the tree that a compiler does not: who may include whom, file length, licence line, and that
Qt Widgets, SQL, CUDA and SQLite stay where they belong. Prints every violation; exit code 1 if there is one."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = {".cpp", ".h", ".cu", ".cuh"}
MAX_LINES = 600

# folder -> prefixes of project headers that it may include besides its own.
MAY_INCLUDE = {
    "profile": {"warpmeter/profile/"},
    "collector/wire": {"warpmeter/wire/"},
    "collector/counters/guest": {"warpmeter/wire/", "warpmeter/counters_guest/"},
    "collector/inject": {"warpmeter/wire/", "warpmeter/counters_guest/", "warpmeter/profile/ids.h", "warpmeter/profile/rows.h"},
    "collector/counters/host": {"warpmeter/wire/", "warpmeter/profile/sample_pack.h", "warpmeter/profile/result.h"},
    "collector/recorder": {"warpmeter/wire/", "warpmeter/profile/", "warpmeter/recorder/"},
    "analyzer": {"warpmeter/profile/", "warpmeter/analyzer/"},
    "cli": {"warpmeter/profile/", "warpmeter/wire/", "warpmeter/analyzer/"},
    "gui/models": {"warpmeter/profile/", "warpmeter/analyzer/"},
    "gui": {"warpmeter/profile/", "warpmeter/analyzer/", "models/", "widgets/"},
    "kernels": set(),
}
# pattern of an include -> folders where it may stand (tests and benchmarks may include anything).
ONLY_IN = [
    (re.compile(r"sqlite3\.h"), {"profile"}),
    (re.compile(r"cupti"), {"collector/inject", "collector/recorder", "collector/counters/guest", "collector/counters/host"}),
    (re.compile(r"^(cuda|nvrtc|cublas|nvtx3)"), {"collector/inject", "collector/recorder", "collector/counters/guest",
                                                 "collector/counters/host", "kernels"}),
    (re.compile(r"^Q(Widget|MainWindow|Application$|AbstractScrollArea|TableView|Splitter|Label|Dock|Menu)"), {"gui"}),
    (re.compile(r"^Q[A-Z]"), {"gui", "gui/models"}),
    (re.compile(r"^fmt/"), {"profile", "collector/recorder", "collector/counters/host", "analyzer", "cli", "gui", "gui/models"}),
    (re.compile(r"^nlohmann/"), {"cli", "collector/counters/host"}),
    (re.compile(r"^CLI/"), {"cli", "gui"}),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SQL = re.compile(r'"\s*(SELECT|INSERT|CREATE TABLE|PRAGMA)\s')


def folder_of(path: str):
    for name in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(name + "/"):
            return name
    return None


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    problems = []
    files = [f for f in listed.stdout.split("\0") if pathlib.Path(f).suffix in SOURCE and (ROOT / f).exists()]
    for name in files:
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        folder = folder_of(name)
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:2]):
            problems.append(f"{name}: the first line must be the SPDX licence line")
        if len(lines) > MAX_LINES:
            problems.append(f"{name}: {len(lines)} lines; split it (limit {MAX_LINES})")
        if folder is None:
            continue
        for number, line in enumerate(lines, 1):
            if folder != "profile" and SQL.search(line):
                problems.append(f"{name}:{number}: SQL belongs to profile/")
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(2)
            if header.startswith("warpmeter/") and not any(header.startswith(p) for p in MAY_INCLUDE[folder]):
                problems.append(f"{name}:{number}: {folder} may not include {header}")
            if header.startswith("../"):
                problems.append(f"{name}:{number}: include by the path below the folder, not {header}")
            for pattern, allowed in ONLY_IN:
                if pattern.search(header) and folder not in allowed:
                    problems.append(f"{name}:{number}: {header} may be included only in {', '.join(sorted(allowed))}")
                    break
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"check_tree: {len(files)} files, {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
