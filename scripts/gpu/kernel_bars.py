#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundled kernels against the library beside them: is ours fast enough to be a reference?

usage: kernel_bars.py [RESULTS] [--prefix FOLDER] [--rounds N] [--only PROGRAM,..]

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
]

# What decides the constants of ours: printed, never a failure.
VARIATIONS = [("spmv", "vector", ["--lanes", lanes]) for lanes in ("2", "4", "8", "16")] + [
    ("spmv", "merge", []), ("spmv", "scalar", []), ("spmv", "vector-power-law", []), ("spmm", "element", [])]


def launch_ns(tools, program, variant, more):
    """(time of one launch, None) or (None, why there is none)."""
    command = [tools.kernel(program), "--variant", variant, "--json", "--seconds", "0", *more]
    outcome = gpu_results.run(command, 60, gpu_results.environment())
    if outcome.rc != 0:
        return None, outcome.why()
    said = json.loads(outcome.stdout)
    return said["values"].get("launchNs"), "; ".join(said.get("notices", ["no time printed"]))


def compare(results, tools, bar, rounds):
    share, program, ours, theirs, more = bar
    name = f"{program} {ours} against {theirs}"
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


def main():
    parser = gpu_results.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="programs, by comma")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be at least 1")
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "kernel_bars")
    wanted = set(given.only.split(",")) if given.only else {bar[1] for bar in BARS}
    for bar in BARS:
        if bar[1] in wanted:
            results.step(f"{bar[1]} {bar[2]}", compare, results, tools, bar, given.rounds)
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
