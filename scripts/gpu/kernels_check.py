#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every bundled program and variant at a small, ragged size and at its default size, with wrong arguments too, and
prints a table of times, rates and shares. With --sanitizer also compute-sanitizer's four tools at the small size.

What is not the measuring itself runs several at a time. After --limit seconds the remaining default sizes are skipped,
and from two thirds of it on they no longer fill a second each.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import time

import gpu_results

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZER_FOUND = 99
# What a library does inside, and nothing of ours can change: which reports of the tool, and why they are none. Any other
# report, or a check of the program that does not pass, still is a failure.
EXPLAINED = {
    "memcheck allreduce nccl": (
        "cudaErrorNoKernelImageForDevice",
        "NCCL asks for kernels that its build does not have for this GPU, and goes on without them"),
    "initcheck tensor cublas": (
        "Host API memory access error",
        "the tool does not see how cuBLAS's kernel writes, so all of C looks unwritten; its values are right"),
}
AT_A_TIME = max(4, (os.cpu_count() or 4) - 4)
# Sizes that no GPU holds: the program must say so before it allocates anything.
TOO_LARGE = {"--n": str(1 << 40), "--bytes": str(1 << 40)}


class Program:
    def __init__(self, path, about):
        self.path, self.name = path, about["name"]
        self.variants = [variant["name"] for variant in about["variants"]]
        self.bounds = {variant["name"]: variant["bound"] for variant in about["variants"]}
        self.small_words = about["smallArguments"]
        self.options = {option["name"]: option for option in about["options"]}

    def small(self, variant):
        words = [self.path, "--variant", variant, *self.small_words]
        if "--seconds" in self.options:
            words += ["--seconds", "0", "--repetitions", "2"]
        return words

    def wrong(self):
        """Arguments that must end with exit code 2."""
        cases = [["--device", "99"], ["--variant", "nothing"], ["--seed", "-1"]]
        for name, option in self.options.items():
            if option["min"] > 0:
                cases.append([name, "0"])
            if option["max"] >= 1 << 40 and name in TOO_LARGE:
                cases.append([name, TOO_LARGE[name]])
        return [[self.path, *case] for case in cases]


def kernels_folder(given):
    """Needs nothing but the programs: a build of target kernels will do."""
    below = "lib/warpmeter/kernels"
    if given:
        return pathlib.Path(given).resolve() / below
    built = sorted(gpu_results.ROOT.glob(f"build/*/{below}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else gpu_results.ROOT / below


def programs(results, folder):
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        outcome = gpu_results.run([path, "--describe", "--json"], timeout=10)
        try:
            found.append(Program(path, json.loads(outcome.stdout)))
        except (ValueError, KeyError) as error:
            results.check(False, f"{path.name} describes itself", f"{type(error).__name__}; {outcome.why()}")
    results.check(bool(found), "programs", f"{len(found)} in {folder}")
    return found


def listed(launches):
    """How many launches the program's list holds."""
    return sum(entry.get("repeat", 1) * len(entry.get("sequence", [entry])) for entry in launches)


def check_run(results, case, outcome):
    """What a run printed, or None."""
    if not results.check(outcome.rc == 0, f"{case} runs", outcome.why() if outcome.rc != 0 else
                         f"{outcome.seconds:.2f} s"):
        return None
    said = json.loads(outcome.stdout)
    if "launches" in said:
        count = listed(said["launches"])
        results.check(count == said["launchCount"], f"{case} list of launches", f"{count} of {said['launchCount']}")
    return said


def in_parallel(commands, timeout):
    """[(case, command)] -> [(case, outcome)] in the same order."""
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        outcomes = pool.map(lambda item: gpu_results.run(item[1], timeout, gpu_results.environment()), commands)
        return list(zip([case for case, _ in commands], outcomes))


def check_small(results, found):
    commands = [(f"{program.name} {variant} small", [*program.small(variant), "--json", "--print-launches", "json"])
                for program in found for variant in program.variants]
    for case, outcome in in_parallel(commands, 30):
        results.step(case, check_run, results, case, outcome)


def check_wrong(results, found):
    commands = [(f"{program.name} {' '.join(command[1:])}", command)
                for program in found for command in program.wrong()]
    for case, outcome in in_parallel(commands, 30):
        lines = outcome.stderr.decode(errors="replace").splitlines()
        results.check(outcome.rc == 2 and len(lines) == 1, f"{case} is refused",
                      f"{outcome.why()}; {len(lines)} lines" if outcome.rc != 2 or len(lines) != 1 else lines[0])


def row_of(program, variant, said):
    values = said.get("values", {})
    launch = values.get("launchNs")
    rate, ceiling, unit = values.get("flopPerSec"), values.get("ceilingFlopPerSec"), "TFLOP/s"
    if ceiling is None and "bandwidthBytesPerSec" in values:
        rate, ceiling, unit = values["bandwidthBytesPerSec"], values.get("ceilingBytesPerSec"), "TB/s"
    share = values.get("sharePct")
    return [program.name, variant, program.bounds[variant] or "-", str(said["launchCount"]),
            f"{launch / 1000:.1f}" if launch else "-",
            f"{rate / 1e12:.3f} {unit}" if rate else "-",
            f"{ceiling / 1e12:.3f}" if ceiling else "-", f"{share:.1f} %" if share is not None else "-"]


def measure(results, found, began, limit):
    rows = [["program", "variant", "expected", "launches", "us each", "rate", "ceiling", "share"]]
    for program in found:
        for variant in program.variants:
            case = f"{program.name} {variant}"
            spent = time.monotonic() - began
            if spent > limit:
                results.skip(case, f"{limit} s are over; --limit gives more")
                continue
            command = [program.path, "--variant", variant, "--json"]
            if spent > limit * 2 / 3 and "--seconds" in program.options:
                command += ["--seconds", "0"]
            outcome = gpu_results.run(command, 60, gpu_results.environment())
            said = results.step(case, check_run, results, case, outcome)
            if said:
                rows.append(row_of(program, variant, said))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        results.line("TABLE " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def explanation(case, said):
    """Why the reports in these lines are no fault of ours, or None."""
    marker, why = EXPLAINED.get(case, (None, None))
    reports = [line for line in said if line.startswith("========= ") and line[10:11].strip()
               and "COMPUTE-SANITIZER" not in line and "SUMMARY" not in line]
    passed = any("passed: " in line for line in said)
    return why if reports and passed and all(marker and marker in line for line in reports) else None


def check_sanitizer(results, found):
    tool = shutil.which("compute-sanitizer")
    home = gpu_results.cuda_home()
    if not tool and home and (home / "bin/compute-sanitizer").exists():
        tool = str(home / "bin/compute-sanitizer")
    if not tool:
        results.skip("compute-sanitizer", "neither on PATH nor in the CUDA toolkit")
        return
    commands = []
    for check in SANITIZERS:
        for program in found:
            for variant in program.variants:
                commands.append((f"{check} {program.name} {variant}",
                                 [tool, "--tool", check, "--error-exitcode", str(SANITIZER_FOUND),
                                  *program.small(variant)]))
    for case, outcome in in_parallel(commands, 120):
        said = outcome.stdout.decode(errors="replace").strip().splitlines()
        summary = next((line for line in reversed(said) if "SUMMARY" in line), outcome.last_line())
        if outcome.rc == SANITIZER_FOUND and (why := explanation(case, said)):
            results.skip(case, f"{why}; {summary}")
            continue
        results.check(outcome.rc == 0, case, f"{outcome.why()}; {summary}" if outcome.rc != 0 else summary)
        if outcome.rc != 0:
            (results.folder / f"{case.replace(' ', '_')}.txt").write_bytes(outcome.stdout + outcome.stderr)


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="programs to run")
    parser.add_argument("--limit", type=float, default=60, help="seconds for the part without compute-sanitizer")
    parser.add_argument("--sanitizer", action="store_true", help="compute-sanitizer at the small sizes")
    given = parser.parse_args()
    results = gpu_results.Results(given.results, "kernels_check")
    began = time.monotonic()
    found = results.step("programs", programs, results, kernels_folder(given.prefix)) or []
    if given.only:
        unknown = set(given.only) - {program.name for program in found}
        if unknown:
            sys.exit(f"unknown programs: {', '.join(sorted(unknown))}")
        found = [program for program in found if program.name in given.only]
    results.step("small sizes", check_small, results, found)
    results.step("wrong arguments", check_wrong, results, found)
    results.step("default sizes", measure, results, found, began, given.limit)
    results.figure("seconds", time.monotonic() - began, "s")
    if given.sanitizer:
        results.step("compute-sanitizer", check_sanitizer, results, found)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
