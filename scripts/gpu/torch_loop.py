#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with PyTorch: the same kernels and the same output every time it runs.

Large matrix products beside many kernels of a few microseconds, NVTX ranges around the steps.
With --profile FILE, torch.profiler watches the whole run and FILE gets the number of kernels by name.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is deterministic only with this

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 256)
        self.body = nn.Sequential(nn.Linear(256, 2048), nn.GELU(), nn.LayerNorm(2048), nn.Linear(2048, 2048),
                                  nn.GELU(), nn.Linear(2048, 64))
        self.small = nn.ModuleList(nn.Linear(64, 64) for _ in range(8))
        self.head = nn.Linear(64, 10)

    def forward(self, tokens):
        value = self.body(self.embedding(tokens))
        for layer in self.small:
            value = value + torch.tanh(layer(value))
        return self.head(value)


def train(steps, batch):
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True, warn_only=True)
    network = Network().cuda()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    tokens = torch.randint(0, 1000, (batch,)).cuda()
    labels = torch.randint(0, 10, (batch,)).cuda()
    for step in range(steps):
        torch.cuda.nvtx.range_push("step")
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(tokens), labels)
        loss.backward()
        optimizer.step()
        torch.cuda.nvtx.range_pop()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item().hex()}")
    torch.cuda.synchronize()
    checksum = sum(parameter.double().sum().item() for parameter in network.parameters())
    print(f"parameters {checksum.hex()}")
    print(f"trained {steps} steps", file=sys.stderr)


def kernels_by_name(profiler):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(trace)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    names = {}
    for event in events:
        if event.get("cat") == "kernel":
            names[event["name"]] = names.get(event["name"], 0) + 1
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--profile", metavar="FILE", help="count kernels with torch.profiler")
    given = parser.parse_args()
    if given.steps < 1 or given.batch < 1:
        parser.error("--steps and --batch must be at least 1")
    if not torch.cuda.is_available():
        print("torch_loop.py: no GPU to run on", file=sys.stderr)
        return 4
    watch = contextlib.nullcontext()
    if given.profile:
        watch = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with watch as profiler:
        train(given.steps, given.batch)
    if given.profile:
        with open(given.profile, "w", encoding="utf-8") as file:
            json.dump(kernels_by_name(profiler), file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
