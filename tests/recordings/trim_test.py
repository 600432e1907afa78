#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trims the recordings of tests/data/counters (scripts/gpu/trim_recording.py): bounds stay, values stay in their intervals.

usage: trim_test.py WARPMETER
"""

import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import trim_recording  # noqa: E402

MOST_BYTES = 60_000
WARPMETER = str(pathlib.Path(sys.argv.pop()).resolve()) if len(sys.argv) > 1 else "warpmeter"


def kernel_of(file):
    done = subprocess.run([WARPMETER, "report", "--json", file], capture_output=True, timeout=120, check=True)
    return json.loads(done.stdout)["kernels"][0]["distinct"][0]


def metrics_of(kernel):
    found = dict(kernel["counters"] or {}, achievedOccupancyPct=kernel["achievedOccupancyPct"])
    return {name: metric for name, metric in found.items() if metric["value"] is not None}


class Trimmed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def both(self, packed):
        whole = pathlib.Path(self.folder.name) / packed.name[:-len(".gz")]
        whole.write_bytes(gzip.decompress(packed.read_bytes()))
        small = whole.with_name("small." + whole.name)
        return whole, small, trim_recording.trim(whole, small)

    def test_every_recording(self):
        recordings = sorted((ROOT / "tests/data/counters").glob("*.gz"))
        self.assertGreater(len(recordings), 10)
        compared = 0
        for packed in recordings:
            with self.subTest(packed.name):
                whole, small, (size, launches, before) = self.both(packed)
                self.assertEqual(size, small.stat().st_size)
                self.assertLessEqual(size, MOST_BYTES)
                self.assertLess(launches, before)
                original, kept = kernel_of(whole), kernel_of(small)
                if original["bound"]["id"] != "not_measured":
                    self.assertEqual(kept["bound"]["id"], original["bound"]["id"])
                self.assertEqual(kept["occupancy"]["limiters"], original["occupancy"]["limiters"])
                values = metrics_of(original)
                for name, metric in metrics_of(kept).items():
                    if name not in values:  # of fewer launches, but all of them sampled: then it may be known
                        continue
                    # Twice the 95 % interval: the samples that are left are a part of those that gave the value.
                    low = metric["value"] - 2 * (metric["value"] - metric["low"])
                    high = metric["value"] + 2 * (metric["high"] - metric["value"])
                    self.assertTrue(low <= values[name]["value"] <= high,
                                    f"{name} {values[name]['value']:.6g} not in {low:.6g} to {high:.6g}")
                    compared += 1
        self.assertGreater(compared, 60)

    def test_no_paths_and_no_host(self):
        _, small, _ = self.both(ROOT / "tests/data/counters/fma.fp32.wm.sqlite.gz")
        content = small.read_bytes()
        for word in (b"kernels/fma", b"/usr/", b"libcupti.so.13\0/", b"Hostname"):
            self.assertNotIn(word, content)
        database = sqlite3.connect(small)
        self.assertEqual(database.execute("SELECT argv, cuptiPath FROM WM_PROCESS").fetchall(),
                         [("fma --variant fp32 --seconds 1", "libcupti.so.13")])
        self.assertEqual(database.execute("SELECT hostname FROM WM_SESSION").fetchall(), [(None,)])
        # The file says itself what it lacks.
        self.assertEqual(database.execute("SELECT k.value, l.count > 1000 FROM WM_LOSS l JOIN StringIds k ON k.id = l.kind")
                         .fetchall(), [("thinned", 1)])
        database.close()

    def test_what_cannot_be_trimmed_is_refused_and_leaves_nothing(self):
        target = pathlib.Path(self.folder.name) / "x.wm.sqlite"
        whole, small, _ = self.both(ROOT / "tests/data/counters/copy.vector.wm.sqlite.gz")
        with self.assertRaisesRegex(ValueError, "does not exist"):
            trim_recording.trim(target.with_name("missing"), target)
        with self.assertRaisesRegex(ValueError, "has [0-9]+ bytes"):
            trim_recording.trim(whole, target, 10_000)
        self.assertEqual({file.name for file in pathlib.Path(self.folder.name).iterdir()}, {whole.name, small.name})

    def test_heads_of_batches_unpack_to_the_same_samples(self):
        numbers = [3, 200, 1, 70_000, 5, 6, 2, 9]  # two columns of four
        end, samples, data = trim_recording.first_samples(1000, 4, trim_recording.packed(numbers), 2)
        self.assertEqual((end, samples, trim_recording.unpacked(data)), (1203, 2, [3, 200, 5, 6]))

    def test_record_references_writes_small_files_and_finds_wrong_descriptions(self):
        """With a warpmeter that "records" by copying a recording: the rest is the real one."""
        folder = pathlib.Path(self.folder.name)
        whole, _, _ = self.both(ROOT / "tests/data/counters/copy.vector.wm.sqlite.gz")
        (folder / "bin").mkdir()
        (folder / "bin/warpmeter").write_text(FAKE.format(real=WARPMETER, recording=whole))
        (folder / "bin/warpmeter").chmod(0o755)
        done = subprocess.run([sys.executable, ROOT / "scripts/gpu/record_references.py", folder / "results", "--prefix",
                               folder], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("PASS  copy.vector: bound: expected dram, is dram", done.stdout)
        self.assertIn("PASS  copy.vector: limiter", done.stdout)
        self.assertIn("FAIL  copy.wrong: bound: expected fp32, is dram", done.stdout)
        self.assertIn("FAIL  copy.wrong: limiter: expected grid, is warps, registers", done.stdout)
        self.assertIn("FAIL  copy.broken: record", done.stdout)
        files = sorted((folder / "results/kernels").iterdir())
        self.assertEqual([file.name for file in files], ["copy.vector.wm.sqlite", "copy.wrong.wm.sqlite"])
        self.assertLess(sum(file.stat().st_size for file in files), 2 * MOST_BYTES)


FAKE = '''#!/usr/bin/env python3
import json, os, shutil, sys
words = sys.argv[1:]
if words[0] == "record":
    if "broken" in words or words[words.index("--") + 1:][-2:] != ["--seconds", "2"]:
        sys.exit("warpmeter: no")
    shutil.copy("{recording}", words[words.index("-o") + 1])
elif words[0] == "kernels":
    variants = [dict(name=n, bound=b, limiter=l) for n, b, l in
                (("vector", "dram", "warps"), ("wrong", "fp32", "grid"), ("broken", "dram", "warps"))]
    print(json.dumps(dict(programs=[dict(name="copy", kernels=["copyVectorKernel"], variants=variants,
                                         options=[dict(name="--seconds")])])))
else:
    os.execv("{real}", ["{real}", *words])
'''


if __name__ == "__main__":
    unittest.main()
