#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares sampled counters with ncu: every bundled program and variant, and Python scripts.

usage: verify_counters.py [RESULTS] [--prefix FOLDER] [--only NAME,..] [--script FILE.py ..] [--counters HOW]
                          [--seconds S] [--limit S] [--no-collect | --no-compare]

Collecting needs a GPU and ncu: RESULTS/counters/NAME.wm.sqlite and NAME.ncu.csv. Comparing needs neither, so a changed
analysis can be compared with the same recordings anywhere (--no-collect). The table is docs/accuracy.md's.
"""

import csv
import json
import pathlib
import statistics
import sys
import time

import gpu_results

METRICS = {
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dramRead": "dram__bytes_read.sum",
    "dramWrite": "dram__bytes_write.sum",
    "instructions": "sm__inst_executed.sum",
    "duration": "gpu__time_duration.sum",
}
# What a kernel may move without the difference in bytes meaning anything.
CEILING_SHARE = 0.01
NCU_LAUNCHES = 3


def workloads(tools, only, seconds):
    listed = gpu_results.run([tools.warpmeter, "kernels", "list", "--json"], 20)
    for program in json.loads(listed.stdout)["programs"]:
        options = {option["name"] for option in program["options"]}
        for variant in program["variants"]:
            name = f"{program['name']}.{variant['name']}"
            if only and name not in only and program["name"] not in only:
                continue
            command = [tools.kernel(program["name"]), "--variant", variant["name"]]
            long = command + (["--seconds", str(seconds)] if "--seconds" in options else [])
            short = command + (["--seconds", "0"] if "--seconds" in options else [])
            short += ["--repetitions", "12"] if "--repetitions" in options else []
            yield name, long, short, variant


def collect(results, tools, folder, name, long, short, counters, skip, launches):
    file = folder / f"{name}.wm.sqlite"
    # N: how many steps a script's loop has, where it wants to know.
    done = tools.record(file, long, 60, ["--counters", counters], gpu_results.environment(N="12000"))
    (folder / f"{name}.stdout").write_bytes(done.stdout)
    (folder / f"{name}.stderr").write_bytes(done.stderr)
    results.check(done.rc == 0, f"{name}: record", f"{done.seconds:.1f} s; {done.last_line()[-160:]}")
    ncu = gpu_results.run(["ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
                           "--launch-skip", skip, "--launch-count", launches, "--metrics", ",".join(METRICS.values()),
                           *short], 90, gpu_results.environment(N="30"))
    (folder / f"{name}.ncu.csv").write_bytes(ncu.stdout)
    results.check(ncu.rc == 0, f"{name}: ncu", f"{ncu.seconds:.1f} s; {ncu.last_line()[-160:]}")


def ncu_kernels(file):
    """(name, grid, block) -> metric -> list of values."""
    lines = [line for line in file.read_text(errors="replace").splitlines() if line.startswith('"')]
    kernels = {}
    for row in csv.DictReader(lines):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except (KeyError, ValueError):
            continue
        shape = lambda text: tuple(int(part) for part in text.strip("()").split(","))  # noqa: E731
        key = (row["Kernel Name"], shape(row["Grid Size"]), shape(row["Block Size"]))
        kernels.setdefault(key, {}).setdefault(row["Metric Name"], []).append(value)
    return kernels


def bare(name):
    """The function's identifier: ncu and CUPTI write templates and return types differently."""
    for inner in ("(anonymous namespace)::", "<unnamed>::"):
        name = name.replace(inner, "")
    head = name.split("<")[0].split("(")[0].strip()
    return head.split(" ")[-1].split("::")[-1]


def value_of(metric):
    return None if metric is None else metric.get("value")


def interval(metric):
    return (metric["low"], metric["high"]) if metric and metric.get("low") is not None else (None, None)


def compare(results, tools, folder, name, dram_ceiling):
    report = gpu_results.run([tools.warpmeter, "report", "--json", "--all", folder / f"{name}.wm.sqlite"], 60)
    if not results.check(report.rc == 0, f"{name}: report", report.last_line()):
        return []
    document = json.loads(report.stdout)
    truth = ncu_kernels(folder / f"{name}.ncu.csv")
    rows = []
    for function in document["kernels"]:
        for distinct in function["distinct"]:
            matches = [values for (kernel, grid, block), values in truth.items()
                       if bare(kernel) == bare(function["demangledName"] or function["name"])
                       and grid == tuple(distinct["grid"]) and block == tuple(distinct["block"])]
            if len(matches) != 1:
                continue
            ncu = {key: statistics.median(matches[0].get(metric, [float("nan")])) for key, metric in METRICS.items()}
            counters = distinct.get("counters") or {}
            ours = {"occupancy": distinct.get("achievedOccupancyPct"), "dramRead": counters.get("dramReadBytes"),
                    "dramWrite": counters.get("dramWriteBytes"), "instructions": counters.get("instructions")}
            rows.append({"workload": name, "kernel": bare(function["demangledName"] or function["name"]),
                         "grid": distinct["grid"], "launches": distinct["launches"],
                         "us": distinct["medianNs"] / 1e3, "ours": ours, "ncu": ncu,
                         "bound": (distinct.get("bound") or {}).get("id")})
            check_row(results, rows[-1], dram_ceiling)
    return rows


def check_row(results, row, dram_ceiling):
    what = f"{row['workload']} {row['kernel']} {row['us']:.1f} us x {row['launches']}"
    short = row["us"] < 20
    occupancy, ncu = row["ours"]["occupancy"], row["ncu"]
    got = value_of(occupancy)
    low, high = interval(occupancy)
    if got is None:
        results.line(f"NULL  {what}: occupancy {occupancy and occupancy.get('reason')}, ncu {ncu['occupancy']:.2f}")
    else:
        difference = got - ncu["occupancy"]
        covered = low is not None and low <= ncu["occupancy"] <= high
        results.check(abs(difference) <= (3 if short else 1) or (short and covered and high - low <= 10),
                      f"{what}: occupancy", f"{got:.2f} [{low:.2f}, {high:.2f}], ncu {ncu['occupancy']:.2f}")
    for key, share in (("dramRead", 0.03), ("dramWrite", 0.03), ("instructions", 0.03)):
        got = value_of(row["ours"][key])
        if got is None:
            results.line(f"NULL  {what}: {key}, ncu {ncu[key]:.4g}")
            continue
        allowed = (0.05 if short else share) * ncu[key]
        if key != "instructions" and dram_ceiling:
            allowed = max(allowed, CEILING_SHARE * dram_ceiling * row["us"] * 1e-6)
        ratio = got / ncu[key] if ncu[key] else float("nan")
        low, high = interval(row["ours"][key])
        results.check(abs(got - ncu[key]) <= allowed, f"{what}: {key}",
                      f"{got:.5g} [{low:.5g}, {high:.5g}], ncu {ncu[key]:.5g}, ratio {ratio:.3f}")


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--only", help="programs or PROGRAM.VARIANT, separated by commas")
    parser.add_argument("--script", action="append", default=[], help="a Python script to measure too")
    parser.add_argument("--counters", default="sample")
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600, help="collect nothing more after this many seconds")
    parser.add_argument("--dram", type=float, default=4.0e12, help="bytes/s that 1 %% of the ceiling is taken of")
    parser.add_argument("--no-collect", action="store_true")
    parser.add_argument("--no-compare", action="store_true")
    given = parser.parse_args()
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "verify_counters")
    folder = results.folder / "counters"
    folder.mkdir(exist_ok=True)
    only = set(given.only.split(",")) if given.only else None
    started = time.monotonic()
    if not given.no_collect:
        jobs = [(pathlib.Path(script).stem, [sys.executable, script], [sys.executable, script], "330", "60")
                for script in given.script]
        jobs += [(name, long, short, "6", str(NCU_LAUNCHES)) for name, long, short, _ in
                 workloads(tools, only, given.seconds)]
        for name, long, short, skip, launches in jobs:
            if time.monotonic() - started > given.limit:
                results.skip(f"{name}: collect", "out of time")
                continue
            results.step(f"{name}: collect", collect, results, tools, folder, name, long, short, given.counters, skip,
                         launches)
    rows = []
    if not given.no_compare:
        for file in sorted(folder.glob("*.wm.sqlite")):
            name = file.name[:-len(".wm.sqlite")]
            if (folder / f"{name}.ncu.csv").exists():
                rows += results.step(f"{name}: compare", compare, results, tools, folder, name, given.dram) or []
        results.figures["rows"] = rows
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
