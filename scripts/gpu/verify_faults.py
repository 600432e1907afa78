#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold when things go wrong or only a part is wanted, on a real GPU: kill -9, capture ranges, delay and
duration, another CUPTI user in the same process.

usage: verify_faults.py [RESULTS] [--prefix FOLDER]
"""

import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import gpu_results


def rows(file, sql):
    database = gpu_results.open_recording(file)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def record(tools, file, *arguments, options=()):
    return gpu_results.run([tools.warpmeter, "record", "--force", *options, "-o", file, "--", *arguments], timeout=120)


def kill_nine(results, tools):
    """Launches are numbered by correlation id: every one whose call began 2 s before the kill must be there."""
    for seconds in (3.0, 4.3):
        name = f"kill -9 after {seconds} s"
        file = results.folder / "killed.wm.sqlite"
        process = subprocess.Popen([tools.warpmeter, "record", "--force", "-o", file, "--", tools.kernel("empty"),
                                    "--repetitions", "20000000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=gpu_results.environment())
        time.sleep(seconds)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        targets = [int(pid) for pid in children
                   if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "empty"]
        killed_ns = time.time_ns()
        for pid in targets:
            os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        results.check(len(targets) == 1 and process.returncode == 128 + 9, f"{name}: exit code",
                      f"{process.returncode}; {stderr.decode(errors='replace').splitlines()[:1]}")
        how = rows(file, "SELECT endedHow FROM WM_SESSION")
        results.check(how == [("killed(9)",)], f"{name}: endedHow", str(how))
        epoch = rows(file, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")[0][0]
        limit = killed_ns - 2_000_000_000 - epoch
        found = rows(file, "SELECT COUNT(*), MIN(correlationId), MAX(correlationId), COUNT(DISTINCT correlationId) "
                           f"FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end <= {limit}")[0]
        # A launch and what the program calls beside it take the same number of ids each time.
        some = [row[0] for row in rows(file, "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                             "ORDER BY correlationId LIMIT 1000")]
        step = statistics.mode(b - a for a, b in zip(some[10:], some[11:]))
        missing = (found[2] - found[1]) / step + 1 - found[0]
        results.check(found[0] > 100_000 and found[0] == found[3] and abs(missing) <= 3,
                      f"{name}: launches before the last 2 s",
                      f"{found[0]} rows, {found[3]} distinct ids {found[1]} to {found[2]} in steps of {step}")
        after = rows(file, f"SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end > {limit}")[0][0]
        results.figure(f"{name}: launches of the last 2 s that are there", after)
        lost = rows(file, "SELECT s.value, count FROM WM_LOSS JOIN StringIds s ON s.id = kind")
        results.line(f"      losses: {lost}")


def parts(results, tools):
    file = results.folder / "part.wm.sqlite"
    count = "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"
    record(tools, file, tools.kernel("saxpy"), "--repetitions", "50")
    whole = rows(file, count)[0][0]
    record(tools, file, tools.kernel("saxpy"), "--repetitions", "50", options=["--capture-range", "nvtx:measure"])
    measured = rows(file, count)[0][0]
    results.check(measured == 50, "capture range nvtx:measure", f"{measured} of {whole} launches, 50 are inside")
    record(tools, file, tools.kernel("saxpy"), "--repetitions", "50", options=["--delay", "60"])
    results.check(rows(file, count)[0][0] == 0, "delay beyond the end", f"{rows(file, count)[0][0]} launches")
    record(tools, file, tools.kernel("empty"), "--repetitions", "1000000", options=["--duration", "2"])
    last = rows(file, "SELECT COUNT(*), MAX(end) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    results.check(0 < last[0] < 1_000_001 and last[1] <= 2_010_000_000, "duration 2 s", f"{last[0]} rows to {last[1]} ns")


def second_user(results, tools):
    """torch.profiler inside a recorded process: the application must end well, and the file say what it has."""
    loop = pathlib.Path(__file__).resolve().parent / "torch_loop.py"
    file = results.folder / "two.wm.sqlite"
    outcome = record(tools, file, sys.executable, loop, "--steps", "3", "--profile", results.folder / "profiled.json")
    results.check(outcome.rc == 0, "torch.profiler inside a recording: exit code", outcome.why())
    found = rows(file, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
    lost = rows(file, "SELECT s.value, count FROM WM_LOSS JOIN StringIds s ON s.id = kind")
    results.line(f"      recorded {found} kernels, losses {lost}")
    results.check(found > 0 or lost, "torch.profiler inside a recording: kernels or a loss", f"{found}, {lost}")
    results.line("      " + " | ".join(line for line in outcome.stderr.decode(errors="replace").splitlines()
                                       if line.startswith("warpmeter:"))[:600])


def main():
    given = gpu_results.arguments(__doc__.splitlines()[0]).parse_args()
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "verify_faults")
    results.step("kill -9", kill_nine, results, tools)
    results.step("parts of a run", parts, results, tools)
    results.step("second CUPTI user", second_user, results, tools)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
