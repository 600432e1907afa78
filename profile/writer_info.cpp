// SPDX-License-Identifier: Apache-2.0
// The tables with few rows: session, processes, GPUs.
#include <fmt/format.h>

#include <array>
#include <ctime>

#include "quoting.h"
#include "schema_text.h"
#include "statement_row.h"
#include "writer_impl.h"

namespace warpmeter {

namespace {

std::string isoTime(std::int64_t epochNs, bool local) {
  const std::time_t seconds = static_cast<std::time_t>(epochNs / 1'000'000'000);
  std::tm tm{};
  if (local) {
    localtime_r(&seconds, &tm);
  } else {
    gmtime_r(&seconds, &tm);
  }
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  return text;
}

std::string placeholders(int count) {
  std::string text = "?";
  for (int i = 1; i < count; ++i) text += ", ?";
  return text;
}

bool writeSystemEnvironment(Db& db, const SessionInfo& s) {
  if (db.exec("DELETE FROM TARGET_INFO_SYSTEM_ENV") != SQLITE_OK) return false;
  // name, nameEnum: what nsys calls these two; clients ask for them by either.
  const auto put = [&](const char* name, std::int64_t nameEnum, const std::string& value) {
    if (value.empty()) return true;
    StatementRow row(db, "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (?, 'System', ?, ?, ?)");
    row << kVmId << name << nameEnum << value;
    return row.run();
  };
  return put("Hostname", 619, s.hostname) && put("NvDriverVersion", 205, s.driverVersion);
}

bool writeStartTime(Db& db, const SessionInfo& s) {
  if (db.exec("DELETE FROM TARGET_INFO_SESSION_START_TIME; DELETE FROM ANALYSIS_DETAILS") != SQLITE_OK)
    return false;
  const bool known = !isNull(s.utcEpochNs);
  StatementRow start(db, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, ?, ?, ?)");
  start << s.utcEpochNs << (known ? isoTime(s.utcEpochNs, false) : "")
        << (known ? isoTime(s.utcEpochNs, true) : "") << s.monotonicNs;
  if (!start.run()) return false;
  if (isNull(s.endedNs)) return true;
  const std::int64_t origin = isNull(s.monotonicNs) ? 0 : s.monotonicNs;
  StatementRow details(db, "INSERT INTO ANALYSIS_DETAILS VALUES (?, ?, ?, ?)");
  details << kVmId << s.endedNs << origin << origin + s.endedNs;
  return details.run();
}

}  // namespace

Result<void> writeSession(Db& db, const std::filesystem::path& path, const SessionInfo& s) {
  // `finished` and the overview's scale survive: finish() sets them after the last session row.
  StatementRow row(
      db,
      "INSERT INTO WM_SESSION (rowid, format, utcEpochNs, monotonicNs, boottimeNs, started, ended, endedHow, "
      "hostname, warpmeterVersion, driverVersion, counters, countersText, nvtxRequested, apiMode, finished) "
      "VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (rowid) DO UPDATE SET "
      "utcEpochNs = excluded.utcEpochNs, monotonicNs = excluded.monotonicNs, boottimeNs = "
      "excluded.boottimeNs, "
      "started = excluded.started, ended = excluded.ended, endedHow = excluded.endedHow, "
      "hostname = excluded.hostname, warpmeterVersion = excluded.warpmeterVersion, "
      "driverVersion = excluded.driverVersion, counters = excluded.counters, "
      "countersText = excluded.countersText, nvtxRequested = excluded.nvtxRequested, apiMode = excluded.apiMode");
  row << kFormatText << s.utcEpochNs << s.monotonicNs << s.boottimeNs << s.startedNs << s.endedNs
      << s.endedHow << s.hostname << s.warpmeterVersion << s.driverVersion << s.counters
      << s.countersText << std::int64_t{s.nvtxRequested} << s.apiMode;
  if (!row.run() || !writeStartTime(db, s) || !writeSystemEnvironment(db, s)) {
    return toError(db.get(), path, "write the session");
  }
  return {};
}

Result<void> ProfileWriter::putSession(const SessionInfo& session) {
  if (Result<void> r = impl_->refuseUnlessOpen(); !r) return r;
  if (Result<void> r = impl_->begin(); !r) return r;
  return writeSession(impl_->db, impl_->path, session);
}

Result<void> ProfileWriter::put(const ProcessInfo& p) {
  Impl& w = *impl_;
  if (Result<void> r = w.refuseUnlessOpen(); !r) return r;
  if (Result<void> r = w.begin(); !r) return r;
  StatementRow remove(w.db, "DELETE FROM PROCESSES WHERE globalPid = ?");
  remove << p.globalPid.value;
  StatementRow core(w.db, "INSERT INTO PROCESSES VALUES (?, ?, ?)");
  core << p.globalPid.value << p.pid << p.name;
  StatementRow ours(w.db, fmt::format("INSERT OR REPLACE INTO WM_PROCESS VALUES ({})", placeholders(13)));
  const std::string argv = joinCommandLine(p.argv);
  ours << p.globalPid.value << p.pid << p.parentPid << p.name << argv << p.startNs << p.startUncertaintyNs
       << p.exitNs << p.exitHow << p.rank << p.cuptiVersion << p.cuptiPath << p.status;
  if (!remove.run() || !core.run() || !ours.run()) return w.error("write a process");
  return {};
}

Result<void> ProfileWriter::put(const GpuInfo& g) {
  Impl& w = *impl_;
  if (Result<void> r = w.refuseUnlessOpen(); !r) return r;
  if (Result<void> r = w.begin(); !r) return r;
  StatementRow remove(w.db, "DELETE FROM TARGET_INFO_GPU WHERE id = ?");
  remove << g.id;
  StatementRow core(w.db, fmt::format("INSERT INTO TARGET_INFO_GPU VALUES ({})", placeholders(41)));
  core << kVmId << g.id << g.name << g.busLocation << g.isDiscrete << g.l2CacheSize << g.totalMemory
       << g.memoryBandwidth << g.clockRate << g.smCount << /* pwGpuId */ g.id << g.uuid << /* luid */ kNull
       << g.chipName << g.cuDevice << /* ctxswDevPath, ctrlDevPath */ ""
       << "" << /* revision, nodeMask */ kNull << kNull << g.constantMemory << g.maxIpc
       << g.maxRegistersPerBlock << g.maxShmemPerBlock << g.maxShmemPerBlockOptin << g.maxShmemPerSm
       << g.maxRegistersPerSm << g.threadsPerWarp << g.asyncEngines << g.maxWarpsPerSm << g.maxBlocksPerSm
       << g.maxThreadsPerBlock << g.maxBlockDim[0] << g.maxBlockDim[1] << g.maxBlockDim[2] << g.maxGridDim[0]
       << g.maxGridDim[1] << g.maxGridDim[2] << g.computeMajor << g.computeMinor
       << /* smMajor, smMinor */ g.computeMajor << g.computeMinor;
  StatementRow ours(w.db, "INSERT OR REPLACE INTO WM_GPU_LIMIT VALUES (?, ?, ?, ?, ?)");
  ours << g.id << g.reservedShmemPerBlock << g.memoryClockHz << g.memoryBusBits << g.limitSource;
  if (!remove.run() || !core.run() || !ours.run()) return w.error("write a GPU");
  return {};
}

Result<void> ProfileWriter::put(const CudaDeviceInfo& d) {
  Impl& w = *impl_;
  if (Result<void> r = w.refuseUnlessOpen(); !r) return r;
  if (Result<void> r = w.begin(); !r) return r;
  StatementRow remove(w.db, "DELETE FROM TARGET_INFO_CUDA_DEVICE WHERE cudaId = ? AND pid = ?");
  remove << d.cudaId << d.pid;
  StatementRow row(w.db, "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, ?, ?)");
  row << d.gpuId << d.cudaId << d.pid << d.uuid << d.numMultiprocessors;
  if (!remove.run() || !row.run()) return w.error("write a CUDA device");
  return {};
}

}  // namespace warpmeter
