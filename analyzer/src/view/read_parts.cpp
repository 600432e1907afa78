// SPDX-License-Identifier: Apache-2.0
#include "src/view/read_parts.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "src/parallel.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::int64_t kRowsPerRange = 131'072;

constexpr std::int64_t orZero(std::int64_t v) { return isNull(v) ? 0 : v; }
template <class T>
constexpr T narrow(std::int64_t v) {
  return static_cast<T>(orZero(v));
}

class RowSink {
 public:
  RowSink(const ReadRequest& request, Part& part) : request_(request), part_(part) {
    part.source = request.source;
  }

  void add(const KernelRow& r, std::int64_t rowid) {
    if (!plausible(r.start, r.end)) return;
    const auto key =
        StreamKey{{orZero(r.globalPid), r.deviceId, r.contextId, orZero(r.greenContextId), r.streamId}};
    RawKernel raw{span(r.start, r.end, rowid), configOf(r), orZero(r.correlationId), orZero(r.graphNodeId)};
    part_.kernels.of(key).push_back(raw);
  }

  void add(const MemcpyRow& r, std::int64_t rowid) {
    if (!plausible(r.start, r.end)) return;
    const auto memory = [](std::int64_t kind) {
      return isNull(kind) ? static_cast<std::uint8_t>(MemoryKind::unknown) : static_cast<std::uint8_t>(kind);
    };
    const auto key =
        StreamKey{{orZero(r.globalPid), r.deviceId, r.contextId, orZero(r.greenContextId), r.streamId}};
    part_.copies.of(key).push_back({span(r.start, r.end, rowid), orZero(r.bytes), orZero(r.correlationId),
                                    narrow<std::uint8_t>(r.copyKind), memory(r.srcKind), memory(r.dstKind)});
  }

  void add(const MemsetRow& r, std::int64_t rowid) {
    if (!plausible(r.start, r.end)) return;
    const auto memory = isNull(r.memKind) ? static_cast<std::uint8_t>(MemoryKind::unknown)
                                          : static_cast<std::uint8_t>(r.memKind);
    const auto key =
        StreamKey{{orZero(r.globalPid), r.deviceId, r.contextId, orZero(r.greenContextId), r.streamId}};
    part_.copies.of(key).push_back({span(r.start, r.end, rowid), orZero(r.bytes), orZero(r.correlationId),
                                    static_cast<std::uint8_t>(CopyKind::memset), memory, memory});
  }

  void add(const ApiRow& r, std::int64_t rowid) {
    if (!plausible(r.start, r.end)) return;
    const std::int64_t correlation = orZero(r.correlationId);
    std::uint8_t flags = 0;
    if (r.eventClass == 1) flags |= ApiCalls::kDriver;
    if (orZero(r.returnValue) != 0) flags |= ApiCalls::kFailed;
    const ThreadKey key{{orZero(r.globalTid), correlation & ~std::int64_t{0xffffffff}}};
    part_.api.of(key).push_back({span(r.start, r.end, rowid), (*request_.strings)[r.nameId],
                                 static_cast<std::uint32_t>(correlation), flags});
  }

  void add(const NvtxRow& r, std::int64_t rowid) {
    constexpr std::int64_t kDomainCreate = 75;
    const NameId text = (*request_.strings)[r.textId];
    if (r.eventType == kDomainCreate) {
      part_.domains.push_back({processOf(GlobalTid{orZero(r.globalTid)}).value, orZero(r.domainId), text});
      return;
    }
    const bool mark = r.eventType == static_cast<std::int64_t>(NvtxKind::mark);
    const bool range = r.eventType == static_cast<std::int64_t>(NvtxKind::pushPop) ||
                       r.eventType == static_cast<std::int64_t>(NvtxKind::startEnd);
    if (isNull(r.start) || !(mark || range)) return;
    if (!plausible(r.start, mark ? kNull : r.end)) return;
    RawNvtx raw{span(r.start, mark ? r.start : r.end, rowid), text, narrow<std::uint32_t>(r.color),
                orZero(r.domainId), static_cast<std::uint8_t>(r.eventType)};
    if (range && isNull(r.end)) raw.end = kNull;
    part_.nvtx.of(ThreadKey{{orZero(r.globalTid), 0}}).push_back(raw);
  }

  void addUntimed(const KernelRow& r, std::int64_t rowid) {
    part_.untimed.push_back(
        {configOf(r), orZero(r.globalPid), orZero(r.correlationId), orZero(r.streamId), rowid});
  }

 private:
  // Damage in a file must be counted and must not become a bar that lasts a century. No end: it never ended.
  bool plausible(std::int64_t start, std::int64_t end) {
    const bool good = !isNull(start) && start > -kLatestNs && start < kLatestNs &&
                      (isNull(end) || (end >= start && end < kLatestNs));
    part_.implausible += good ? 0 : 1;
    return good;
  }

  RawSpan span(std::int64_t start, std::int64_t end, std::int64_t rowid) {
    const std::int64_t from = orZero(start) + request_.offsetNs;
    const std::int64_t to = isNull(end) ? from : end + request_.offsetNs;
    part_.minStart = std::min(part_.minStart, from);
    part_.maxEnd = std::max(part_.maxEnd, to);
    return {from, to, static_cast<std::uint32_t>(rowid)};
  }

  // Order: see Builder::configOf.
  std::uint32_t configOf(const KernelRow& r) {
    const ConfigKey key{{r.demangledName,
                         r.shortName,
                         r.mangledName,
                         r.gridX,
                         r.gridY,
                         r.gridZ,
                         r.blockX,
                         r.blockY,
                         r.blockZ,
                         orZero(r.clusterX),
                         orZero(r.clusterY),
                         orZero(r.clusterZ),
                         r.registersPerThread,
                         r.staticSharedMemory,
                         r.dynamicSharedMemory,
                         r.sharedMemoryExecuted,
                         r.sharedMemoryRequestedPercentage,
                         r.maxActiveClusters,
                         r.maxPotentialClusterSize,
                         orZero(r.localMemoryPerThread),
                         r.deviceId,
                         orZero(r.globalPid)}};
    if (!part_.configs.empty() && part_.configs[lastConfig_] == key) return lastConfig_;
    const auto [it, fresh] = configs_.try_emplace(key, static_cast<std::uint32_t>(part_.configs.size()));
    if (fresh) part_.configs.push_back(key);
    return lastConfig_ = it->second;
  }

  const ReadRequest& request_;
  Part& part_;
  std::unordered_map<ConfigKey, std::uint32_t, KeyHash<22>> configs_;
  std::uint32_t lastConfig_ = 0;
};

enum class Table { kernels, memcpys, memsets, api, nvtx };
struct Range {
  const ReadRequest* request;
  Table table;
  RowRange rows;
};

template <class Row>
Result<void> readRange(const Range& range, Part& part, const LoadOptions& options) {
  RowSink sink(*range.request, part);
  const ProfileReader::Visit<Row> visit = [&](std::span<const Row> rows,
                                              std::span<const std::int64_t> rowids) {
    for (std::size_t i = 0; i < rows.size(); ++i) sink.add(rows[i], rowids[i]);
  };
  if constexpr (std::is_same_v<Row, KernelRow>) return range.request->reader->readLaunches(range.rows, visit, options.stop);
  return range.request->reader->read(range.rows, visit, options.stop);
}

Result<void> readRange(const Range& range, Part& part, const LoadOptions& options) {
  switch (range.table) {
    case Table::kernels:
      return readRange<KernelRow>(range, part, options);
    case Table::memcpys:
      return readRange<MemcpyRow>(range, part, options);
    case Table::memsets:
      return readRange<MemsetRow>(range, part, options);
    case Table::api:
      return readRange<ApiRow>(range, part, options);
    case Table::nvtx:
      return readRange<NvtxRow>(range, part, options);
  }
  return {};
}

std::vector<Range> rangesOf(std::span<const ReadRequest> requests) {
  std::vector<Range> out;
  const auto cut = [&](const ReadRequest& request, Table table, std::int64_t from, std::int64_t to) {
    for (std::int64_t at = from; at < to; at += kRowsPerRange) {
      out.push_back({&request, table, {at, std::min(at + kRowsPerRange, to)}});
    }
  };
  for (const ReadRequest& r : requests) {
    if (has(r.tables, Tables::kernels)) cut(r, Table::kernels, r.from.kernels, r.to.kernels);
    if (has(r.tables, Tables::copies)) cut(r, Table::memcpys, r.from.memcpys, r.to.memcpys);
    if (has(r.tables, Tables::copies)) cut(r, Table::memsets, r.from.memsets, r.to.memsets);
    if (has(r.tables, Tables::api)) cut(r, Table::api, r.from.api, r.to.api);
    if (has(r.tables, Tables::nvtx)) cut(r, Table::nvtx, r.from.nvtx, r.to.nvtx);
  }
  return out;
}

}  // namespace

Result<StringMap> StringMap::of(const ProfileReader& reader, NameTable& names) {
  auto strings = reader.strings();
  if (!strings) return strings.error();
  StringMap map;
  const auto denseEnd = static_cast<std::int64_t>(strings->size()) * 4 + 1024;
  map.dense_.resize(static_cast<std::size_t>(denseEnd), 0);
  for (const StringEntry& entry : *strings) {
    const NameId id = names.intern(entry.text);
    if (entry.id >= 0 && entry.id < denseEnd) {
      map.dense_[static_cast<std::size_t>(entry.id)] = id;
    } else {
      map.sparse_.emplace(entry.id, id);
    }
  }
  return map;
}

NameId StringMap::operator[](std::int64_t fileId) const {
  if (fileId >= 0 && fileId < static_cast<std::int64_t>(dense_.size()))
    return dense_[static_cast<std::size_t>(fileId)];
  const auto known = sparse_.find(fileId);
  return known == sparse_.end() ? 0 : known->second;
}

Result<std::vector<Part>> readParts(std::span<const ReadRequest> requests, const LoadOptions& options) {
  const std::vector<Range> ranges = rangesOf(requests);
  std::vector<Part> parts(ranges.size());
  std::mutex mutex;
  std::optional<Error> error;
  std::size_t done = 0;
  std::atomic<bool> failed{false};
  parallelFor(ranges.size(), options.threads, [&](std::size_t i) {
    if (failed) return;
    auto result = readRange(ranges[i], parts[i], options);
    const std::lock_guard lock(mutex);
    if (!result && !error) {
      error = result.error();
      failed = true;
    }
    ++done;
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(ranges.size()));
  });
  if (error) return *error;
  if (options.stop.stop_requested()) return Error{ErrorKind::cancelled, "loading was cancelled"};
  return parts;
}

Result<Part> readUntimedPart(const ReadRequest& request, std::stop_token stop) {
  Part part;
  RowSink sink(request, part);
  const ProfileReader::Visit<KernelRow> visit = [&](std::span<const KernelRow> rows,
                                                    std::span<const std::int64_t> rowids) {
    for (std::size_t i = 0; i < rows.size(); ++i) sink.addUntimed(rows[i], rowids[i]);
  };
  if (auto ok = request.reader->readUntimed({}, visit, stop); !ok) return ok.error();
  return part;
}

}  // namespace warpmeter::analyzer
