#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records every variant of every bundled program with sampled counters, as small files for tests/data/kernels.

usage: record_references.py [RESULTS] [--prefix FOLDER] [--to FOLDER] [--only NAME,..] [--part I/N] [--seconds S]
                            [--limit S] [--bytes N]

Writes PROGRAM.VARIANT.wm.sqlite (at most --bytes each) into --to (default RESULTS/kernels) and prints what each variant
says of itself beside what the trimmed recording shows. A difference is a FAIL: either the program's --describe or the
analysis is wrong. tests/recordings compares the same without a GPU. Needs a GPU and permission for its counters.
"""

import concurrent.futures
import json
import pathlib
import sys
import tempfile
import time

import gpu_results
import trim_recording

EACH_S = 40  # a recording that takes longer is stopped
TRIMMERS = 6  # at once, beside the recordings


# Programs that do not take --seconds, made long enough that the sampler sees them.
LONGER = {"graph": ["--repetitions", "12000"], "graph_update": ["--repetitions", "6000"],
          "graph_conditional": ["--repetitions", "3000"], "cold_start": ["--repetitions", "15000"],
          "big_module": ["--repetitions", "15000"], "driver_nvrtc": ["--repetitions", "20000"], "streams": ["--rounds", "300"]}


def command_of(tools, program, variant, seconds):
    options = {option["name"] for option in program["options"]}
    command = [tools.kernel(program["name"]), "--variant", variant["name"]]
    return command + (["--seconds", str(seconds)] if "--seconds" in options else LONGER.get(program["name"], []))


def main_kernel(report, kernels):
    """The distinct kernel with most time of those that the program names; of all when it names none that ran."""
    functions = [f for f in report["kernels"] if f["name"] in kernels] or report["kernels"]
    distinct = [d for function in functions for d in function["distinct"]]
    return max(distinct, key=lambda d: d["totalNs"], default=None)


def shown(tools, file, program):
    """(bound, confidence, limiters, why) of the main kernel; ValueError when the file cannot be read."""
    report = gpu_results.run([tools.warpmeter, "report", "--json", "--all", file], 60)
    if report.rc != 0:
        raise ValueError(report.why())
    kernel = main_kernel(json.loads(report.stdout), set(program["kernels"]))
    if kernel is None:
        return None, None, [], "no kernels"
    bound = kernel["bound"]
    limiters = (kernel["occupancy"] or {}).get("limiters", [])
    return bound["id"], bound["confidence"], limiters, bound["why"] or bound["reason"]


def record(results, tools, name, program, variant, whole, given):
    """One variant after the other: nothing else may run on the GPU."""
    done = tools.record(whole, command_of(tools, program, variant, given.seconds), EACH_S,
                        ["--counters", "sample", "--sampler-cpu", str(given.sampler_cpu)], gpu_results.environment())
    return results.check(done.rc == 0, f"{name}: record", f"{done.seconds:.1f} s; {done.last_line()[-160:]}")


def trimmed(tools, program, whole, folder, given):
    """Needs no GPU, so it runs beside the next recordings: (bound of the whole file, what trimming left, what that shows)."""
    bound = shown(tools, whole, program)[0]
    cut = trim_recording.trim(whole, folder / whole.name, given.bytes)
    whole.unlink()
    return bound, cut, shown(tools, folder / whole.name, program)


def compare(results, name, variant, whole_bound, cut, seen):
    size, launches, before = cut
    bound, confidence, limiters, why = seen
    results.check(bound == whole_bound, f"{name}: trimming keeps the bound", f"{whole_bound} to {bound}")
    if variant.get("bound"):
        results.check(bound == variant["bound"], f"{name}: bound", f"expected {variant['bound']}, is {bound}; {why}")
    if variant.get("limiter"):
        results.check(variant["limiter"] in limiters, f"{name}: limiter",
                      f"expected {variant['limiter']}, is {', '.join(limiters) or 'not known'}")
    return {"name": name, "bytes": size, "launches": f"{launches} of {before}", "expected": variant.get("bound") or "-",
            "bound": f"{bound} ({confidence})" if confidence else str(bound),
            "limiter": f"{variant.get('limiter') or '-'} / {', '.join(limiters) or '-'}", "why": why or ""}


def table(results, rows):
    heads = ["name", "bytes", "launches", "expected", "bound", "limiter", "why"]
    lines = [heads] + [[str(row[head]) for head in heads] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for line in lines:
        results.line("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--to", help="folder for the files (RESULTS/kernels)")
    parser.add_argument("--only", help="programs or PROGRAM.VARIANT, separated by commas")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th variant, from the I-th on")
    parser.add_argument("--seconds", type=int, default=2, help="GPU time of each run: the pipes are sampled seldom")
    parser.add_argument("--sampler-cpu", type=float, default=2, help="cores for the sampler: more samples in less time")
    parser.add_argument("--limit", type=float, default=540, help="record nothing more after this many seconds")
    parser.add_argument("--bytes", type=int, default=52_000, help="size of each file")
    given = parser.parse_args()
    part, parts = (int(number) for number in given.part.split("/"))
    if not 1 <= part <= parts:
        parser.error(f"--part {given.part}: I is from 1 to N")
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "record_references")
    folder = pathlib.Path(given.to) if given.to else results.folder / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    only = set(given.only.split(",")) if given.only else None
    started = time.monotonic()
    listed = gpu_results.run([tools.warpmeter, "kernels", "list", "--json"], 60)
    wanted = [(f"{program['name']}.{variant['name']}", program, variant)
              for program in json.loads(listed.stdout)["programs"] for variant in program["variants"]]
    wanted = [job for job in wanted if not only or job[0] in only or job[1]["name"] in only]
    rows, jobs = [], []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(TRIMMERS) as pool:
        for name, program, variant in wanted[part - 1::parts]:
            if time.monotonic() - started > given.limit:
                results.skip(name, "out of time")
                continue
            whole = pathlib.Path(scratch) / f"{name}.wm.sqlite"
            if results.step(name, record, results, tools, name, program, variant, whole, given):
                jobs.append((name, variant, pool.submit(trimmed, tools, program, whole, folder, given)))
        for name, variant, job in jobs:
            row = results.step(name, lambda: compare(results, name, variant, *job.result()))
            rows += [row] if row else []
    table(results, rows)
    results.figure("total", sum(row["bytes"] for row in rows), "bytes")
    results.figures["rows"] = rows
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
