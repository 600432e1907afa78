#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sampling costs the program, and that another process on the GPU is noticed.

usage: cost_counters.py [RESULTS] [--prefix FOLDER] [--pairs N] [--limit S] [--only TEXT] [--script FILE.py ..]   (needs a GPU)

Alternating pairs of recordings of one bundled program, without and with sampling; compared is what the program itself
measures for one launch (a script: what it prints as "N us/step"). The interval is a bootstrap of the median ratio.
"""

import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

import gpu_results

WORK = {
    "GPU-bound (fma fp32)": ["fma", "--variant", "fp32", "--seconds", "1"],
    "GPU-bound (copy)": ["copy", "--variant", "vector", "--seconds", "1"],
    "launch-bound (empty)": ["empty", "--repetitions", "100000"],
}


def one_launch(document):
    """Seconds of one launch as the program measured it: the first number of JSON whose key says so."""
    found = []

    def walk(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if isinstance(value, (int, float)) and key.lower() in ("onelaunchns", "launchns", "perlaunchns"):
                    found.append(float(value))
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
    return found[0] if found else None


def time_printed(stdout):
    text = stdout.decode(errors="replace")
    step = re.search(r"([0-9.]+) us/step", text)
    return 1e3 * float(step.group(1)) if step else one_launch(json.loads(text))


def interval(ratios):
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[1949]


def bursts_and_pauses(file):
    """(mean ns from launch to launch while counters were read, the same in between): free of what differs from run to run."""
    database = gpu_results.open_recording(file)
    try:
        starts = [row[0] for row in database.execute("SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start")]
        bursts = database.execute("SELECT start, end FROM WM_SAMPLE ORDER BY start").fetchall()
    finally:
        database.close()
    spent, count, burst = {True: 0, False: 0}, {True: 0, False: 0}, 0
    usual = sorted(b - a for a, b in zip(starts, starts[1:]))[len(starts) // 2]
    for before, after in zip(starts, starts[1:]):
        while burst < len(bursts) and bursts[burst][1] < before:
            burst += 1
        if after - before > 20 * usual:  # the program did something else
            continue
        inside = burst < len(bursts) and bursts[burst][0] <= before and after <= bursts[burst][1]
        if not inside and burst < len(bursts) and after > bursts[burst][0]:
            continue  # an edge
        spent[inside] += after - before
        count[inside] += 1
    return tuple(spent[inside] / count[inside] if count[inside] else float("nan") for inside in (True, False))


def pairs(results, tools, name, words, count, stop_at):
    ratios, within = [], []
    for index in range(count):
        if time.monotonic() > stop_at:
            break
        times = {}
        for how in ("none", "sample") if index % 2 == 0 else ("sample", "none"):
            file = results.folder / "cost_counters.wm.sqlite"
            done = tools.record(file, words, 60, ["--counters", how], gpu_results.environment())
            if done.rc != 0:
                results.check(False, f"{name}: record --counters {how}", done.why())
                return
            times[how] = time_printed(done.stdout)
            if how == "sample" and index < 4:
                inside, outside = bursts_and_pauses(file)
                within.append(inside / outside)
        if None in times.values():
            results.check(False, f"{name}: time of one launch", done.stdout.decode()[:300])
            return
        ratios.append(times["sample"] / times["none"])
    if not ratios:
        results.skip(name, "out of time")
        return
    results.line(f"      {name}: launch to launch in bursts / between them: " + " ".join(f"{ratio:.4f}" for ratio in within))
    low, high = interval(ratios)
    median = statistics.median(ratios)
    results.line(f"      {name}: " + " ".join(f"{ratio:.4f}" for ratio in ratios))
    results.check(median <= 1.01 and high <= 1.02, f"{name}: sampling / tracing alone",
                  f"median {median:.4f} [{low:.4f}, {high:.4f}] of {len(ratios)} pairs")


def shared(results, tools):
    """A second process keeps the GPU busy before, while and after ours works."""
    other = subprocess.Popen([tools.kernel("copy"), "--seconds", "6"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.2)
        file = results.folder / "shared.wm.sqlite"
        done = tools.record(file, [tools.kernel("latency"), "--seconds", "2"], 60, [], gpu_results.environment())
        results.check(done.rc == 0 and other.poll() is None, "a second process: record", done.last_line()[-160:])
    finally:
        other.terminate()
        other.wait()
    report = gpu_results.run([tools.warpmeter, "report", "--json", file], 30)
    counters = json.loads(report.stdout)["counters"]
    results.check(bool(counters.get("gpuShared")), "a second process: gpu_shared",
                  f"foreign {counters.get('foreignPct')} %, samples {counters.get('samples')}")


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--limit", type=float, default=300, help="seconds in all")
    parser.add_argument("--only", default="", help="only work whose title holds this")
    parser.add_argument("--script", action="append", default=[])
    given = parser.parse_args()
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "cost_counters")
    started = time.monotonic()
    work = {name: [tools.kernel(words[0]), *words[1:], "--json"] for name, words in WORK.items()}
    work |= {pathlib.Path(script).name: [sys.executable, script] for script in given.script}
    work = {name: words for name, words in work.items() if given.only in name}
    if not given.only:
        results.step("a second process", shared, results, tools)
    for index, (name, words) in enumerate(work.items()):
        share = (given.limit - (time.monotonic() - started)) / (len(work) - index)
        results.step(name, pairs, results, tools, name, words, given.pairs, time.monotonic() + share)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
