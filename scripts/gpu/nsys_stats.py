#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `nsys stats` and `nsys analyze` on a copy of a recording and compares totals with SQL on the file.

usage: nsys_stats.py FILE [RESULTS]     (needs nsys, but no GPU)
"""

import csv
import io
import pathlib
import shutil
import sqlite3
import sys

import gpu_results

REPORTS = ["cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_api_sum", "cuda_api_gpu_sum", "cuda_gpu_trace",
           "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_kern_exec_sum", "cuda_kern_exec_trace",
           "nvtx_sum", "nvtx_kern_sum", "nvtx_gpu_proj_sum", "nvtx_pushpop_trace", "um_sum"]
RULES = ["cuda_api_sync", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "gpu_gaps",
         "gpu_time_util"]

# What each summary must add up to: (count column, count, time column, nanoseconds) from SQL.
# The API summary takes durations as they are, nested calls too; the memory summary covers copies and memsets.
TOTALS = {
    "cuda_gpu_kern_sum": ("Instances", "SELECT count(*), total(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
    "cuda_api_sum": ("Num Calls", "SELECT count(*), total(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME"),
    "cuda_gpu_mem_time_sum": ("Count", "SELECT count(*), total(d) FROM (SELECT end - start AS d FROM "
                              "CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT end - start FROM "
                              "CUPTI_ACTIVITY_KIND_MEMSET)"),
    "nvtx_sum": ("Instances", "SELECT count(*), total(end - start) FROM NVTX_EVENTS "
                 "WHERE eventType IN (59, 60) AND end IS NOT NULL"),
}


def csv_rows(text):
    """nsys prints notes before the table: it starts at the first line with several columns."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.count(",") >= 2 and not line.startswith(("Processing", "NOTICE", "SKIPPED", "ERROR")):
            return list(csv.DictReader(io.StringIO("\n".join(lines[index:]))))
    return []


def column(rows, name):
    """The sum of a column whose title starts with name."""
    for title in rows[0] if rows else ():
        if title and title.startswith(name):
            return sum(float((row[title] or "0").replace(",", "")) for row in rows)
    return None


def one_report(results, nsys, database, kind, name):
    option = "--report" if kind == "stats" else "--rule"
    outcome = gpu_results.run([nsys, kind, option, name, "--format", "csv", "--output", "-", database],
                              timeout=180)
    text = (outcome.stdout + b"\n" + outcome.stderr).decode(errors="replace")
    (results.folder / f"nsys_{kind}_{name}.txt").write_text(text)
    what = f"nsys {kind} {name}"
    refused = [line for line in text.splitlines() if "SKIPPED" in line]
    errors = [line for line in text.splitlines() if line.upper().startswith("ERROR") or "Traceback" in line]
    if outcome.rc != 0 or errors:
        results.check(False, what, errors[0] if errors else outcome.why())
    elif refused:
        results.skip(what, refused[0].strip())
    else:
        rows = csv_rows(outcome.stdout.decode(errors="replace"))
        results.check(True, what, f"{len(rows)} rows")
        return rows
    return None


def compare(results, name, rows, database):
    count_title, query = TOTALS[name]
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    count, time = connection.execute(query).fetchone()
    found_count, found_time = column(rows, count_title), column(rows, "Total Time")
    same_time = found_time is not None and abs(found_time - time) <= 1e-9 * time + 0.5
    results.check(found_count == count and same_time, f"nsys totals {name}",
                  f"nsys {found_count} and {found_time} ns, SQL {count} and {time:.0f} ns")


def main():
    if len(sys.argv) < 2 or not pathlib.Path(sys.argv[1]).is_file():
        print("usage: nsys_stats.py FILE [RESULTS]; FILE is a recording", file=sys.stderr)
        return 2
    source = pathlib.Path(sys.argv[1]).resolve()
    folder = sys.argv[2] if len(sys.argv) > 2 else "gpu-results"
    results = gpu_results.Results(folder, f"nsys_{source.name.split('.')[0]}")
    nsys = gpu_results.find_nsys()
    if nsys is None:
        results.skip("nsys", "not on PATH and not below /opt/nvidia")
        results.finish()
        return 0
    # nsys may write beside the file that it reads, and knows its kind by the name. A -wal belongs to it.
    copy = results.folder / "nsys_input.sqlite"
    for suffix in ("", "-wal"):
        pathlib.Path(f"{copy}{suffix}").unlink(missing_ok=True)
        if pathlib.Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{copy}{suffix}")
    results.line(f"INFO  {nsys} on {source.name}")
    for name in REPORTS:
        rows = results.step(f"nsys stats {name}", one_report, results, nsys, copy, "stats", name)
        if rows is not None and name in TOTALS:
            results.step(f"nsys totals {name}", compare, results, name, rows, copy)
    for name in RULES:
        results.step(f"nsys analyze {name}", one_report, results, nsys, copy, "analyze", name)
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(f"{copy}{suffix}").unlink(missing_ok=True)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
