# SPDX-License-Identifier: Apache-2.0
"""Reads what the comparisons need out of a recording."""

import collections

Kernel = collections.namedtuple(
    "Kernel", "start end stream correlation process name grid block dynamic_shared graph_node")

NVTX_KINDS = {59: "pushPop", 60: "startEnd", 34: "mark"}
NVTX_DOMAIN_CREATED = 75
COPY_KINDS = {1: "h2d", 2: "d2h", 8: "d2d"}

KERNEL_COLUMNS = """k.start, k.end, k.streamId, k.correlationId, k.globalPid, s.value,
    k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.dynamicSharedMemory, k.graphNodeId"""


class Recording:
    def __init__(self, database):
        self.database = database
        self.tables = {row[0] for row in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")}

    def count(self, table):
        if table not in self.tables:
            return 0
        return self.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def kernels(self, global_pid=None):
        """Timed and untimed launches in issue order: by call, nodes of one graph launch by start."""
        rows = []
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "WM_UNTIMED"):
            if table in self.tables:
                query = f"SELECT {KERNEL_COLUMNS} FROM {table} k LEFT JOIN StringIds s ON s.id = k.shortName"
                rows += [Kernel(*row[:6], tuple(row[6:9]), tuple(row[9:12]), row[12], row[13])
                         for row in self.database.execute(query)]
        if global_pid is not None:
            rows = [row for row in rows if row.process == global_pid]
        rows.sort(key=lambda row: (row.correlation, row.start if row.start is not None else 0))
        return rows

    def processes_with_kernels(self):
        return [row[0] for row in self.database.execute(
            "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY globalPid ORDER BY min(start)")]

    def kernel_names(self):
        """How often each demangled name was launched."""
        counts = collections.Counter()
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "WM_UNTIMED"):
            if table in self.tables:
                for name, count in self.database.execute(
                        f"SELECT s.value, count(*) FROM {table} k LEFT JOIN StringIds s "
                        "ON s.id = coalesce(k.demangledName, k.shortName) GROUP BY s.value"):
                    counts[name] += count
        return counts

    def losses(self):
        if "WM_LOSS" not in self.tables:
            return ["the file has no WM_LOSS table"]
        return [tuple(row) for row in self.database.execute(
            "SELECT coalesce(k.value, l.kind), l.count, coalesce(w.value, l.why) FROM WM_LOSS l "
            "LEFT JOIN StringIds k ON k.id = l.kind LEFT JOIN StringIds w ON w.id = l.why "
            # A hole between samples is no lost record.
            "WHERE coalesce(k.value, '') <> 'samples'")]

    def api_calls(self):
        """correlationId -> (start, name); the outermost call where several share it."""
        calls = {}
        for correlation, start, name in self.database.execute(
                "SELECT r.correlationId, r.start, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
                "LEFT JOIN StringIds s ON s.id = r.nameId WHERE r.correlationId IS NOT NULL ORDER BY r.start"):
            calls.setdefault(correlation, (start, name or ""))
        return calls

    def copies(self):
        """Calls and bytes by kind and host memory, as the programs list them."""
        found = collections.Counter()
        for kind, source, destination, calls, size in self.database.execute(
                "SELECT m.copyKind, s.label, d.label, count(*), sum(m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m "
                "LEFT JOIN ENUM_CUDA_MEM_KIND s ON s.id = m.srcKind "
                "LEFT JOIN ENUM_CUDA_MEM_KIND d ON d.id = m.dstKind GROUP BY 1, 2, 3"):
            name = COPY_KINDS.get(kind, f"copyKind {kind}")
            memory = (source if name == "h2d" else destination) or "unknown"
            found[(name, memory.lower())] += calls
            found[(name, memory.lower(), "bytes")] += size
        calls, size = self.database.execute(
            "SELECT count(*), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET").fetchone()
        if calls:
            found[("memset", "device")] += calls
            found[("memset", "device", "bytes")] += size
        return found

    def nvtx(self):
        """How often each (kind, text, domain name or None) occurs."""
        domains = {}
        for process, domain, text in self.database.execute(
                "SELECT n.globalTid >> 24, n.domainId, coalesce(n.text, s.value) FROM NVTX_EVENTS n "
                "LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType = ?", (NVTX_DOMAIN_CREATED,)):
            domains[process, domain] = text
        found = collections.Counter()
        for kind, process, domain, text in self.database.execute(
                "SELECT n.eventType, n.globalTid >> 24, n.domainId, coalesce(n.text, s.value) "
                "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId"):
            if kind in NVTX_KINDS:
                found[(NVTX_KINDS[kind], text, domains.get((process, domain)))] += 1
        return found
