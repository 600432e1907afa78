#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Five PyTorch kernels in turn for some seconds: a GEMM, softmax, layer norm, gather, reduction.

Prints JSON: what each kernel's name contains, and the time of one round.
"""

import argparse
import json
import time

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    torch.manual_seed(0)
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    rows = torch.randn(16384, 4096, device="cuda")
    table = torch.randn(1 << 20, 512, device="cuda")  # 2 GiB: far more than L2 holds
    picked = torch.randint(0, 1 << 20, (1 << 18,), device="cuda")
    numbers = torch.randn(1 << 28, device="cuda")

    def round_of_all():
        a @ b
        torch.softmax(rows, dim=-1)
        torch.nn.functional.layer_norm(rows, (4096,))
        torch.index_select(table, 0, picked)
        numbers.sum()

    for _ in range(3):
        round_of_all()
    torch.cuda.synchronize()
    began, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - began < given.seconds:
        for _ in range(20):
            round_of_all()
        torch.cuda.synchronize()
        rounds += 20
    spent = time.perf_counter() - began
    print(json.dumps({"launchNs": 1e9 * spent / rounds, "rounds": rounds, "kernels": [
        {"what": "GEMM", "names": ["gemm", "nvjet", "cutlass"]},
        {"what": "softmax", "names": ["softmax", "SoftMax"]},
        {"what": "layer norm", "names": ["layer_norm"]},
        {"what": "gather", "names": ["index", "gather"]},
        {"what": "reduction", "names": ["reduce_kernel"]}]}))


if __name__ == "__main__":
    main()
