#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs warpmeter-sampler, plays the recorder, and prints what arrived: samples by set, costs, holes, occupancy.

usage: sampler_messages.py SAMPLER --program "COMMAND" [--median NS] [--seconds S] [--pause] [--cpu CORES]
The program is started again and again while the sampler runs. Needs a GPU.
"""

import argparse
import collections
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import threading
import time

HEAD = struct.Struct("=IIIIqqIIIIQ")  # SamplerMessage, see collector/wire/include/warpmeter/wire/sampler.h
MAGIC = 0x50536D57
KINDS = {1: "gpu", 2: "set", 3: "batch", 4: "hole", 5: "unavailable", 6: "cost", 7: "paused"}
END_SECONDS = 6  # the sampler promises to end within two

Message = collections.namedtuple("Message", "arrived kind gpu set from_ns to_ns samples metrics interval payload")


def numbers(payload):
    """Unsigned LEB128."""
    value = shift = 0
    for byte in payload:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def unpack(message):
    """Ends of the samples and one list of values per metric."""
    flat = list(numbers(message.payload))
    count = message.samples
    if len(flat) != count * (1 + message.metrics):
        raise ValueError(f"{len(flat)} numbers for {count} samples of {message.metrics} metrics")
    ends, at = [], message.from_ns
    for step in flat[:count]:
        at += step
        ends.append(at)
    columns = []
    for metric in range(message.metrics):
        value, column = 0, []
        for number in flat[count * (metric + 1):count * (metric + 2)]:
            value += (number >> 1) ^ -(number & 1)
            column.append(value)
        columns.append(column)
    return ends, columns


def read_messages(stream, messages):
    while True:
        head = stream.read(HEAD.size)
        if len(head) < HEAD.size:
            if head:
                print(f"FAIL  {len(head)} bytes at the end that are no message")
            return
        magic, kind, gpu, number, from_ns, to_ns, samples, metrics, interval, _, size = HEAD.unpack(head)
        if magic != MAGIC:
            print(f"FAIL  no message where one should be: {head[:16].hex()}")
            return
        payload = stream.read(size)
        messages.append(Message(time.monotonic(), KINDS.get(kind, str(kind)), gpu, number, from_ns, to_ns, samples,
                                metrics, interval, payload))


def run_program(command, stop, runs):
    while not stop.is_set():
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while child.poll() is None and not stop.is_set():
            stop.wait(0.05)
        if child.poll() is None:
            child.terminate()
        stderr = child.communicate()[1]
        runs.append(child.returncode)
        if child.returncode and not stop.is_set():
            print(f"FAIL  {shlex.join(command)} ended with {child.returncode}: {stderr[-300:]}")
            return


def text_of(payload):
    return [part.decode(errors="replace") for part in payload.split(b"\0") if part]


def send(sampler, line):
    try:
        sampler.stdin.write(line.encode() + b"\n")
        sampler.stdin.flush()
    except OSError as error:
        print(f"FAIL  the sampler takes no '{line}': {error}")


def play(options, sampler, messages):
    """The recorder's part; seconds that pausing took, or None."""
    if options.median:
        send(sampler, f"kernel {options.median}")
    half = options.seconds / 2
    time.sleep(half)
    took = None
    gpus = [m for m in messages if m.kind == "gpu"]
    if options.pause and gpus:
        uuid = text_of(gpus[0].payload)[0]
        began = time.monotonic()
        send(sampler, f"pause {uuid}")
        while time.monotonic() - began < 3 and took is None:
            time.sleep(0.005)
            took = next((m.arrived - began for m in messages if m.kind == "paused"), None)
        time.sleep(0.5)
        send(sampler, f"resume {uuid}")
    time.sleep(half)
    send(sampler, "end")
    return took


def report_set(names, batches, warps_per_sm, began):
    samples = sum(m.samples for m in batches)
    covered = sum(m.to_ns - m.from_ns for m in batches)
    sums = [0] * len(names)
    active = 0
    for message in batches:
        _, columns = unpack(message)
        for index, column in enumerate(columns):
            sums[index] += sum(column)
        active += sum(1 for value in columns[0] if value > 0)
    asked = sorted({m.interval for m in batches})
    print(f"  {samples} samples in {len(batches)} batches, interval {covered / max(1, samples):.0f} ns (asked {asked}), "
          f"{active} with active SMs, {sum(len(m.payload) for m in batches) / max(1, samples):.1f} bytes a sample, "
          f"arrived from {batches[0].arrived - began:.2f} to {batches[-1].arrived - began:.2f} s")
    for name, total in zip(names, sums):
        line = f"    {name} = {total}"
        if sums[0]:
            line += f", {total / sums[0]:.4f} per active cycle"
        if name == "sm__warps_active.sum" and sums[0]:
            line += f" = occupancy {100 * total / sums[0] / warps_per_sm:.2f} % of {warps_per_sm} warps"
        if name.startswith(("dram__", "pcie__", "nvl")) and covered:
            line += f", {total / covered:.1f} GB/s"
        print(line)
    return samples


def report(options, messages, began, pause_seconds):
    ok = True
    sets = {}
    for m in messages:
        if m.kind == "gpu":
            print(f"gpu {m.gpu}: {text_of(m.payload)} after {m.arrived - began:.3f} s")
        elif m.kind == "unavailable":
            print(f"FAIL  unavailable {m.gpu:#x}: {' | '.join(text_of(m.payload))}")
            ok = False
        elif m.kind == "set":
            sets[m.gpu, m.set] = text_of(m.payload)
    by_set = collections.defaultdict(list)
    for m in messages:
        if m.kind == "batch":
            by_set[m.gpu, m.set].append(m)
    first = next((m for m in messages if m.kind == "batch"), None)
    if first is None:
        print("FAIL  no batch arrived")
        ok = False
    else:
        print(f"first batch after {first.arrived - began:.3f} s")
    total = 0
    for (gpu, number), names in sorted(sets.items()):
        print(f"gpu {gpu} set {number}: {' '.join(names)}")
        if by_set[gpu, number]:
            try:
                total += report_set(names, by_set[gpu, number], options.warps_per_sm, began)
            except ValueError as error:
                print(f"FAIL  {error}")
                ok = False
        else:
            print("  no samples")
    holes = collections.Counter(m.payload.decode(errors="replace") for m in messages if m.kind == "hole")
    hole_ms = sum(m.to_ns - m.from_ns for m in messages if m.kind == "hole") / 1e6
    print(f"holes: {sum(holes.values())}, {hole_ms:.1f} ms: {dict(holes.most_common(5))}")
    costs = [m for m in messages if m.kind == "cost"]
    if len(costs) > 2:
        cores = (costs[-2].from_ns - costs[1].from_ns) / 1e9 / (costs[-2].arrived - costs[1].arrived)
        print(f"CPU: {cores:.3f} cores while sampling (allowed {options.cpu}), {costs[-1].from_ns / 1e9:.2f} s in all")
    if options.pause:
        print(f"pause answered after {pause_seconds:.3f} s" if pause_seconds is not None else "FAIL  pause not answered")
        ok = ok and pause_seconds is not None
    by_second = collections.Counter(int(m.arrived - began) for m in messages if m.kind == "batch" for _ in range(m.samples))
    print(f"samples by second: {[by_second[s] for s in range(max(by_second, default=-1) + 1)]}")
    print(f"{total} samples, {sum(len(m.payload) for m in messages) / 1e6:.2f} MB")
    return ok and total > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sampler")
    parser.add_argument("--program", default="", help="what runs on the GPU meanwhile; nothing if empty")
    parser.add_argument("--median", type=int, default=0, help="told to the sampler, ns")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--pause", action="store_true", help="pause and resume in the middle")
    parser.add_argument("--cpu", type=float, default=0.5)
    parser.add_argument("--warps-per-sm", type=int, default=64)
    options = parser.parse_args()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_INJECTION", "NVTX_INJECTION"))}
    stop, runs, messages = threading.Event(), [], []
    program = None
    if options.program:
        program = threading.Thread(target=run_program, args=(shlex.split(options.program), stop, runs))
        program.start()
        time.sleep(1.5)  # its context, so that the sampler finds it at work
    with tempfile.TemporaryFile("w+") as stderr:
        began = time.monotonic()
        sampler = subprocess.Popen([options.sampler, "--verbose", "--cpu", str(options.cpu)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=stderr, env=environment)
        reader = threading.Thread(target=read_messages, args=(sampler.stdout, messages), daemon=True)
        reader.start()
        pause_seconds = play(options, sampler, messages)
        told = time.monotonic()
        try:
            code = sampler.wait(END_SECONDS)
            print(f"the sampler ended with {code}, {time.monotonic() - told:.3f} s after 'end'")
        except subprocess.TimeoutExpired:
            print(f"FAIL  the sampler runs on {END_SECONDS} s after 'end'")
            sampler.kill()
            code = sampler.wait()
        reader.join(2)
        stop.set()
        if program:
            program.join()
            print(f"program: {len(runs)} runs, exit codes {sorted(set(runs))}")
        good = report(options, messages, began, pause_seconds) and code == 0
        stderr.seek(0)
        print("stderr of the sampler:")
        for line in stderr.read().splitlines()[:120]:
            print("  " + line)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
