#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bounds a kernel: PyTorch kernels and bundled programs whose bound is known, recorded in one ordinary run each.

usage: verify_bounds.py [RESULTS] [--prefix FOLDER] [--only NAME,..] [--seconds S] [--limit S] [--no-torch]   (needs a GPU)

Programs are held against what their --describe says; PyTorch's kernels, which differ by version, against ncu: the bound must be the
unit that ncu finds busiest, or one at most 10 points behind it.
"""

import json
import pathlib
import sys
import time

import gpu_results
import verify_counters

TORCH = pathlib.Path(__file__).resolve().parent / "torch_kernels.py"


# ncu's share of each unit's peak.
NCU = {"dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
       "l2": "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
       "l1": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
       "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
       "fp32": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
       "fp64": "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
       "int": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
       "issue": "sm__issue_active.avg.pct_of_peak_sustained_elapsed"}


def ncu_shares(results):
    """Bare kernel name -> unit -> percent of its peak."""
    done = gpu_results.run(["ncu", "--csv", "--cache-control", "none", "--clock-control", "none", "--launch-skip", 12,
                            "--launch-count", 12, "--metrics", ",".join(NCU.values()), sys.executable, TORCH, "--seconds", 0], 120,
                           gpu_results.environment())
    results.check(done.rc == 0, "PyTorch under ncu", done.why())
    (results.folder / "torch_kernels.ncu.csv").write_bytes(done.stdout)
    kernels = verify_counters.ncu_kernels(results.folder / "torch_kernels.ncu.csv")
    return {verify_counters.bare(name): {unit: values[metric][0] for unit, metric in NCU.items() if metric in values}
            for (name, _, _), values in kernels.items()}


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
    kernels, ncu = kernels_of(tools, file), ncu_shares(results)
    for wanted in json.loads(done.stdout)["kernels"]:
        fitting = [pair for pair in kernels if any(part in pair[0] for part in wanted["names"])]
        if results.check(bool(fitting), f"PyTorch {wanted['what']}: there"):
            name, kernel = fitting[0]
            bound, shares = (kernel.get("bound") or {}).get("id"), ncu.get(verify_counters.bare(name), {})
            told = ", ".join(f"{unit} {share:.0f}" for unit, share in sorted(shares.items(), key=lambda pair: -pair[1])[:4])
            results.check(bound in shares and shares[bound] >= max(shares.values()) - 10, f"PyTorch {wanted['what']}: bound",
                          f"{verify_counters.bare(name)[:40]}: {bound}, {kernel['bound']['why']}; ncu: {told}")


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
