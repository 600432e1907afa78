#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a PyTorch script and a shell that runs two programs, and compares with what they say without us.

usage: verify_pytorch.py [RESULTS] [--prefix FOLDER] [--python PYTHON] [--steps N]     (needs a GPU)
"""

import collections
import json
import pathlib
import shlex
import sys

import gpu_results
from recording import Recording
from verify_recording import compare_launches, expanded

LOOP = pathlib.Path(__file__).resolve().parent / "torch_loop.py"
PREFIX = b"warpmeter:"


def without_ours(stderr):
    return b"".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(PREFIX))


def same_output(results, what, plain, other):
    results.check(plain.stdout == other.stdout, f"{what}: stdout",
                  f"{len(plain.stdout)} and {len(other.stdout)} bytes")
    wanted, found = without_ours(plain.stderr), without_ours(other.stderr)
    results.check(wanted == found, f"{what}: stderr", f"{len(wanted)} and {len(found)} bytes")


def differences(wanted, found):
    """The names that differ most. Tools demangle names differently: a hint only."""
    lines = []
    for name in sorted(set(wanted) | set(found), key=lambda name: -abs(wanted[name] - found[name]))[:10]:
        if wanted[name] != found[name]:
            lines.append(f"      torch.profiler {wanted[name]}, recorded {found[name]}: {name[:100]}")
    return lines


def pytorch(results, tools, python, steps):
    env = gpu_results.environment(PYTHONHASHSEED="0")
    command = [python, LOOP, "--steps", str(steps)]
    question = "import torch; print(torch.__version__, torch.cuda.is_available())"
    probe = gpu_results.run([python, "-c", question], timeout=180, env=env)
    if probe.rc != 0:
        results.skip("PyTorch", f"{python} cannot import torch: {probe.why()}")
        return
    results.line("INFO  torch " + probe.stdout.decode().strip())
    plain = gpu_results.run(command, timeout=300, env=env)
    if not results.check(plain.rc == 0, "PyTorch alone", plain.why()):
        return
    same_output(results, "PyTorch alone, twice", plain, gpu_results.run(command, timeout=300, env=env))

    file = results.folder / "torch.wm.sqlite"
    recorded = tools.record(file, command, timeout=300, env=env)
    if not results.check(recorded.rc == 0, "PyTorch recorded", recorded.why()):
        return
    same_output(results, "PyTorch recorded", plain, recorded)
    results.figure("PyTorch seconds alone", plain.seconds)
    results.figure("PyTorch seconds recorded", recorded.seconds)
    results.figure("PyTorch file bytes", file.stat().st_size)

    recording = Recording(gpu_results.open_recording(file))
    losses = recording.losses()
    results.check(not losses, "PyTorch losses", f"{losses}" if losses else "none")
    found = recording.kernel_names()
    results.figure("PyTorch kernels recorded", sum(found.values()))
    results.check(recording.nvtx()[("pushPop", "step", None)] == steps, "PyTorch NVTX",
                  f"{recording.nvtx()[('pushPop', 'step', None)]} of {steps} ranges 'step'")

    counts = results.folder / "torch_profiler.json"
    counts.unlink(missing_ok=True)
    profiled = gpu_results.run([*command, "--profile", counts], timeout=300, env=env)
    counted = profiled.rc == 0 and counts.exists()
    if not results.check(counted, "PyTorch under torch.profiler", profiled.why()):
        return
    wanted = collections.Counter(json.loads(counts.read_text()))
    results.check(sum(wanted.values()) == sum(found.values()), "PyTorch kernels equal torch.profiler's",
                  f"torch.profiler {sum(wanted.values())}, recorded {sum(found.values())}")
    if wanted != found:
        results.line("INFO  names that differ:")
        for line in differences(wanted, found):
            results.line(line)


def children(results, tools):
    """sh starts one program, waits, and becomes another one by exec: three images, one file."""
    flags = ["--json", "--print-launches", "json"]
    first = [tools.kernel("saxpy"), "--n", "1000000", "--repetitions", "30", *flags]
    second = [tools.kernel("graph"), "--variant", "launches", "--repetitions", "40", *flags]
    script = f"{shlex.join(map(str, first))} && exec {shlex.join(map(str, second))}"
    file = results.folder / "children.wm.sqlite"
    outcome = tools.record(file, ["/bin/sh", "-c", script], timeout=120, env=gpu_results.environment())
    if not results.check(outcome.rc == 0, "children run", outcome.why()):
        return
    said = [json.loads(line) for line in outcome.stdout.splitlines()]
    recording = Recording(gpu_results.open_recording(file))
    processes = recording.processes_with_kernels()
    results.check(len(processes) == 2, "children in one file", f"{len(processes)} of 2 processes with kernels")
    # Nodes of one graph launch share an id; launches of two processes never do.
    pairs = {(row.correlation, row.process) for row in recording.kernels()}
    shared = len(pairs) - len({correlation for correlation, _ in pairs})
    results.check(shared == 0, "children have correlation ids of their own", f"{shared} ids in both processes")
    for program, process in zip(said, processes):
        compare_launches(results, f"child {program['name']}", list(expanded(program["launches"])),
                         recording.kernels(process))
    losses = recording.losses()
    results.check(not losses, "children losses", f"{losses}" if losses else "none")


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--steps", type=int, default=50)
    given = parser.parse_args()
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "verify_pytorch")
    results.step("children", children, results, tools)
    results.step("PyTorch", pytorch, results, tools, given.python, given.steps)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
