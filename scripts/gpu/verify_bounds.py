#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bounds a kernel: PyTorch kernels and bundled programs whose bound is known, recorded in one ordinary run each.

usage: verify_bounds.py [RESULTS] [--prefix FOLDER] [--only NAME,..] [--seconds S] [--limit S] [--no-torch]   (needs a GPU)

Programs are held against what their --describe says, PyTorch against torch_kernels.py.
"""

import json
import pathlib
import sys
import time

import gpu_results
import verify_counters

TORCH = pathlib.Path(__file__).resolve().parent / "torch_kernels.py"


def kernels_of(tools, file):
    """Every distinct kernel of the report, the longest running first, with the name of its function."""
    document = json.loads(gpu_results.run([tools.warpmeter, "report", "--json", "--all", file], 60).stdout)
    found = [(function["demangledName"] or function["name"], distinct)
             for function in document["kernels"] for distinct in function["distinct"]]
    return sorted(found, key=lambda pair: -(pair[1].get("totalNs") or pair[1]["medianNs"] * pair[1]["launches"]))


def check_bound(results, what, expected, name, kernel):
    bound = kernel.get("bound") or {}
    results.check(bound.get("id") == expected, f"{what}: bound by {expected}",
                  f"{verify_counters.bare(name)}: {bound.get('id')}; {json.dumps(bound)[:600]}")


def pytorch(results, tools, seconds):
    file = results.folder / "torch_kernels.wm.sqlite"
    done = tools.record(file, [sys.executable, TORCH, "--seconds", seconds], 120, ["--counters", "sample"],
                        gpu_results.environment())
    if not results.check(done.rc == 0, "PyTorch recorded", done.why()):
        return
    kernels = kernels_of(tools, file)
    for wanted in json.loads(done.stdout)["kernels"]:
        fitting = [pair for pair in kernels if any(part in pair[0] for part in wanted["names"])]
        if results.check(bool(fitting), f"PyTorch {wanted['what']}: there"):
            check_bound(results, f"PyTorch {wanted['what']}", wanted["bound"], *fitting[0])


def program(results, tools, name, command, expected):
    file = results.folder / f"{name}.wm.sqlite"
    done = tools.record(file, command, 60, ["--counters", "sample"], gpu_results.environment())
    if results.check(done.rc == 0, f"{name}: recorded", done.why()):
        check_bound(results, name, expected, *kernels_of(tools, file)[0])


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--limit", type=float, default=240, help="seconds in all")
    parser.add_argument("--no-torch", action="store_true")
    given = parser.parse_args()
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "verify_bounds")
    began = time.monotonic()
    if not given.no_torch:
        results.step("PyTorch", pytorch, results, tools, 2 * given.seconds)
    only = set(filter(None, given.only.split(",")))
    for name, long, _, variant in verify_counters.workloads(tools, only, int(given.seconds)):
        if not variant["bound"]:
            continue
        if time.monotonic() - began > given.limit:
            results.skip(name, f"{given.limit:.0f} s are over; --limit gives more")
            continue
        results.step(name, program, results, tools, name, long, variant["bound"])
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
