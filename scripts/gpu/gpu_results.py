# SPDX-License-Identifier: Apache-2.0
"""What the scripts in this folder share: finding and running programs, and saying PASS, FAIL or a figure.

Nothing here ends the script early: a step that goes wrong is a FAIL line, and the next step runs.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Outcome:
    """How a program ended. rc is None when it was stopped after its timeout."""

    def __init__(self, rc, stdout, stderr, seconds, cpu_seconds):
        self.rc, self.stdout, self.stderr = rc, stdout, stderr
        self.seconds, self.cpu_seconds = seconds, cpu_seconds

    def last_line(self):
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def why(self):
        how = "stopped after its timeout" if self.rc is None else f"exit code {self.rc}"
        return f"{how}; {self.last_line()}"


def run(command, timeout, env=None, cwd=None):
    """Runs a program in a process group of its own, and stops the whole group at the timeout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    try:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd,
                                   start_new_session=True)
    except OSError as error:
        return Outcome(127, b"", str(error).encode(), 0.0, 0.0)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
        rc = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        # A grandchild that left the group may hold the pipes: do not wait for it for ever.
        try:
            stdout, stderr = process.communicate(timeout=10)
        except subprocess.TimeoutExpired as late:
            stdout, stderr = late.stdout or b"", late.stderr or b""
        rc = None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(rc, stdout, stderr, time.monotonic() - started, cpu)


class Results:
    """Lines on stdout, the same in FOLDER/NAME.txt, and what finish() collects in FOLDER/NAME.json."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.passed, self.failed, self.skipped, self.figures = [], [], [], {}
        self._log = open(self.folder / f"{name}.txt", "w", encoding="utf-8")

    def line(self, text):
        try:
            print(text, flush=True)
        except OSError:  # nobody reads stdout any more: the file still gets every line
            sys.stdout = open(os.devnull, "w", encoding="utf-8")
        self._log.write(text + "\n")
        self._log.flush()

    def check(self, ok, what, detail=""):
        (self.passed if ok else self.failed).append(what)
        self.line(f"{'PASS' if ok else 'FAIL'}  {what}" + (f": {detail}" if detail else ""))
        return ok

    def skip(self, what, why):
        self.skipped.append(what)
        self.line(f"SKIP  {what}: {why}")

    def figure(self, name, value, unit=""):
        self.figures[name] = value
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        self.line(f"FIG   {name} = {shown}" + (f" {unit}" if unit else ""))

    def step(self, what, function, *arguments):
        """Calls the function; an exception is a FAIL of this step alone."""
        try:
            return function(*arguments)
        except Exception as error:  # whatever it is, the next step must run
            self.check(False, what, f"{type(error).__name__}: {error}")
            self._log.write(traceback.format_exc())
            return None

    def finish(self):
        summary = {"passed": len(self.passed), "failed": self.failed, "skipped": self.skipped,
                   "figures": self.figures}
        (self.folder / f"{self.name}.json").write_text(json.dumps(summary, indent=1) + "\n")
        self.line(f"{self.name}: {len(self.passed)} passed, {len(self.failed)} failed, "
                  f"{len(self.skipped)} skipped; results in {self.folder}")
        return 1 if self.failed or not self.passed else 0


def arguments(description):
    """The command line of every script here; add options to what this returns, then parse."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("results", nargs="?", default="gpu-results", help="folder for the results")
    parser.add_argument("--prefix", help="build or unpacked folder with bin/ and lib/ (default: the newest "
                                         "of build/*)")
    return parser


def prefix(given):
    """The folder with bin/warpmeter and lib/warpmeter/kernels. Ends the script when there is none."""
    if given:
        found = [pathlib.Path(given).resolve()]
    else:
        found = sorted((path.parents[1] for path in ROOT.glob("build/*/bin/warpmeter")),
                       key=lambda path: (path / "bin/warpmeter").stat().st_mtime, reverse=True)
        if not found and (ROOT / "bin/warpmeter").exists():
            found = [ROOT]
    if not found or not (found[0] / "bin/warpmeter").exists():
        sys.exit(f"no bin/warpmeter below {given or ROOT / 'build'}: build it, or name its folder with --prefix")
    return found[0]


class Tools:
    def __init__(self, given_prefix):
        self.prefix = prefix(given_prefix)
        self.warpmeter = self.prefix / "bin/warpmeter"
        self.kernels = self.prefix / "lib/warpmeter/kernels"

    def kernel(self, name):
        return self.kernels / name

    def record(self, file, command, timeout, options=(), env=None):
        return run([self.warpmeter, "record", *options, "--force", "-o", file, "--", *command], timeout, env)


def environment(**changes):
    """This process's environment without anybody's injection, and with changes."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")}
    env.update(changes)
    return env


def open_recording(file):
    """Read only. Never immutable: a -wal beside the file belongs to it."""
    if not pathlib.Path(file).exists():
        raise FileNotFoundError(f"{file} was not written")
    return sqlite3.connect(f"file:{pathlib.Path(file).resolve()}?mode=ro", uri=True, timeout=5)


def cuda_home():
    candidates = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        candidates.append(str(pathlib.Path(nvcc).resolve().parents[1]))
    for candidate in candidates:
        if candidate and (pathlib.Path(candidate) / "include/cuda.h").exists():
            return pathlib.Path(candidate)
    return None


def find_nsys():
    """nsys from PATH, else the newest one that came with Nsight Systems or Nsight Compute."""
    on_path = shutil.which("nsys")
    if on_path:
        return on_path
    patterns = ("opt/nvidia/nsight-systems/*/bin/nsys", "opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
                "opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    for pattern in patterns:
        found = sorted(pathlib.Path("/").glob(pattern))
        if found:
            return str(found[-1])
    return None
