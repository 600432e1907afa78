#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries the comparisons of scripts/gpu on made-up programs and recordings: right ones pass, broken ones fail.

The made-up `warpmeter record` runs the program, reads the list that it prints, and writes a file with the project's
schema from it, broken in the way that FAKE_BREAK names.
"""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts/gpu"

PROGRAM = r'''#!/usr/bin/env python3
import json, sys
if "0" in sys.argv[1:]:
    print("saxpy: --n '0' is not a whole number", file=sys.stderr)
    sys.exit(2)
def launch(kernel, stream=0, graph=False, shared=0, **more):
    return {"kernel": kernel, "grid": [2, 1, 1], "block": [64, 1, 1], "stream": stream, "dynamicShared": shared,
            "graph": graph, **more}
launches = [launch("first", repeat=1000), launch("second", 1), launch("second", 2), launch("second", 1, shared=8),
            {"repeat": 3, "sequence": [launch("pull", 1, True), launch("blend", 1, True)]}]
print(json.dumps({"name": sys.argv[0].split("/")[-1], "launches": launches,
    "events": [{"kernel": "first", "firstLaunch": 0, "launches": 1000, "elapsedNs": 300.5e6, "meanNs": 300500.0}],
    "copies": [{"kind": "h2d", "memory": "pageable", "bytes": 64, "stream": 0, "repeat": 2}],
    "nvtx": {"ranges": [{"name": "run", "kind": "startEnd", "domain": "warpmeter.kernels", "count": 1},
                        {"name": "whole", "kind": "pushPop", "domain": None, "count": 1}]}}))
'''

# For kernels_check.py: describes itself, refuses what it must, says what it measured; wrong as FAKE_BREAK says.
MEASURED = r'''#!/usr/bin/env python3
import json, os, sys
words, broken = sys.argv[1:], os.environ.get("FAKE_BREAK", "")
name = sys.argv[0].split("/")[-1]
if "--describe" in words:
    print(json.dumps({"name": name, "smallArguments": ["--n", "7"], "variants": [{"name": "good", "bound": "dram"}, {"name": "bad", "bound": None}],
        "options": [{"name": option, "min": 1, "max": 1 << 40} for option in ("--n", "--repetitions")] +
                   [{"name": "--seconds", "min": 0, "max": 9}]}))
    sys.exit(0)
if words[0] != "--variant" or "nothing" in words:  # only wrong arguments start otherwise
    print(f"{name}: no", file=sys.stderr)
    if broken == "talkative": print("and more", file=sys.stderr)
    sys.exit(1 if broken == "refusal" else 2)
if broken == "crash" and "bad" in words: sys.exit(1)
said = {"launchCount": 9, "values": {"launchNs": 2500.0, "bandwidthBytesPerSec": 3e12, "ceilingBytesPerSec": 4e12,
                                     "sharePct": 75.0}}
if "--print-launches" in words:
    said["launches"] = [{"repeat": 5}, {"repeat": 2 if broken != "list" else 1, "sequence": [{}, {}]}]
print(json.dumps(said))
'''

# What compute-sanitizer prints about NCCL, as far as the script reads it.
NO_IMAGE = """========= COMPUTE-SANITIZER
========= Program hit cudaErrorNoKernelImageForDevice (error 209) on CUDA API call to cudaFuncGetAttributes.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: pncclCommInitAll [0x8be6b] in libnccl.so.2
========= 
  check                   passed: 16036 values
========= ERROR SUMMARY: 1 error""".splitlines()

SANITIZER = r'''#!/usr/bin/env python3
import os, subprocess, sys
assert sys.argv[1] == "--tool" and sys.argv[3] == "--error-exitcode"
rc = subprocess.run(sys.argv[5:], stdout=subprocess.DEVNULL).returncode
found = sys.argv[2] == os.environ.get("FAKE_BREAK")
print("========= ERROR SUMMARY: %d errors" % found)
sys.exit(int(sys.argv[4]) if found else rc)
'''

RECORDER = r'''#!/usr/bin/env python3
import json, os, pathlib, sqlite3, subprocess, sys
ROOT = pathlib.Path("@ROOT@")
sys.path.insert(0, str(ROOT / "scripts/gpu"))
from verify_recording import expanded
words = sys.argv[1:]
file, command = words[words.index("-o") + 1], words[words.index("--") + 1:]
ended = subprocess.run(command, stdout=subprocess.PIPE)
if ended.returncode:
    sys.exit(ended.returncode)
sys.stdout.buffer.write(ended.stdout)
broken = os.environ.get("FAKE_BREAK", "")
pathlib.Path(file).unlink(missing_ok=True)
db = sqlite3.connect(file)
db.execute("PRAGMA synchronous=OFF")
db.execute("PRAGMA journal_mode=OFF")
for name in ("schema.sql", "enums.sql"):
    db.executescript((ROOT / "profile" / name).read_text())
names = {}
def text(value):
    if value not in names:
        names[value] = len(names) + 1
        db.execute("INSERT INTO StringIds VALUES (?, ?)", (names[value], value))
    return names[value]
required = {}
def insert(table, **row):
    if table not in required:
        required[table] = {r[1]: 0 for r in db.execute(f"PRAGMA table_info({table})") if r[3]}
    row = {**required[table], **row}
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
def thread(process): return process << 24 | 5
for process, line in enumerate(ended.stdout.splitlines(), 1):
    said = json.loads(line)
    t = process * 10**10
    correlation = process << 32
    node = None
    flat = list(expanded(said["launches"]))
    for index, launch in enumerate(flat):
        if not (launch["graph"] and launch["kernel"] == "blend"):
            correlation += 1
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", start=t, end=t + 10, eventClass=0, globalTid=thread(process),
                   correlationId=correlation, nameId=text("cudaGraphLaunch_v10000" if launch["graph"]
                                                          else "cudaLaunchKernel_v7000"))
        start = t + 100
        if broken == "early" and index == 5:
            start = t - 1
        duration = 300000 if broken != "slow" else 310000
        if broken == "drop" and index == 7:
            continue
        table = "WM_UNTIMED" if index == 1001 else "CUPTI_ACTIVITY_KIND_KERNEL"
        name = "other" if broken == "name" and index == 7 else launch["kernel"]
        stream = 7 if broken == "stream" else 7 + launch["stream"]
        block = 65 if broken == "block" and index == 8 else 64
        insert(table, start=None if index == 1001 else start, end=None if index == 1001 else start + duration,
               streamId=stream, correlationId=correlation, globalPid=process << 24, shortName=text(name),
               demangledName=text(name + "()"), gridX=2, gridY=1, gridZ=1, blockX=block, blockY=1, blockZ=1,
               dynamicSharedMemory=launch["dynamicShared"], graphNodeId=index if launch["graph"] else None)
        t = start + duration
    for copy in range(1 if broken == "copy" else 2):
        insert("CUPTI_ACTIVITY_KIND_MEMCPY", start=0, end=1, bytes=64, copyKind=1, srcKind=0, dstKind=2)
    insert("NVTX_EVENTS", start=0, eventType=75, text="warpmeter.kernels", domainId=1, globalTid=thread(process))
    insert("NVTX_EVENTS", start=0, end=9, eventType=60, textId=text("run"), domainId=1, globalTid=thread(process))
    insert("NVTX_EVENTS", start=0, end=9, eventType=59, text="lost" if broken == "nvtx" else "whole", domainId=0,
           globalTid=thread(process))
if broken == "loss":
    insert("WM_LOSS", kind=text("kernel"), count=3, why=text("pool empty"))
db.commit()
db.close()
print("stray line" if broken == "stderr" else "warpmeter: done", file=sys.stderr)
'''


class Scripts(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.prefix = pathlib.Path(self.temporary.name) / "prefix"
        self.write("bin/warpmeter", RECORDER.replace("@ROOT@", str(ROOT)))
        for name in ("saxpy", "graph"):
            self.write(f"lib/warpmeter/kernels/{name}", PROGRAM)

    def write(self, name, content):
        path = self.prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def script(self, name, *arguments, broken=""):
        return subprocess.run(
            [sys.executable, SCRIPTS / name, pathlib.Path(self.temporary.name) / "results", "--prefix", self.prefix,
             *arguments], capture_output=True, text=True, timeout=60,
            env={**os.environ, "FAKE_BREAK": broken, "PYTHONDONTWRITEBYTECODE": "1"})

    def failures(self, output):
        return sorted(line.split(":")[0].replace("FAIL  saxpy ", "") for line in output.splitlines()
                      if line.startswith("FAIL"))

    def test_a_right_recording_passes_everything(self):
        ended = self.script("verify_recording.py", "--only", "saxpy")
        self.assertEqual(self.failures(ended.stdout), [], ended.stdout + ended.stderr)
        self.assertEqual(ended.returncode, 0)
        self.assertIn("PASS  saxpy durations within 1 %", ended.stdout)
        self.assertIn("FIG   saxpy untimed launches = 1", ended.stdout)

    def test_each_fault_is_seen(self):
        expected = {
            "early": ["start after call"],
            "slow": ["durations within 1 %"],
            "name": ["rows"],
            "block": ["rows"],
            "stream": ["streams"],
            "copy": ["copies"],
            "nvtx": ["NVTX"],
            "loss": ["losses"],
            "stderr": ["stderr"],
        }
        for broken, wanted in expected.items():
            with self.subTest(broken):
                ended = self.script("verify_recording.py", "--only", "saxpy", broken=broken)
                self.assertEqual(self.failures(ended.stdout), wanted, ended.stdout)
                self.assertEqual(ended.returncode, 1)

    def test_a_missing_launch_is_seen(self):
        ended = self.script("verify_recording.py", "--only", "saxpy", broken="drop")
        self.assertIn("count", self.failures(ended.stdout))
        self.assertIn("launch calls", self.failures(ended.stdout))
        self.assertEqual(ended.returncode, 1)

    def test_a_program_that_cannot_run_does_not_end_the_script(self):
        (self.prefix / "lib/warpmeter/kernels/saxpy").unlink()
        ended = self.script("verify_recording.py", "--only", "saxpy", "graph")
        self.assertIn("FAIL  saxpy runs", ended.stdout)
        self.assertIn("PASS  graph count", ended.stdout)

    def test_children_of_one_shell_lie_in_one_file(self):
        ended = self.script("verify_pytorch.py", "--python", "/bin/false")
        self.assertIn("PASS  children in one file", ended.stdout, ended.stdout + ended.stderr)
        self.assertIn("PASS  child saxpy rows", ended.stdout)
        self.assertIn("PASS  child graph count", ended.stdout)
        self.assertIn("SKIP  PyTorch", ended.stdout)
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def check_kernels(self, *arguments, broken=""):
        for name in ("saxpy", "graph"):
            self.write(f"lib/warpmeter/kernels/{name}", MEASURED)
        self.write("tools/compute-sanitizer", SANITIZER)
        path = f"{self.prefix / 'tools'}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, {"PATH": path}):
            return self.script("kernels_check.py", *arguments, broken=broken)

    def test_right_kernel_programs_pass_and_are_shown_in_a_table(self):
        ended = self.check_kernels("--sanitizer")
        self.assertEqual([line for line in ended.stdout.splitlines() if line.startswith("FAIL")], [], ended.stderr)
        self.assertEqual(ended.returncode, 0)
        self.assertRegex(ended.stdout, r"TABLE saxpy +good +dram +9 +2.5 +3.000 TB/s +4.000 +75.0 %")
        self.assertIn("PASS  saxpy --n 1099511627776 is refused", ended.stdout)
        self.assertIn("PASS  racecheck graph bad: ========= ERROR SUMMARY: 0 errors", ended.stdout)

    def test_each_fault_of_a_kernel_program_is_seen(self):
        for broken, wanted in {"refusal": "FAIL  saxpy --n 0 is refused", "list": "FAIL  saxpy good small list",
                               "talkative": "FAIL  saxpy --device 99 is refused", "crash": "FAIL  saxpy bad runs",
                               "initcheck": "FAIL  initcheck saxpy good"}.items():
            with self.subTest(broken):
                ended = self.check_kernels("--sanitizer", "--only", "saxpy", broken=broken)
                self.assertIn(wanted, ended.stdout)
                self.assertEqual(ended.returncode, 1)

    def test_only_the_named_reports_of_a_library_are_explained(self):
        sys.path.insert(0, str(SCRIPTS))
        self.addCleanup(sys.path.remove, str(SCRIPTS))
        with unittest.mock.patch.object(sys, "dont_write_bytecode", True):
            from kernels_check import explanation
        case = "memcheck allreduce nccl"
        self.assertIn("NCCL", explanation(case, NO_IMAGE))
        self.assertIsNone(explanation("memcheck allreduce peer", NO_IMAGE))
        another = ["========= Invalid __global__ read of size 4 bytes"]
        self.assertIsNone(explanation(case, NO_IMAGE[:5] + another + NO_IMAGE[5:]))
        self.assertIsNone(explanation(case, [line for line in NO_IMAGE if "passed" not in line]))
        self.assertIsNone(explanation(case, NO_IMAGE[:1] + NO_IMAGE[5:]))

    def test_what_the_time_does_not_allow_is_skipped_aloud(self):
        ended = self.check_kernels("--limit", "0")
        self.assertIn("SKIP  graph good: 0.0 s are over", ended.stdout)
        self.assertNotIn("SKIP  graph good small", ended.stdout)


if __name__ == "__main__":
    unittest.main()
