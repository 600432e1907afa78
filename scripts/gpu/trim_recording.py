#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a small test file of a recording with counters: the same kernels, bounds and values, fewer launches and samples.

usage: trim_recording.py FROM.wm.sqlite TO.wm.sqlite [--bytes N]

Kept are, of each set of counters, the beginnings of some batches spread over the run, and whatever ran on the GPU during
them; what nothing of the analysis reads is left out. Paths in argv become bare names, the host's name goes. The file
says itself that it was thinned (WM_LOSS of the kind "thinned"). Needs no GPU.
"""

import argparse
import itertools
import os
import pathlib
import shutil
import sqlite3
import sys

# Read by the analysis of kernels and counters; every other table goes. EMPTY: a file of ours always has them.
EMPTY = {"CUPTI_ACTIVITY_KIND_RUNTIME"}
KEEP = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "StringIds",
    "META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV", "WM_SESSION", "WM_PROCESS", "WM_GPU_LIMIT", "WM_LOSS",
    "WM_UNTIMED", "WM_SAMPLE_SET", "WM_SAMPLE", "WM_RANGED", "WM_CEILING", "WM_CLOCK",
}
ON_GPU = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
# Samples and records may be this far apart: the clocks differ by less, and a sample sees what began just before it.
MARGIN_NS = 30_000
# Samples of each set, tried one after the other until the file is small enough; of at most so many batches.
SAMPLES = (4000, 3000, 2400, 2000, 1600, 1300, 1000, 800, 600, 450, 350, 250, 180, 120, 80, 50)
BATCHES = 24


def packed(numbers):
    out = bytearray()
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def unpacked(data):
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    return numbers


def first_samples(start, samples, data, wanted):
    """The first `wanted` samples of a batch as (end, samples, data). Columns hold differences: their heads stay right."""
    numbers = unpacked(data)
    columns = [numbers[at:at + samples] for at in range(0, len(numbers), samples)]
    head = [column[:wanted] for column in columns]
    return start + sum(head[0]), len(head[0]), packed(itertools.chain.from_iterable(head))


def works(samples, data):
    """Whether a batch saw work: its first counter is sm__cycles_active, the column behind the ends of the samples."""
    return any(unpacked(data)[samples:2 * samples])


def spread(items, wanted):
    """At most `wanted` of them, evenly from all."""
    if len(items) <= wanted:
        return items
    return [items[int((i + 0.5) * len(items) / wanted)] for i in range(wanted)]


def tables(database):
    return [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def thin_samples(database, samples):
    """Leaves about so many samples of each set; returns the spans of time that have some."""
    spans = []
    for (set_id,) in database.execute("SELECT DISTINCT setId FROM WM_SAMPLE").fetchall():
        rows = database.execute("SELECT rowid, start, samples, data FROM WM_SAMPLE WHERE setId = ? ORDER BY start",
                                (set_id,)).fetchall()
        kept = spread([row for row in rows if works(row[2], row[3])] or rows, BATCHES)
        each = -(-samples // len(kept))
        drop = {row[0] for row in rows} - {row[0] for row in kept}
        database.executemany("DELETE FROM WM_SAMPLE WHERE rowid = ?", [(row,) for row in drop])
        for rowid, start, count, data in kept:
            end, left, data = first_samples(start, count, data, each)
            database.execute("UPDATE WM_SAMPLE SET end = ?, samples = ?, data = ? WHERE rowid = ?",
                             (end, left, data, rowid))
            spans.append((start - MARGIN_NS, end + MARGIN_NS))
    return spans


def thin_work(database, spans):
    """Leaves what ran during the spans; every launch that was measured alone, and some of each kernel there is."""
    database.execute("CREATE TEMP TABLE Span (a INTEGER, b INTEGER)")
    database.executemany("INSERT INTO Span VALUES (?, ?)", spans)
    counts = {}
    for table in ON_GPU:
        before = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        also = ""
        if table.endswith("KERNEL"):
            also = (" AND rowid NOT IN (SELECT min(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY demangledName, "
                    "gridX, gridY, gridZ, blockX, blockY, blockZ)"
                    " AND NOT EXISTS (SELECT 1 FROM WM_RANGED r WHERE r.correlationId = "
                    "CUPTI_ACTIVITY_KIND_KERNEL.correlationId)")
        database.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM Span WHERE {table}.start < b AND "
                         f"{table}.end > a){also}")
        counts[table] = (database.execute(f"SELECT count(*) FROM {table}").fetchone()[0], before)
    database.execute("DROP TABLE Span")
    return counts


def string_id(database, text):
    found = database.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
    if found:
        return found[0]
    new = database.execute("SELECT coalesce(max(id), 0) + 1 FROM StringIds").fetchone()[0]
    database.execute("INSERT INTO StringIds VALUES (?, ?)", (new, text))
    return new


def used_strings(database):
    columns = [("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"), ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"),
               ("CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"), ("WM_UNTIMED", "demangledName"),
               ("WM_UNTIMED", "shortName"), ("WM_UNTIMED", "mangledName"), ("WM_RANGED", "metric"),
               ("WM_LOSS", "kind"), ("WM_LOSS", "why")]
    return " UNION ".join(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL" for table, column in columns)


def anonymous(database):
    """No paths, no host."""
    for pid, argv, path in database.execute("SELECT globalPid, argv, cuptiPath FROM WM_PROCESS").fetchall():
        words = [word.rsplit("/", 1)[-1] for word in (argv or "").split(" ")]
        database.execute("UPDATE WM_PROCESS SET argv = ?, cuptiPath = ? WHERE globalPid = ?",
                         (" ".join(words), path and path.rsplit("/", 1)[-1], pid))
    database.execute("UPDATE WM_SESSION SET hostname = NULL, overviewStart = NULL, overviewBucketNs = NULL")
    database.execute("DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name <> 'NvDriverVersion'")


def trim_once(source, target, samples):
    shutil.copyfile(source, target)
    database = sqlite3.connect(target)
    database.execute("PRAGMA secure_delete = ON")
    database.execute("PRAGMA journal_mode = DELETE")
    for (index,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall():
        database.execute(f"DROP INDEX {index}")
    for table in tables(database):
        if table in EMPTY:
            database.execute(f"DELETE FROM {table}")
        elif table not in KEEP:
            database.execute(f"DROP TABLE {table}")
    counts = thin_work(database, thin_samples(database, samples))
    launches, before = counts["CUPTI_ACTIVITY_KIND_KERNEL"]
    database.execute("INSERT INTO WM_LOSS (kind, count, why) VALUES (?, ?, ?)",
                     (string_id(database, "thinned"), before - launches,
                      string_id(database, "launches and samples left out of a test file")))
    anonymous(database)
    database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({used_strings(database)})")
    database.commit()
    database.execute("PRAGMA page_size = 512")
    database.execute("VACUUM")
    database.close()
    return launches, before


def trim(source, target, most_bytes=52_000):
    """Writes target; returns what was kept as (bytes, launches, launches before). ValueError: it does not get that small."""
    if not pathlib.Path(source).exists():
        raise ValueError(f"{source} does not exist")
    if pathlib.Path(str(source) + "-wal").exists():
        raise ValueError(f"{source} was not finished: open it once with `warpmeter report`")
    part = f"{target}.part"
    try:
        for samples in SAMPLES:
            launches, before = trim_once(source, part, samples)
            size = os.path.getsize(part)
            if size <= most_bytes:
                os.replace(part, target)
                return size, launches, before
        raise ValueError(f"{source} has {size} bytes with {samples} samples of each set and {launches} launches")
    finally:
        pathlib.Path(part).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--bytes", type=int, default=52_000, help="size to stay below (52000)")
    given = parser.parse_args()
    try:
        size, launches, before = trim(given.source, given.target, given.bytes)
    except (ValueError, OSError, sqlite3.Error) as error:
        sys.exit(f"trim_recording: {error}")
    print(f"{given.target}: {size} bytes, {launches} of {before} launches")


if __name__ == "__main__":
    main()
