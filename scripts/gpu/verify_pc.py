#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PC sampling on a real GPU: counts, source lines, stall reasons against ncu, and what it costs.

usage: verify_pc.py [RESULTS] [--prefix FOLDER] [--only NAME,..] [--limit SECONDS] [--pairs N] [--pc-period N]
                    [--lines PROGRAM]

For each program: a recording without and one with --counters pc, then ncu's own PC samples of the same command. The program with
known lines is made by nvcc from pc_lines.cu, or named by --lines (compile it with -lineinfo). What the limit leaves no time for is
skipped aloud. RESULTS/pc/ keeps recordings, ncu's CSV and all output.
"""

import collections
import pathlib
import shutil
import statistics
import sys
import time

import gpu_results
import verify_exact

PREFIX, TWIN = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {  # variants that wait for different things, each with kernels long enough to be sampled
    "copy.vector": ["copy", "--variant", "vector", "--seconds", "0", "--repetitions", "5000"],
    "fma.fp32": ["fma", "--variant", "fp32", "--seconds", "0", "--repetitions", "1200"],
    "latency.one-warp": ["latency", "--variant", "one-warp", "--seconds", "0", "--repetitions", "400"],
    "transpose.naive": ["transpose", "--variant", "naive", "--seconds", "0", "--repetitions", "1500"],
}
# Samples a second and multiprocessor may differ between kernels that keep every scheduler busy by this factor.
RATE_SPREAD = 1.5
# Long enough for the order of the two most frequent reasons to mean something.
LEAST_SAMPLES = 1000
# A second reason that is as frequent as this share of the first may come first in the other tool.
TIE = 0.8


def read(file):
    database = gpu_results.open_recording(file)
    try:
        ask = lambda text: database.execute(text).fetchall()  # noqa: E731
        return {
            "rows": ask("SELECT f.value, p.pcOffset, r.value, p.samples, s.value, p.line FROM WM_PC p "
                        "JOIN StringIds f ON f.id = p.function JOIN StringIds r ON r.id = p.stallReason "
                        "LEFT JOIN StringIds s ON s.id = p.file"),
            "runs": ask("SELECT chip, periodCycles, samples, otherKernels, dropped FROM WM_PC_RUN"),
            "kernels": dict(ask("SELECT m.value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                                "JOIN StringIds m ON m.id = k.mangledName GROUP BY 1")),
            "times": dict(ask("SELECT m.value, sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                              "JOIN StringIds m ON m.id = k.mangledName GROUP BY 1")),
            "untimed": ask("SELECT count(*) FROM WM_UNTIMED")[0][0],
            "gpu": ask("SELECT smCount, clockRate FROM TARGET_INFO_GPU"),
            "losses": ask("SELECT k.value, l.count, w.value FROM WM_LOSS l LEFT JOIN StringIds k ON k.id = l.kind "
                          "LEFT JOIN StringIds w ON w.id = l.why"),
            "costs": {what: (ns, count) for what, ns, count in
                      ask("SELECT s.value, sum(c.ns), sum(c.count) FROM WM_SELF_COST c JOIN StringIds s ON s.id = c.what GROUP BY 1")},
            "counters": ask("SELECT counters, countersText FROM WM_SESSION")[0],
        }
    finally:
        database.close()


def reasons(rows, function):
    """Reason -> samples, without their twins (which count some of them again) and without warps that were issued."""
    found = collections.Counter()
    for name, _, reason, samples, _, _ in rows:
        if name == function and not reason.endswith(TWIN):
            found[reason.removeprefix(PREFIX)] += samples
    found.pop("selected", None)
    return found


def ncu_reasons(text):
    """Short kernel name -> reason -> samples."""
    found = collections.defaultdict(collections.Counter)
    for (kernel, _, _), metrics in verify_exact.ncu_values(text).items():
        for metric, values in metrics.items():
            if metric.startswith(PREFIX) and not metric.endswith(TWIN):
                found[kernel][metric.removeprefix(PREFIX)] += sum(values)
        found[kernel].pop("selected", None)
    return found


def show(results, counts):
    whole = sum(counts.values()) or 1
    return ", ".join(f"{name} {100 * n / whole:.1f} %" for name, n in counts.most_common(4)) or "nothing"


def same_top(ours, theirs):
    if not ours or not theirs:
        return False
    best = theirs.most_common(1)[0][0]
    return ours[best] >= TIE * ours.most_common(1)[0][1]


def compare_with_ncu(results, folder, name, command, pc):
    ncu = gpu_results.run(["ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
                           "--launch-count", "6", "--metrics", "group:smsp__pcsamp_warp_stall_reasons", *command], 40,
                          gpu_results.environment())
    (folder / f"{name}.ncu.csv").write_bytes(ncu.stdout + b"\n" + ncu.stderr)
    if not results.check(ncu.rc == 0, f"{name}: ncu", f"{ncu.seconds:.1f} s; {ncu.last_line()[-160:]}"):
        return
    theirs = ncu_reasons(ncu.stdout)
    for function in {row[0] for row in pc["rows"]}:
        ours = reasons(pc["rows"], function)
        match = next((kernel for kernel in theirs if kernel in function), None)
        if match is None or sum(ours.values()) < LEAST_SAMPLES:
            results.line(f"      {function}: {sum(ours.values())} samples, ncu {'has it' if match else 'did not see it'}")
            continue
        results.check(same_top(ours, theirs[match]), f"{name} {match}: the same first reason as in ncu",
                      f"ours {show(results, ours)}; ncu {show(results, theirs[match])}")


def one(results, tools, folder, name, command, options, rates):
    recordings = {}
    for how in ("none", "pc"):
        file = folder / f"{name}.{how}.wm.sqlite"
        extra = ["--pc-period", str(options.pc_period)] if how == "pc" and options.pc_period else []
        done = tools.record(file, [sys.executable, "-c", verify_exact.MEASURE, *command], 60, ["--counters", how, *extra],
                            gpu_results.environment())
        (folder / f"{name}.{how}.log").write_bytes(done.stdout + b"\n--- stderr\n" + done.stderr)
        if not results.check(done.rc == 0, f"{name}: record with {how}", f"{done.seconds:.2f} s; {done.why()}"):
            return None
        for line in done.stderr.decode(errors="replace").splitlines()[-5:]:
            results.line(f"      | {line}")
        recordings[how] = read(file)
    pc = recordings["pc"]
    for key in ("counters", "runs", "losses", "costs"):
        results.line(f"      {key}: {pc[key]}")
    results.check(pc["kernels"] == recordings["none"]["kernels"] and pc["untimed"] == 0, f"{name}: the same kernels as without, all with times",
                  f"{sum(pc['kernels'].values())} rows, {pc['untimed']} without times")
    if not results.check(pc["counters"][0] == "pc" and pc["runs"], f"{name}: samples", str(pc["counters"])):
        return None
    chip, period, samples, other, dropped = pc["runs"][0]
    in_rows = sum(row[3] for row in pc["rows"] if not row[2].endswith(TWIN))
    lost = sum(count or 0 for kind, count, why in pc["losses"] if kind == "pc_samples" and "no buffer" in why)
    results.figure(f"{name}.periodCycles", period)
    twins = sum(row[3] for row in pc["rows"] if row[2].endswith(TWIN))
    results.figure(f"{name}.twins", twins, f"samples of reasons that count others again, beside {in_rows}")
    results.check(abs(in_rows + other + dropped + lost - samples) <= 0.01 * samples, f"{name}: samples add up",
                  f"{in_rows} in rows + {other} other + {dropped} dropped + {lost} lost = {in_rows + other + dropped + lost} of {samples}")
    results.check(dropped <= 0.01 * samples, f"{name}: at most 1 % dropped by the hardware", f"{dropped} of {samples}")
    results.check(not any(count is None for kind, count, _ in pc["losses"] if kind == "pc_samples"), f"{name}: no buffer was full")
    results.check(all(row[0] in pc["kernels"] for row in pc["rows"]), f"{name}: every sampled function is a recorded kernel",
                  str({row[0] for row in pc["rows"]} - set(pc["kernels"])))
    sms, clock = pc["gpu"][0]
    for function, ns in pc["times"].items():
        found = sum(row[3] for row in pc["rows"] if row[0] == function and not row[2].endswith(TWIN))
        if period and found >= LEAST_SAMPLES:
            rate = found / (ns * 1e-9 * sms * clock / period)
            rates[name, function] = rate
            results.figure(f"{name}.samplesPerPeriodAndSm.{function}", rate)
    for what, unit in (("guest.pc_setup", "ms"), ("guest.pc_flush", "ms"), ("guest.pc_read", "ms")):
        ns, count = pc["costs"].get(what, (0, 0))
        if count:
            results.figure(f"{name}.{what}", ns / count / 1e6, f"{unit}, {count} times")
    results.figure(f"{name}.namePointers", pc["costs"].get("guest.pc_names", (0, 0))[1], "new ones: as many as functions, or CUPTI's names leak")
    return pc


def lines_program(results, folder, options):
    if options.lines:
        return pathlib.Path(options.lines).resolve()
    home = gpu_results.cuda_home()
    nvcc = shutil.which("nvcc") or (home and str(home / "bin/nvcc"))
    program = folder / "pc_lines"
    if not nvcc or not pathlib.Path(nvcc).exists():
        results.skip("source lines", "no nvcc here: name the program with --lines")
        return None
    made = gpu_results.run([nvcc, "-arch=native", "-O2", "-lineinfo", "-o", program, HERE / "pc_lines.cu"], 60)
    if not results.check(made.rc == 0, "nvcc makes the program with known lines", made.last_line()[-160:]):
        return None
    return program


def check_lines(results, pc):
    source = (HERE / "pc_lines.cu").read_text().splitlines()
    with_line = sum(row[3] for row in pc["rows"] if row[5] is not None)
    whole = sum(row[3] for row in pc["rows"])
    results.check(with_line >= 0.99 * whole, "lines: samples have file and line", f"{with_line} of {whole}")
    results.check(all(row[4].endswith("pc_lines.cu") for row in pc["rows"] if row[4]), "lines: the file is the source",
                  str({row[4] for row in pc["rows"]}))
    for kernel, word, reason in (("chase", "LOAD", "long_scoreboard"), ("meet", "BARRIER", "barrier")):
        line = next(i for i, text in enumerate(source, 1) if text.endswith(f"// {word}"))
        at = collections.Counter()
        for function, _, name, samples, _, where in pc["rows"]:
            if kernel in function and name == PREFIX + reason:
                at[where] += samples
        best = at.most_common(1)[0] if at else (None, 0)
        # The wait is seen at the instruction that needs the value, which may stand in the same loop's next line.
        results.check(best[0] is not None and abs(best[0] - line) <= 1, f"lines: {kernel} waits ({reason}) at its line {line}",
                      f"most at {best[0]}: {dict(at.most_common(4))}")


def cost(results, tools, folder, name, command, pairs, deadline, period):
    seconds = {"none": [], "pc": []}
    for i in range(pairs):
        if time.monotonic() > deadline:
            break
        for how in (("none", "pc") if i % 2 == 0 else ("pc", "none")):
            extra = ["--pc-period", str(period)] if how == "pc" and period else []
            done = tools.record(folder / f"cost.{how}.wm.sqlite", command, 60, ["--counters", how, *extra], gpu_results.environment())
            if done.rc != 0:
                results.check(False, f"cost of {name} with {how}", done.why())
                return
            seconds[how].append(done.seconds)
    if not seconds["none"]:
        results.skip(f"cost of {name}", "no time left")
        return
    ratios = [a / b for a, b in zip(seconds["pc"], seconds["none"])]
    results.figure(f"cost.{name}.ratio", statistics.median(ratios), f"wall time with PC sampling / without, {len(ratios)} pairs: "
                   f"{min(ratios):.3f} .. {max(ratios):.3f}")
    gpu = {how: sum(read(folder / f"cost.{how}.wm.sqlite")["times"].values()) for how in seconds}
    results.figure(f"cost.{name}.kernelTimeRatio", gpu["pc"] / gpu["none"], "kernel time with / without, one pair")


def main():
    parser = gpu_results.arguments(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--pc-period", type=int, default=0)
    parser.add_argument("--lines", default="")
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit
    tools = gpu_results.Tools(options.prefix)
    results = gpu_results.Results(options.results, "verify_pc")
    folder = results.folder / "pc"
    folder.mkdir(exist_ok=True)
    only = set(filter(None, options.only.split(",")))
    rates, first = {}, None
    if not only or "lines" in only:
        program = results.step("source lines", lines_program, results, folder, options)
        if program:
            first = ("lines", [program, "200"])
            pc = results.step("lines", one, results, tools, folder, "lines", [program, "200"], options, rates)
            if pc:
                results.step("lines", check_lines, results, pc)
                results.step("lines: ncu", compare_with_ncu, results, folder, "lines", [program, "3"], pc)
    for name, words in PROGRAMS.items():
        if only and name not in only:
            continue
        if time.monotonic() > deadline:
            results.skip(name, "no time left")
            continue
        command = [tools.kernel(words[0]), *words[1:]]
        pc = results.step(name, one, results, tools, folder, name, command, options, rates)
        first = first or (name, command)
        if pc and time.monotonic() < deadline:
            results.step(f"{name}: ncu", compare_with_ncu, results, folder, name, command, pc)
    # Kernels that leave schedulers without warps get fewer samples: compare the busy ones.
    busy = {key: rate for key, rate in rates.items() if "one-warp" not in key[0]}
    if len(busy) >= 2:
        results.check(max(busy.values()) <= RATE_SPREAD * min(busy.values()), "samples are in proportion to GPU time",
                      f"{min(busy.values()):.3g} .. {max(busy.values()):.3g} a period and multiprocessor")
    if first:
        results.step("cost", cost, results, tools, folder, *first, options.pairs, deadline + 20, options.pc_period)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
