#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact mode on a real GPU: the values of single launches against ncu, what they cost, and that captures survive.

usage: verify_exact.py [RESULTS] [--prefix FOLDER] [--only NAME,..] [--metrics basic|full] [--pairs N] [--script FILE.py ..]

For each bundled program and variant: a recording with --counters exact, then ncu (no cache and clock control) with
the metrics that the recording holds, on the same command. RESULTS/exact/ keeps recordings, ncu's CSV and all output.
"""

import collections
import csv
import io
import pathlib
import re
import statistics
import sys

import gpu_results
import verify_counters

# Prints the largest resident size of the program below it, which is where CUPTI's host library would show.
MEASURE = ("import resource,subprocess,sys\n"
           "code=subprocess.call(sys.argv[1:])\n"
           "print('maxrss_kib',resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,file=sys.stderr)\n"
           "sys.exit(code if code>=0 else 128-code)\n")
RATIO_LIMIT, POINT_LIMIT, LONG_NS = 0.02, 0.5, 20_000
# What CUPTI's tracing adds to each warp (docs/accuracy.md); the file has what was counted, reports take it off.
TRACING_INSTRUCTIONS = 8
# ncu writes the L2 back before each launch. In an ordinary run a launch also writes back what the one before it left there.
L2_BYTES = 60e6


def short_name(name):
    head = re.split(r"[<(]", name.replace("(anonymous namespace)::", ""))[0]
    return head.split("::")[-1].split()[-1]


def ranged(file):
    """(short name, grid, block) -> metric -> values; durations by the same key; everything else worth printing."""
    database = gpu_results.open_recording(file)
    try:
        query = """SELECT s.value, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.end - k.start,
                          m.value, r.value, r.configuration, r.correlationId
                   FROM WM_RANGED r JOIN CUPTI_ACTIVITY_KIND_KERNEL k
                     ON k.correlationId = r.correlationId AND k.globalPid = r.globalPid
                   JOIN StringIds s ON s.id = k.shortName JOIN StringIds m ON m.id = r.metric"""
        values = collections.defaultdict(lambda: collections.defaultdict(list))
        durations = collections.defaultdict(list)
        launches, configurations = set(), collections.Counter()
        for row in database.execute(query):
            key = (short_name(row[0]), tuple(row[1:4]), tuple(row[4:7]))
            values[key][row[8]].append(row[9])
            if row[11] not in launches:
                durations[key].append(row[7])
                configurations[row[10]] += 1
            launches.add(row[11])
        info = {
            "counters": database.execute("SELECT counters, countersText FROM WM_SESSION").fetchone(),
            "costs": database.execute("SELECT s.value, sum(c.ns), sum(c.count) FROM WM_SELF_COST c "
                                      "JOIN StringIds s ON s.id = c.what GROUP BY 1").fetchall(),
            "losses": database.execute("SELECT k.value, l.count, w.value FROM WM_LOSS l LEFT JOIN StringIds k ON k.id = l.kind "
                                       "LEFT JOIN StringIds w ON w.id = l.why").fetchall(),
            "kernels": database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0],
            "untimed": database.execute("SELECT count(*) FROM WM_UNTIMED").fetchone()[0],
            "launches": len(launches), "configurations": dict(configurations),
        }
        return values, durations, info
    finally:
        database.close()


def ncu_values(text):
    """The same keys from ncu's CSV."""
    lines = text.decode(errors="replace").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    values = collections.defaultdict(lambda: collections.defaultdict(list))
    if start is None:
        return values
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        grid, block = (tuple(int(n) for n in re.findall(r"\d+", row[column])) for column in ("Grid Size", "Block Size"))
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue
        values[short_name(row["Kernel Name"]), grid, block][row["Metric Name"]].append(value)
    return values


def compare(results, name, values, durations, reference):
    for key, metrics in sorted(values.items(), key=lambda item: -statistics.median(durations[item[0]])):
        kernel, grid, block = key
        duration = statistics.median(durations[key])
        results.line(f"      {kernel} grid {grid} block {block} {duration / 1000:.1f} us, {len(durations[key])} launches")
        if key not in reference:
            results.line("        ncu did not see it")
            continue
        ours = {metric: statistics.mean(list_) for metric, list_ in metrics.items()}
        theirs = {metric: statistics.mean(list_) for metric, list_ in reference[key].items()}
        for metric in sorted(ours):
            if metric not in theirs:
                results.line(f"        {metric:45} ours {ours[metric]:.6g}, ncu none")
                continue
            spread = f"{min(metrics[metric]):.6g} .. {max(metrics[metric]):.6g}"
            ratio = ours[metric] / theirs[metric] if theirs[metric] else float("nan")
            results.line(f"        {metric:45} ours {ours[metric]:14.6g}  ncu {theirs[metric]:14.6g}  ratio {ratio:.4f}  ({spread})")
        if duration < LONG_NS:
            continue
        warps, cycles = "sm__warps_active.sum", "sm__cycles_active.sum"
        if all(m in ours and m in theirs for m in (warps, cycles)) and ours[cycles] and theirs[cycles]:
            mine, other = (100 * v[warps] / v[cycles] / 64 for v in (ours, theirs))
            results.check(abs(mine - other) <= POINT_LIMIT, f"{name} {kernel}: occupancy", f"{mine:.2f} against {other:.2f} % of 64 warps")
        for metric in ("sm__inst_executed.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"):
            # Below 1 MB caches and refreshes are what is measured.
            if metric in ours and theirs.get(metric, 0) > (1e6 if metric.startswith("dram") else 0):
                value = ours[metric]
                if metric == "sm__inst_executed.sum":
                    value -= TRACING_INSTRUCTIONS * grid[0] * grid[1] * grid[2] * -(-block[0] * block[1] * block[2] // 32)
                if metric == "dram__bytes_write.sum" and value > theirs[metric]:
                    value = max(theirs[metric], value - L2_BYTES)
                ratio = value / theirs[metric]
                results.check(abs(ratio - 1) <= RATIO_LIMIT, f"{name} {kernel}: {metric}", f"ratio {ratio:.4f}")


def one(results, tools, folder, name, command, options):
    file = folder / f"{name}.wm.sqlite"
    done = tools.record(file, [sys.executable, "-c", MEASURE, *command], 120,
                        ["--counters", "exact", "--metrics", options.metrics], gpu_results.environment(N="400"))
    (folder / f"{name}.log").write_bytes(done.stdout + b"\n--- stderr\n" + done.stderr)
    results.check(done.rc == 0, f"{name}: record", f"{done.seconds:.1f} s, exit {done.rc}")
    for line in done.stderr.decode(errors="replace").splitlines()[-6:]:
        results.line(f"      | {line}")
    values, durations, info = ranged(file)
    for key, value in info.items():
        results.line(f"      {key}: {value}")
    costs = {what: (ns, count) for what, ns, count in info["costs"]}
    for what, unit in (("guest.exact_ranges", "us a ranged launch"), ("guest.exact_sessions", "us a session"),
                       ("guest.exact_wait", "us waited for configurations")):
        ns, count = costs.get(what, (0, 0))
        if count:
            results.figure(f"{name}.{what}", ns / count / 1000, unit)
    results.check(info["untimed"] == 0, f"{name}: every kernel record has times")
    if not results.check(info["launches"] > 0, f"{name}: ranged launches", str(info["counters"])):
        return
    metrics = sorted({metric for found in values.values() for metric in found})
    ncu = gpu_results.run(["ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
                           "--launch-count", "40", "--metrics", ",".join(metrics), *command], 180,
                          gpu_results.environment(N="10"))
    (folder / f"{name}.ncu.csv").write_bytes(ncu.stdout + b"\n" + ncu.stderr)
    results.check(ncu.rc == 0, f"{name}: ncu", f"{ncu.seconds:.1f} s; {ncu.last_line()[-160:]}")
    compare(results, name, values, durations, ncu_values(ncu.stdout))


def cost(results, tools, folder, name, command, pairs):
    """Whole runs with and without exact mode, in turn."""
    seconds = {"none": [], "exact": []}
    launches = 0
    for i in range(pairs):
        for how in (("none", "exact") if i % 2 == 0 else ("exact", "none")):
            file = folder / f"cost.{how}.wm.sqlite"
            done = tools.record(file, command, 120, ["--counters", how], gpu_results.environment())
            if done.rc != 0:
                results.check(False, f"cost of {name} with {how}", done.why())
                return
            seconds[how].append(done.seconds)
            if how == "exact":
                launches = max(launches, ranged(file)[2]["launches"])
    extra = statistics.median(seconds["exact"]) - statistics.median(seconds["none"])
    results.line(f"      {name}: none {seconds['none']}, exact {seconds['exact']}, {launches} ranged launches")
    results.figure(f"cost.{name}.extra", extra, "s a run")
    results.check(extra <= 1.0 + 0.0015 * launches, f"cost of {name}: at most 1 s + 1.5 ms a ranged launch",
                  f"{extra:.3f} s, {launches} launches")


def against_ncu(results, tools, folder):
    """What one profiled launch costs ncu, with metrics of one pass on the same launches: the slope of its run time."""
    command = [str(tools.kernel("saxpy")), "--n", "1048576", "--repetitions", "200", "--seconds", "0"]
    file = folder / "against_ncu.wm.sqlite"
    done = tools.record(file, command, 60, ["--counters", "exact", "--launches-per-kernel", "100"], gpu_results.environment())
    ns, count = {what: (ns, count) for what, ns, count in ranged(file)[2]["costs"]}.get("guest.exact_ranges", (0, 0))
    if not results.check(done.rc == 0 and count > 0, "exact mode beside ncu: recorded", done.why()):
        return
    spent = {}
    for launches in (5, 105):
        ncu = gpu_results.run(["ncu", "--cache-control", "none", "--clock-control", "none", "--launch-count", launches, "--metrics",
                               "sm__cycles_active.sum,sm__warps_active.sum,sm__inst_executed.sum,dram__bytes_read.sum", *command],
                              60, gpu_results.environment())
        if not results.check(ncu.rc == 0, f"ncu of {launches} launches", ncu.why()):
            return
        spent[launches] = ncu.seconds
    theirs, ours = (spent[105] - spent[5]) / 100, ns / count / 1e9
    results.check(theirs >= 15 * ours, "a ranged launch costs a fifteenth of what ncu's costs",
                  f"{1e3 * theirs:.2f} ms of ncu, {1e3 * ours:.3f} ms of {count} ranges: {theirs / ours:.1f} times")


def main():
    parser = gpu_results.arguments(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--metrics", default="basic", choices=("basic", "full"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--script", action="append", default=[])
    options = parser.parse_args()
    tools = gpu_results.Tools(options.prefix)
    results = gpu_results.Results(options.results, "verify_exact")
    folder = results.folder / "exact"
    folder.mkdir(exist_ok=True)
    for command in (["uname", "-r"], ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                    [tools.prefix / "libexec/warpmeter/warpmeter-sampler", "--range-configs", options.metrics, "--chip", "GH100"]):
        done = gpu_results.run(command, 60)
        shown = done.stdout[:200] if done.stdout.isascii() and b"\0" not in done.stdout else f"{len(done.stdout)} bytes".encode()
        results.line(f"{' '.join(map(str, command))}: rc {done.rc}, {done.seconds:.2f} s, {shown.decode().strip()} {done.last_line()}")
    only = set(filter(None, options.only.split(",")))
    first = None
    for name, _, short, _ in verify_counters.workloads(tools, only, 1):
        command = [str(word) for word in short]
        if "--repetitions" in command:
            command[command.index("--repetitions") + 1] = "200"
        first = first or (name, command)
        results.step(name, one, results, tools, folder, name, command, options)
    for script in options.script:
        name = pathlib.Path(script).stem
        results.step(name, one, results, tools, folder, name, [sys.executable, script], options)
    if tools.kernel("graph").exists() and (not only or "graph" in only):
        done = tools.record(folder / "graph_check.wm.sqlite", [tools.kernel("graph")], 60, ["--counters", "exact"],
                            gpu_results.environment())
        results.check(done.rc == 0, "a program that captures graphs runs as without exact mode", done.why())
    if tools.kernel("saxpy").exists():
        results.step("against ncu", against_ncu, results, tools, folder)
    if first:
        results.step("cost", cost, results, tools, folder, *first, options.pairs)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
