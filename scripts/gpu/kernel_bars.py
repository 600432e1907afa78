#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundled kernels against the library beside them, or against the copy ceiling: are they fast enough to be references?

usage: kernel_bars.py [RESULTS] [--prefix FOLDER] [--rounds N] [--only PROGRAM,..] [--copy-ceiling BYTES_PER_SEC]

Runs both in turn, N rounds of them, and compares the medians of one launch. A library that is not there is a SKIP. Needs a GPU.
"""

import json
import statistics

import gpu_results

# Share of the library's speed that ours must reach, its program, variant, the library's variant, further arguments.
BARS = [
    (0.70, "spmv", "vector", "cusparse", []),
    (0.70, "spmv", "merge-power-law", "cusparse-power-law", []),
    (0.70, "spmm", "warp", "cusparse", []),
    (0.85, "reduce", "shuffle", "cub", []),
    (0.85, "scan", "one-pass", "cub", []),
    (0.85, "histogram", "lanes", "cub", []),
    (0.85, "histogram", "lanes", "cub", ["--skew", "90"]),
    (0.60, "matmul", "registers", "cublas", []),
    (0.35, "tensor", "bf16", "cublas", []),
    (0.60, "tensor", "wgmma", "cublas", []),
    (0.35, "tensor", "bf16", "cublas", ["--n", "8192"]),
    (0.60, "tensor", "wgmma", "cublas", ["--n", "8192"]),
    (0.40, "convolution", "tiled", "cudnn", []),
]

# Share of the copy ceiling that a variant's own traffic must reach.
COPY_BARS = [
    (0.90, "copy", "vector", []),
    (0.90, "saxpy", "vector", []),
    (0.90, "transpose", "padded", []),
    (0.85, "softmax", "fused", []),
    (0.85, "layer_norm", "fused", []),
]

# What decides the constants of ours: printed, never a failure.
VARIATIONS = [("spmv", "vector", ["--lanes", lanes]) for lanes in ("2", "4", "8", "16")] + [
    ("spmv", "merge", []), ("spmv", "scalar", []), ("spmv", "vector-power-law", []), ("spmm", "element", [])] + [
    ("transpose", "padded", ["--block", block]) for block in ("256", "512", "1024")] + [
    ("scan", "one-pass", ["--block", block]) for block in ("128", "256", "512")] + [
    ("histogram", variant, ["--skew", skew]) for variant in ("lanes", "warps", "shared") for skew in ("0", "90")] + [
    ("softmax", "fused", ["--block", block]) for block in ("256", "512", "1024")] + [
    ("layer_norm", "fused", ["--block", block]) for block in ("256", "512", "1024")]


def values_of(tools, program, variant, more):
    """(what the program measured, None) or (None, why there is nothing)."""
    command = [tools.kernel(program), "--variant", variant, "--json", "--seconds", "0", *more]
    outcome = gpu_results.run(command, 60, gpu_results.environment())
    if outcome.rc != 0:
        return None, outcome.why()
    said = json.loads(outcome.stdout)
    values = said["values"]
    return (values if "launchNs" in values else None), "; ".join(said.get("notices", ["no time printed"]))


def launch_ns(tools, program, variant, more):
    """(time of one launch, None) or (None, why there is none)."""
    values, why = values_of(tools, program, variant, more)
    return (values["launchNs"] if values else None), why


def compare(results, tools, bar, rounds):
    share, program, ours, theirs, more = bar
    name = " ".join([program, ours, *more, "against", theirs])
    times = {ours: [], theirs: []}
    for _ in range(rounds):
        for variant, found in times.items():
            ns, why = launch_ns(tools, program, variant, more)
            if ns is None:
                if variant == theirs and "nothing measured" in why:
                    results.skip(name, why)
                else:
                    results.check(False, name, f"{variant}: {why}")
                return
            found.append(ns)
    own, library = (statistics.median(times[variant]) for variant in (ours, theirs))
    results.check(library / own >= share, name, f"{library / own:.3f} of its speed, bar {share}; "
                  f"{own / 1000:.1f} us against {library / 1000:.1f} us, medians of {rounds}")


def compare_with_copies(results, tools, bar, rounds, ceiling):
    share, program, variant, more = bar
    found = []
    for _ in range(rounds):
        values, why = values_of(tools, program, variant, more)
        if values is None:
            results.check(False, f"{program} {variant} against copies", why)
            return
        found.append(values["bandwidthBytesPerSec"])
    rate = statistics.median(found)
    results.check(rate / ceiling >= share, f"{program} {variant} against copies",
                  f"{rate / ceiling:.3f} of the ceiling, bar {share}; {rate / 1e12:.3f} TB/s, median of {rounds}")


def main():
    parser = gpu_results.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="programs, by comma")
    parser.add_argument("--copy-ceiling", type=float, default=4.26e12,
                        help="bytes a second that copies reach here (warpmeter calibrate); default: an H200's")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not given.copy_ceiling > 0:
        parser.error("--copy-ceiling must be positive")
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "kernel_bars")
    wanted = set(given.only.split(",")) if given.only else {bar[1] for bar in BARS + COPY_BARS}
    for bar in BARS:
        if bar[1] in wanted:
            results.step(f"{bar[1]} {bar[2]}", compare, results, tools, bar, given.rounds)
    for bar in COPY_BARS:
        if bar[1] in wanted:
            results.step(f"{bar[1]} {bar[2]}", compare_with_copies, results, tools, bar, given.rounds, given.copy_ceiling)
    for program, variant, more in VARIATIONS:
        if program in wanted:
            ns, why = launch_ns(tools, program, variant, more)
            name = " ".join([program, variant, *more])
            if ns is None:
                results.check(False, name, why)
            else:
                results.figure(name, ns / 1000, "us")
    return results.finish()


if __name__ == "__main__":
    raise SystemExit(main())
