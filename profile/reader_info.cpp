// SPDX-License-Identifier: Apache-2.0
// The tables with few rows: session, processes, GPUs, and what nsys files of all ages have in their place.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "quoting.h"
#include "reader_impl.h"

namespace warpmeter {

namespace {

// Exports write 0 where a limit was not known; no limit of a GPU is 0.
std::int64_t positiveOrNull(std::int64_t value) { return value > 0 ? value : kNull; }

std::string withoutZeroUuid(std::string uuid) {
  return uuid.find_first_not_of("0-") == std::string::npos ? std::string() : uuid;
}

}  // namespace

std::string ProfileReader::Impl::select(const char* table, std::initializer_list<const char*> names) const {
  std::string sql;
  for (const char* name : names) sql += (sql.empty() ? "SELECT " : ", ") + column(table, name);
  return sql + " FROM " + table;
}

Result<SessionInfo> ProfileReader::session() const {
  SessionInfo s;
  const Impl& impl = *impl_;
  if (kind() == FileKind::warpmeter) {
    const auto take = [&](const Statement& row) {
      s.utcEpochNs = row.integer(0);
      s.monotonicNs = row.integer(1);
      s.boottimeNs = row.integer(2);
      s.startedNs = row.integer(3);
      s.endedNs = row.integer(4);
      s.endedHow = row.text(5);
      s.hostname = row.text(6);
      s.warpmeterVersion = row.text(7);
      s.driverVersion = row.text(8);
      s.counters = row.text(9);
      s.nvtxRequested = row.integer(10) == 1;
      s.apiMode = row.text(11);
      s.countersText = row.text(12);
    };
    const std::string sql = impl.select(
        "WM_SESSION", {"utcEpochNs", "monotonicNs", "boottimeNs", "started", "ended", "endedHow", "hostname",
                       "warpmeterVersion", "driverVersion", "counters", "nvtxRequested", "apiMode", "countersText"});
    if (const Result<void> read = impl_->forEach(sql, take); !read) return read.error();
    return s;
  }
  if (impl.hasTable("TARGET_INFO_SESSION_START_TIME")) {
    const Result<void> read = impl_->forEach(impl.select("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}),
                                             [&](const Statement& row) { s.utcEpochNs = row.integer(0); });
    if (!read) return read.error();
  }
  if (impl.hasTable("ANALYSIS_DETAILS")) {
    const Result<void> read = impl_->forEach(impl.select("ANALYSIS_DETAILS", {"duration"}),
                                             [&](const Statement& row) { s.endedNs = row.integer(0); });
    if (!read) return read.error();
  }
  if (impl.hasColumn("TARGET_INFO_SYSTEM_ENV", "name") && impl.hasColumn("TARGET_INFO_SYSTEM_ENV", "value")) {
    const Result<void> read =
        impl_->forEach("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'NvDriverVersion'",
                       [&](const Statement& row) { s.driverVersion = row.text(0); });
    if (!read) return read.error();
  }
  s.counters = "not_recorded";
  s.nvtxRequested = impl.hasTable("NVTX_EVENTS");
  return s;
}

namespace {

ProcessInfo ownProcess(const Statement& row) {
  ProcessInfo p;
  p.globalPid = GlobalPid{row.integer(0)};
  p.pid = row.integer(1);
  p.parentPid = row.integer(2);
  p.name = row.text(3);
  p.argv = splitCommandLine(row.text(4));
  p.startNs = row.integer(5);
  p.startUncertaintyNs = row.integer(6);
  p.exitNs = row.integer(7);
  p.exitHow = row.text(8);
  p.rank = row.integer(9);
  p.cuptiVersion = row.integer(10);
  p.cuptiPath = row.text(11);
  p.status = row.text(12);
  return p;
}

}  // namespace

Result<std::vector<ProcessInfo>> ProfileReader::processes() const {
  std::vector<ProcessInfo> result;
  if (kind() == FileKind::warpmeter) {
    const std::string sql = impl_->select(
        "WM_PROCESS", {"globalPid", "pid", "parentPid", "name", "argv", "start", "startUncertainty", "exit",
                       "how", "rank", "cuptiVersion", "cuptiPath", "status"});
    const Result<void> read = impl_->forEach(
        sql + " ORDER BY rowid", [&](const Statement& row) { result.push_back(ownProcess(row)); });
    if (!read) return read.error();
    return result;
  }
  return impl_->importedProcesses();
}

// Every process that has rows; names from PROCESSES, else from the main thread.
Result<std::vector<ProcessInfo>> ProfileReader::Impl::importedProcesses() {
  std::string sql;
  const auto add = [&](const char* table, const char* name, const char* expression) {
    if (!hasColumn(table, name)) return;
    sql += fmt::format("{}SELECT {} AS g FROM {} WHERE {} IS NOT NULL", sql.empty() ? "" : " UNION ",
                       expression, table, name);
  };
  add("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", "globalPid");
  add("CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid", "globalPid");
  add("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", "globalTid & ~0xffffff");
  if (sql.empty()) return std::vector<ProcessInfo>();
  std::vector<ProcessInfo> result;
  const Result<void> read = forEach(sql + " ORDER BY g", [&](const Statement& row) {
    ProcessInfo p;
    p.globalPid = GlobalPid{row.integer(0)};
    p.pid = pidOf(p.globalPid);
    p.status = "recorded";
    result.push_back(p);
  });
  if (!read) return read.error();
  const auto name = [&](const Statement& row) {
    for (ProcessInfo& p : result) {
      if (p.globalPid.value == row.integer(0)) p.name = row.text(1);
    }
  };
  if (hasColumn("ThreadNames", "globalTid") && hasTable("StringIds")) {
    const Result<void> named = forEach(
        "SELECT globalTid & ~0xffffff, value FROM ThreadNames JOIN StringIds ON id = nameId "
        "WHERE globalTid & 0xffffff = globalTid >> 24 & 0xffffff",
        name);
    if (!named) return named.error();
  }
  if (hasColumn("PROCESSES", "globalPid") && hasColumn("PROCESSES", "name")) {
    const Result<void> named = forEach("SELECT globalPid, name FROM PROCESSES WHERE name IS NOT NULL", name);
    if (!named) return named.error();
  }
  return result;
}

namespace {

constexpr const char* kGpuTextColumns[] = {"name", "busLocation", "uuid", "chipName"};
constexpr const char* kGpuLimitColumns[] = {"l2CacheSize",
                                            "totalMemory",
                                            "memoryBandwidth",
                                            "clockRate",
                                            "smCount",
                                            "constantMemory",
                                            "maxIPC",
                                            "maxRegistersPerBlock",
                                            "maxShmemPerBlock",
                                            "maxShmemPerBlockOptin",
                                            "maxShmemPerSm",
                                            "maxRegistersPerSm",
                                            "threadsPerWarp",
                                            "asyncEngines",
                                            "maxWarpsPerSm",
                                            "maxBlocksPerSm",
                                            "maxThreadsPerBlock",
                                            "maxBlockDimX",
                                            "maxBlockDimY",
                                            "maxBlockDimZ",
                                            "maxGridDimX",
                                            "maxGridDimY",
                                            "maxGridDimZ",
                                            "computeMajor"};

// In the order of kGpuLimitColumns.
std::vector<std::int64_t*> limitFields(GpuInfo& g) {
  return {&g.l2CacheSize,
          &g.totalMemory,
          &g.memoryBandwidth,
          &g.clockRate,
          &g.smCount,
          &g.constantMemory,
          &g.maxIpc,
          &g.maxRegistersPerBlock,
          &g.maxShmemPerBlock,
          &g.maxShmemPerBlockOptin,
          &g.maxShmemPerSm,
          &g.maxRegistersPerSm,
          &g.threadsPerWarp,
          &g.asyncEngines,
          &g.maxWarpsPerSm,
          &g.maxBlocksPerSm,
          &g.maxThreadsPerBlock,
          &g.maxBlockDim[0],
          &g.maxBlockDim[1],
          &g.maxBlockDim[2],
          &g.maxGridDim[0],
          &g.maxGridDim[1],
          &g.maxGridDim[2],
          &g.computeMajor};
}

}  // namespace

// Fills what `table` knows of the GPUs in `result`, and adds GPUs that are not there yet.
Result<void> ProfileReader::Impl::readGpus(const char* table, std::vector<GpuInfo>& result) {
  if (!hasTable(table)) return {};
  // The oldest exports call the id deviceId.
  const char* id = hasColumn(table, "id") ? "id" : hasColumn(table, "gpuId") ? "gpuId" : "deviceId";
  if (!hasColumn(table, id)) return {};
  std::string sql = fmt::format("SELECT {}", id);
  for (const char* name : {"cuDevice", "isDiscrete", "computeMinor"}) sql += ", " + column(table, name);
  for (const char* name : kGpuTextColumns) sql += ", " + column(table, name);
  for (const char* name : kGpuLimitColumns) sql += ", " + column(table, name);
  return forEach(fmt::format("{} FROM {} ORDER BY 1", sql, table), [&](const Statement& row) {
    auto g = std::find_if(result.begin(), result.end(),
                          [&](const GpuInfo& gpu) { return gpu.id == row.integer(0); });
    if (g == result.end()) {
      g = result.insert(result.end(), GpuInfo{});
      g->id = row.integer(0);
    }
    if (!isNull(row.integer(1))) g->cuDevice = row.integer(1);
    if (!isNull(row.integer(2))) g->isDiscrete = row.integer(2);
    if (!isNull(row.integer(3))) g->computeMinor = row.integer(3);
    int column = 4;
    for (std::string* text : {&g->name, &g->busLocation, &g->uuid, &g->chipName}) {
      if (std::string value = row.text(column++); !value.empty()) *text = std::move(value);
    }
    for (std::int64_t* field : limitFields(*g)) {
      if (const std::int64_t value = positiveOrNull(row.integer(column++)); !isNull(value)) *field = value;
    }
    g->uuid = withoutZeroUuid(g->uuid);
  });
}

Result<std::vector<GpuInfo>> ProfileReader::gpus() const {
  std::vector<GpuInfo> result;
  for (const char* table : {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"}) {
    if (const Result<void> read = impl_->readGpus(table, result); !read) return read.error();
  }
  if (!impl_->hasTable("WM_GPU_LIMIT")) return result;
  const auto take = [&](const Statement& row) {
    for (GpuInfo& g : result) {
      if (g.id != row.integer(0)) continue;
      g.reservedShmemPerBlock = row.integer(1);
      g.memoryClockHz = row.integer(2);
      g.memoryBusBits = row.integer(3);
      g.limitSource = row.text(4);
    }
  };
  const Result<void> read = impl_->forEach(
      impl_->select("WM_GPU_LIMIT",
                    {"gpuId", "reservedShmemPerBlock", "memoryClockHz", "memoryBusBits", "limitSource"}),
      take);
  if (!read) return read.error();
  return result;
}

Result<std::vector<CudaDeviceInfo>> ProfileReader::cudaDevices() const {
  std::vector<CudaDeviceInfo> result;
  if (!impl_->hasTable("TARGET_INFO_CUDA_DEVICE")) return result;
  const Result<void> read = impl_->forEach(
      impl_->select("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"}),
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.integer(2), row.text(3), row.integer(4)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<StreamRow>> ProfileReader::streams() const {
  std::vector<StreamRow> result;
  if (!impl_->hasTable("TARGET_INFO_CUDA_STREAM")) return result;
  const Result<void> read = impl_->forEach(
      impl_->select("TARGET_INFO_CUDA_STREAM", {"streamId", "processId", "contextId", "priority", "flag"}),
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<ContextRow>> ProfileReader::contexts() const {
  std::vector<ContextRow> result;
  const auto take = [&](const Statement& row) {
    result.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                      row.integer(5), row.integer(6)});
  };
  if (impl_->hasTable("TARGET_INFO_CUDA_CONTEXT_INFO")) {
    const Result<void> read =
        impl_->forEach(impl_->select("TARGET_INFO_CUDA_CONTEXT_INFO",
                                     {"nullStreamId", "processId", "deviceId", "contextId", "parentContextId",
                                      "isGreenContext", "numMultiprocessors"}),
                       take);
    if (!read) return read.error();
  } else if (impl_->hasTable("TARGET_INFO_CUDA_NULL_STREAM")) {  // before schema 3.7.2
    const Result<void> read =
        impl_->forEach(impl_->select("TARGET_INFO_CUDA_NULL_STREAM",
                                     {"streamId", "processId", "deviceId", "contextId", "parentContextId",
                                      "isGreenContext", "numMultiprocessors"}),
                       take);
    if (!read) return read.error();
  }
  return result;
}

Result<std::vector<ThreadInfo>> ProfileReader::threads() const {
  std::vector<ThreadInfo> result;
  if (!impl_->hasColumn("ThreadNames", "globalTid") || !impl_->hasTable("StringIds")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT globalTid, value FROM ThreadNames LEFT JOIN StringIds ON id = nameId WHERE globalTid IS NOT "
      "NULL",
      [&](const Statement& row) {
        result.push_back({GlobalTid{row.integer(0)}, row.text(1)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<LossInfo>> ProfileReader::losses() const {
  std::vector<LossInfo> result;
  if (!impl_->hasTable("WM_LOSS")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT k.value, w.value, count, fromNs, toNs, globalPid FROM WM_LOSS LEFT JOIN StringIds AS k ON k.id "
      "= kind "
      "LEFT JOIN StringIds AS w ON w.id = why ORDER BY WM_LOSS.rowid",
      [&](const Statement& row) {
        result.push_back({row.text(0), row.text(1), row.integer(2), row.integer(3), row.integer(4),
                          GlobalPid{row.integer(5)}});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<SelfCostInfo>> ProfileReader::selfCosts() const {
  std::vector<SelfCostInfo> result;
  if (!impl_->hasTable("WM_SELF_COST")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT value, ns, count, globalPid FROM WM_SELF_COST LEFT JOIN StringIds ON id = what "
      "ORDER BY WM_SELF_COST.rowid",
      [&](const Statement& row) {
        result.push_back({row.text(0), row.integer(1), row.integer(2), GlobalPid{row.integer(3)}});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<ClockRow>> ProfileReader::clocks() const {
  std::vector<ClockRow> result;
  if (!impl_->hasTable("WM_CLOCK")) return result;
  const Result<void> read = impl_->forEach(
      impl_->select("WM_CLOCK", {"realtimeNs", "monotonicNs", "boottimeNs"}), [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.integer(2)});
      });
  if (!read) return read.error();
  return result;
}

}  // namespace warpmeter
