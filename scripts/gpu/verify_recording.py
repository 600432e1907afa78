#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the bundled kernels and compares every file with what the program itself says it did.

usage: verify_recording.py [RESULTS] [--prefix FOLDER] [--only NAME ...]     (needs a GPU)
"""

import collections
import json
import sys

import gpu_results
from recording import Recording

LARGE = str(1 << 28)  # 1 GiB a vector: launches long enough for the gaps between them to be below 1 %
KEPT_BYTES = 16 << 20  # larger recordings are deleted after their comparison
CASES = [
    ("saxpy", "saxpy", ["--n", LARGE, "--repetitions", "1000"]),
    ("saxpy-grid-stride", "saxpy", ["--variant", "grid-stride", "--n", "1000003", "--repetitions", "50"]),
    ("matmul-naive", "matmul", ["--variant", "naive", "--n", "700"]),
    ("matmul-tiled", "matmul", ["--variant", "tiled", "--n", "2048", "--repetitions", "1000"]),
    ("streams-overlap", "streams", ["--rounds", "100", "--steps", "4000"]),
    ("streams-serial", "streams", ["--variant", "serial", "--rounds", "20", "--steps", "4000"]),
    ("streams-barrier", "streams", ["--variant", "barrier", "--rounds", "50", "--steps", "4000"]),
    ("graph", "graph", []),
    ("graph-launches", "graph", ["--variant", "launches"]),
    ("copies-pageable", "copies", []),
    ("copies-pinned", "copies", ["--variant", "pinned"]),
    ("cold-start-sass", "cold_start", []),
    ("cold-start-ptx", "cold_start", ["--variant", "ptx"]),
    ("nvrtc-module", "driver_nvrtc", []),
    ("nvrtc-library", "driver_nvrtc", ["--variant", "library"]),
    ("empty", "empty", []),
    ("empty-shared", "empty_shared", []),
]


def expanded(launches):
    """The program's list with repetitions and sequences written out."""
    for entry in launches:
        for _ in range(entry.get("repeat", 1)):
            yield from entry["sequence"] if "sequence" in entry else (entry,)


class StreamMap:
    """The program's numbers of streams against the file's, one to one."""

    def __init__(self):
        self.to_file, self.to_program = {}, {}

    def agrees(self, number, stream_id):
        return (self.to_file.setdefault(number, stream_id) == stream_id
                and self.to_program.setdefault(stream_id, number) == number)


def compare_launches(results, case, expected, rows):
    """Row by row in issue order. Graph nodes may run in streams of the driver's choice: only counted."""
    results.check(len(rows) == len(expected), f"{case} count", f"{len(rows)} rows, {len(expected)} launches")
    streams, node_streams, differences, wrong_streams = StreamMap(), set(), [], 0
    for index, (launch, row) in enumerate(zip(expected, rows)):
        wanted = (launch["kernel"], tuple(launch["grid"]), tuple(launch["block"]), launch["dynamicShared"],
                  launch["graph"])
        found = (row.name, row.grid, row.block, row.dynamic_shared, bool(row.graph_node))
        if wanted != found and len(differences) < 3:
            differences.append(f"launch {index}: {wanted} recorded as {found}")
        if launch["graph"]:
            node_streams.add(row.stream)
        elif not streams.agrees(launch["stream"], row.stream):
            wrong_streams += 1
    results.check(not differences and bool(rows) == bool(expected), f"{case} rows",
                  "; ".join(differences) or f"name, grid, block, shared memory of {len(rows)} in order")
    results.check(wrong_streams == 0, f"{case} streams", f"{len(streams.to_file)} streams, one to one, "
                                                         f"{wrong_streams} launches elsewhere")
    if node_streams:
        results.figure(f"{case} streams of graph nodes", len(node_streams))


def check_order(results, case, rows):
    """In one stream kernels start in the order in which they were issued."""
    last, early, overlapping = {}, 0, 0
    for row in rows:
        if row.start is None or row.graph_node:
            continue
        before = last.get(row.stream)
        if before is not None:
            early += row.start < before.start
            overlapping += row.start < before.end
        last[row.stream] = row
    results.check(early == 0, f"{case} order in streams", f"{early} kernels start before their predecessor")
    if overlapping:
        results.figure(f"{case} kernels overlapping their predecessor in one stream", overlapping)


def check_calls(results, case, recording, rows, expected):
    """Every kernel has its API call and starts after it; one call for each launch, one for each graph."""
    calls = recording.api_calls()
    missing = sum(row.correlation not in calls for row in rows)
    early = [calls[row.correlation][0] - row.start for row in rows
             if row.start is not None and row.correlation in calls and row.start < calls[row.correlation][0]]
    results.check(missing == 0, f"{case} API calls", f"{missing} kernels without their call")
    results.check(not early, f"{case} start after call",
                  f"{len(early)} of {len(rows)} kernels start before it, by {max(early, default=0)} ns at most")
    backwards = sum(row.start is not None and row.end < row.start for row in rows)
    results.check(backwards == 0, f"{case} end after start", f"{backwards} kernels end before they start")
    plain = [row.correlation for row in rows if not row.graph_node]
    wanted = sum(not launch["graph"] for launch in expected)
    results.check(len(set(plain)) == wanted, f"{case} launch calls", f"{len(set(plain))} of {wanted}")
    names = collections.Counter(name.split("_v")[0] for _, name in calls.values())
    for call, count in sorted(names.items()):
        if "Launch" in call:
            results.figure(f"{case} {call}", count)
    results.figure(f"{case} API rows", recording.count("CUPTI_ACTIVITY_KIND_RUNTIME"))


def check_graph_launches(results, case, rows, launches):
    wanted = sum(entry.get("repeat", 1) for entry in launches
                 if entry.get("sequence", [entry])[0]["graph"])
    if wanted:
        found = len({row.correlation for row in rows if row.graph_node})
        results.check(found == wanted, f"{case} graph launches", f"{found} of {wanted}")


def check_events(results, case, events, rows):
    for pair in events:
        part = rows[pair["firstLaunch"]:pair["firstLaunch"] + pair["launches"]]
        if len(part) != pair["launches"] or any(row.start is None for row in part):
            results.check(False, f"{case} durations", "not every launch between the events has its times")
            continue
        mean = sum(row.end - row.start for row in part) / len(part)
        span = max(row.end for row in part) - min(row.start for row in part)
        off = 100 * (mean / pair["meanNs"] - 1)
        text = f"recorded mean {mean:.0f} ns, events {pair['meanNs']:.0f} ns, {off:+.3f} %"
        results.figure(f"{case} mean duration against events", off, "%")
        results.figure(f"{case} first start to last end against events",
                       100 * (span / pair["elapsedNs"] - 1), "%")
        # The time between two events holds the gaps between kernels too, about a microsecond each.
        if pair["meanNs"] >= 200_000 and pair["launches"] >= 1000:
            results.check(abs(off) <= 1, f"{case} durations within 1 %", text)


def check_copies(results, case, copies, recording):
    wanted, found = collections.Counter(), recording.copies()
    for copy in copies:
        wanted[(copy["kind"], copy["memory"])] += copy["repeat"]
        wanted[(copy["kind"], copy["memory"], "bytes")] += copy["repeat"] * copy["bytes"]
    if wanted:
        results.check(wanted == found, f"{case} copies", f"{dict(found)}" if wanted == found else
                      f"program {dict(wanted)}, file {dict(found)}")


def check_nvtx(results, case, nvtx, recording):
    wanted = collections.Counter({(entry["kind"], entry["name"], entry["domain"]): entry["count"]
                                  for entry in nvtx["ranges"]})
    found = recording.nvtx()
    results.check(wanted == found, f"{case} NVTX", f"{sum(found.values())} ranges and marks"
                  if wanted == found else f"missing {dict(wanted - found)}, too many {dict(found - wanted)}")


def verify(results, tools, case, program, options):
    file = results.folder / f"{case}.wm.sqlite"
    outcome = tools.record(file, [tools.kernel(program), *options, "--json", "--print-launches", "json",
                                  "--print-events", "json"], timeout=180, env=gpu_results.environment())
    if not results.check(outcome.rc == 0, f"{case} runs", outcome.why()):
        return
    foreign = [line for line in outcome.stderr.splitlines() if not line.startswith(b"warpmeter:")]
    results.check(not foreign, f"{case} stderr", f"{len(foreign)} lines without our prefix")
    said = json.loads(outcome.stdout)
    (results.folder / f"{case}.program.json").write_bytes(outcome.stdout)
    recording = Recording(gpu_results.open_recording(file))
    rows, expected = recording.kernels(), list(expanded(said["launches"]))
    untimed = sum(row.start is None for row in rows)
    results.figure(f"{case} untimed launches", untimed)
    losses = recording.losses()
    results.check(not losses, f"{case} losses", f"{losses}" if losses else "none")
    compare_launches(results, case, expected, rows)
    check_order(results, case, rows)
    check_calls(results, case, recording, rows, expected)
    check_graph_launches(results, case, rows, said["launches"])
    check_events(results, case, said["events"], rows)
    check_copies(results, case, said["copies"], recording)
    check_nvtx(results, case, said["nvtx"], recording)
    results.figure(f"{case} seconds", outcome.seconds)
    results.figure(f"{case} file bytes", file.stat().st_size)
    recording.database.close()
    if file.stat().st_size > KEPT_BYTES:
        file.unlink()


def main():
    parser = gpu_results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="cases to run")
    parser.add_argument("--list", action="store_true", help="print the cases")
    given = parser.parse_args()
    if given.list:
        print("\n".join(case for case, _, _ in CASES))
        return 0
    unknown = set(given.only or ()) - {case for case, _, _ in CASES}
    if unknown:
        sys.exit(f"unknown cases: {', '.join(sorted(unknown))}")
    tools = gpu_results.Tools(given.prefix)
    results = gpu_results.Results(given.results, "verify_recording")
    for case, program, options in CASES:
        if not given.only or case in given.only:
            results.step(case, verify, results, tools, case, program, options)
    wrong = tools.record(results.folder / "wrong.wm.sqlite", [tools.kernel("saxpy"), "--n", "0"], timeout=60,
                         env=gpu_results.environment())
    results.check(wrong.rc == 2, "exit code of the application", f"{wrong.rc}, the application's is 2")
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
