#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs an application for each empty launch and graph node: alternating rounds, medians.

usage: cost.py [RESULTS] [--prefix FOLDER] [--rounds N] [--launches N] [--kinds LIST] [--no-nsys]
               [--price]

Needs a GPU. Sides: none; floor (CUPTI with the same kinds, buffers returned unread: floor_inject.cpp);
warpmeter; and with nsys' kinds (kernels, runtime API, copies, memsets) floor-nsys-kinds and nsys. Once on all
cores, once with application and recorder confined to the same two.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import sys

import gpu_results
from recording import Recording

# Those of warpmeter record, for an application that only launches: see collector/inject/attach.cpp.
DEFAULT_KINDS = ("kernel,runtime,driver-launch,memcpy,memcpy2,memset,overhead,sync,event,context,stream,device,"
                 "memory,jit")
NSYS_KINDS = "kernel,runtime,memcpy,memset"
NSYS_FEATURES = "kernel,runtime,memcpy,memset"  # WARPMETER_KINDS: names of collector/inject/options.cpp
MAX_OF_FLOOR = 1.05
MAX_OF_NSYS = 1.03
MIN_NSYS_BYTES = 4  # compressed
MIN_RECORD_BYTES = 128  # a kernel record alone is larger


def build_floor(results):
    home = gpu_results.cuda_home()
    compiler = shutil.which("g++") or shutil.which("c++")
    if home is None or compiler is None:
        results.skip("floor", "needs g++ and a CUDA toolkit")
        return None
    includes = [home / "include", home / "extras/CUPTI/include"]
    found = [folder for folder in (home / "extras/CUPTI/lib64", home / "lib64", home / "lib")
             if list(folder.glob("libcupti.so*"))]
    if not found:
        results.skip("floor", f"no libcupti below {home}")
        return None
    library = sorted(found[0].glob("libcupti.so*"), key=lambda path: len(path.name))[0]
    target = results.folder / "libfloor.so"
    outcome = gpu_results.run([compiler, "-O2", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden",
                               *(f"-I{folder}" for folder in includes),
                               pathlib.Path(__file__).resolve().parent / "floor_inject.cpp", library,
                               f"-Wl,-rpath,{found[0]}", "-o", target], timeout=120)
    return target if results.check(outcome.rc == 0, "floor library builds", outcome.why()) else None


class Side:
    """One way to run the program: a command around it and its environment."""

    def __init__(self, name, before=(), env=None, file=None):
        self.name, self.before, self.file = name, list(before), file
        self.env = env or gpu_results.environment()
        self.values, self.cpu, self.launches, self.bytes = [], [], 0, None
        self.wrong = []  # why a round is no measurement: the side did not record what ran

    def check_floor(self, stderr):
        found = re.search(r"floor: buffers=\d+ bytes=(\d+) dropped=(\S+)", stderr)
        self.bytes = int(found[1]) if found else None
        if not found or int(found[1]) < MIN_RECORD_BYTES * self.launches:
            self.wrong.append(f"{found[0] if found else 'no floor'} for {self.launches} launches")
        elif found[2] != "0" and not found[2].startswith("unknown"):
            self.wrong.append(found[0])

    def check_recording(self):
        recording = Recording(gpu_results.open_recording(self.file))
        rows = recording.count("CUPTI_ACTIVITY_KIND_KERNEL")
        if rows != self.launches or recording.losses():
            self.wrong.append(f"{rows} kernel rows for {self.launches} launches, losses {recording.losses()}")
        recording.database.close()

    def check_nsys(self):
        # An nsys without its importer leaves the raw capture only; what the application paid is the same.
        found = [file for file in (self.file, self.file.with_suffix(".qdstrm")) if file.exists()]
        if not any(file.stat().st_size > MIN_NSYS_BYTES * self.launches for file in found):
            self.wrong.append(f"{self.file.name} and .qdstrm: absent or too small for {self.launches} launches")
        for file in found:
            file.unlink()

    def check_round(self, stderr):
        try:
            if self.name.startswith("floor"):
                self.check_floor(stderr)
            elif self.name.startswith("warpmeter"):
                self.check_recording()
            elif self.name == "nsys":
                self.check_nsys()
        except Exception as error:  # a file that cannot be read is no recording either
            self.wrong.append(f"{type(error).__name__}: {error}")


def sides(results, tools, floor, kinds, nsys):
    out = results.folder / "cost"
    out.mkdir(exist_ok=True)
    record = [tools.warpmeter, "record", "--force", "--quiet"]
    file = out / "w.wm.sqlite"
    made = [Side("none"), Side("warpmeter", [*record, "-o", file, "--"], file=file),
            Side("warpmeter-nsys-kinds", [*record, "-o", file, "--"], file=file,
                 env=gpu_results.environment(WARPMETER_KINDS=NSYS_FEATURES))]
    if floor:
        made.append(Side("floor", env=gpu_results.environment(CUDA_INJECTION64_PATH=str(floor),
                                                              WARPMETER_FLOOR_KINDS=kinds)))
        made.append(Side("floor-nsys-kinds", env=gpu_results.environment(CUDA_INJECTION64_PATH=str(floor),
                                                                         WARPMETER_FLOOR_KINDS=NSYS_KINDS)))
    if nsys:
        made.append(Side("nsys", [nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw", "none",
                                  "--cuda-graph-trace", "node", "--force-overwrite", "true", "-o", out / "n"],
                         file=out / "n.nsys-rep"))
    return made


def last_json(stdout):
    """The program's line: other tools print to stdout as well."""
    for line in reversed(stdout.decode(errors="replace").splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise ValueError("the program printed no result")


def one_run(results, side, confine, command, key):
    outcome = gpu_results.run([*confine, *side.before, *command], timeout=180, env=side.env)
    if outcome.rc != 0:
        results.check(False, f"run of {side.name}", outcome.why())
        return
    said = last_json(outcome.stdout)
    side.launches = said["launchCount"]
    side.values.append(said["values"][key])
    side.cpu.append(outcome.cpu_seconds)
    side.check_round(outcome.stderr.decode(errors="replace"))
    if side.file:
        side.file.unlink(missing_ok=True)


def table(results, title, made):
    results.line(f"      {title}: ns, median of rounds (all rounds); CPU seconds of all processes")
    for side in made:
        if side.values:
            rounds = " ".join(f"{value:.0f}" for value in side.values)
            results.line(f"      {side.name:34} {statistics.median(side.values):9.1f}  ({rounds})  "
                         f"{statistics.median(side.cpu):.2f} s")
            results.figures[f"{title} {side.name} ns"] = statistics.median(side.values)
            if side.bytes:
                results.figure(f"{title} {side.name} bytes a launch", side.bytes / side.launches)
            results.figures[f"{title} {side.name} CPU s"] = statistics.median(side.cpu)


def ratio(results, title, made, over, under, bar):
    """The bar is judged on medians; rounds that overlap are a figure to look at, not a reason to pass."""
    values = {side.name: side.values for side in made if side.values and not side.wrong}
    missing = [name for name in (over, under) if name not in values]
    if missing:
        results.skip(f"{title} {over} / {under}", f"no measurement of {' and '.join(missing)}")
        return
    found = statistics.median(values[over]) / statistics.median(values[under])
    if bar is None:
        results.figure(f"{title} {over} / {under}", found)
    else:
        results.check(found <= bar, f"{title} {over} / {under}", f"{found:.3f}, at most {bar}")
        results.figures[f"{title} {over} / {under}"] = found


def measure(results, title, setup, confine, command, key, rounds):
    made = sides(results, *setup)
    for index in range(rounds):
        # Every second round backwards: a GPU that warms up favours nobody.
        for side in made if index % 2 == 0 else reversed(made):
            results.step(f"{title} {side.name}", one_run, results, side, confine, command, key)
    for side in made:
        if side.name != "none" and side.values:
            results.check(not side.wrong, f"{title} {side.name} recorded every launch",
                          "; ".join(side.wrong[:2]))
    table(results, title, made)
    judged = not confine and key == "launchNs"
    ratio(results, title, made, "warpmeter", "floor", MAX_OF_FLOOR if judged else None)
    ratio(results, title, made, "warpmeter-nsys-kinds", "floor-nsys-kinds", None)
    ratio(results, title, made, "warpmeter-nsys-kinds", "nsys", MAX_OF_NSYS if judged else None)
    ratio(results, title, made, "warpmeter", "nsys", None)
    ratio(results, title, made, "warpmeter", "none", None)
    ratio(results, title, made, "floor", "none", None)


# What warpmeter records beyond nsys' kinds, in groups that belong together. A group that costs more than 2 % is off
# by default.
PRICED = ("driver", "sync", "event", "overhead", "memory", "jit", "context,stream,device", "resource,state,reset")
MAX_PRICE = 1.02


def price_kinds(results, tools, command, rounds):
    """The cost of each group of kinds, added alone to nsys' kinds; alternating rounds, medians."""
    out = results.folder / "cost"
    out.mkdir(exist_ok=True)
    file = out / "p.wm.sqlite"
    record = [tools.warpmeter, "record", "--force", "--quiet", "-o", file, "--"]
    made = [Side("warpmeter nsys' kinds", record, file=file,
                 env=gpu_results.environment(WARPMETER_KINDS=NSYS_FEATURES))]
    made += [Side(f"warpmeter + {group}", record, file=file,
                  env=gpu_results.environment(WARPMETER_KINDS=f"{NSYS_FEATURES},{group}")) for group in PRICED]
    for index in range(rounds):
        for side in made if index % 2 == 0 else reversed(made):
            results.step(side.name, one_run, results, side, [], command, "launchNs")
    table(results, "price", made)
    for side in made[1:]:
        if side.values and made[0].values:
            found = statistics.median(side.values) / statistics.median(made[0].values)
            results.check(found <= MAX_PRICE and not side.wrong, f"price of {side.name}",
                          f"{found:.3f} of nsys' kinds, at most {MAX_PRICE} {'; '.join(side.wrong[:1])}")


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launches", type=int, default=200_000)
    parser.add_argument("--kinds", default=DEFAULT_KINDS, help="what the floor records (floor_inject.cpp)")
    parser.add_argument("--no-nsys", action="store_true")
    parser.add_argument("--price", action="store_true", help="only the price of each kind beyond nsys'")
    given = parser.parse_args()
    if given.rounds < 1 or given.launches < 1:
        parser.error("--rounds and --launches must be at least 1")
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "cost")
    empty = [tools.kernel("empty"), "--json", "--nvtx", "off", "--repetitions", given.launches]
    if given.price:
        price_kinds(results, tools, empty, given.rounds)
        return results.finish()
    floor = results.step("floor", build_floor, results)
    nsys = None if given.no_nsys else gpu_results.find_nsys()
    if nsys is None:
        results.skip("nsys", "--no-nsys" if given.no_nsys else "not found")
    setup = (tools, floor, given.kinds, nsys)
    graph = [tools.kernel("graph"), "--json", "--nvtx", "off", "--repetitions", "10000"]
    measure(results, "empty launch", setup, [], empty, "launchNs", given.rounds)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if shutil.which("taskset") and len(cores) == 2:
        confine = ["taskset", "-c", ",".join(map(str, cores))]
        measure(results, "empty launch on two cores", setup, confine, empty, "launchNs", given.rounds)
    else:
        results.skip("two cores", "needs taskset and two cores")
    measure(results, "graph node", setup, [], graph, "kernelNs", given.rounds)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
