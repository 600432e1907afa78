// SPDX-License-Identifier: Apache-2.0
#include "src/view/builder.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "src/view/lane_columns.h"

namespace warpmeter::analyzer {
namespace {

bool isRealUuid(const std::string& uuid) { return uuid.find_first_not_of("0-") != std::string::npos; }

std::int64_t orZero(std::int64_t v) { return isNull(v) ? 0 : v; }

}  // namespace

Builder::Builder(const ProfileView::Data* base)
    : data_(base ? std::make_shared<ProfileView::Data>(*base) : std::make_shared<ProfileView::Data>()) {
  for (std::uint32_t i = 0; i < data_->streams.size(); ++i) {
    const StreamLane& l = data_->streams[i];
    streamIndex_[{l.process, l.gpu, l.contextId, l.greenContextId, l.streamId}] = i;
  }
  for (std::uint32_t i = 0; i < data_->threads.size(); ++i) {
    const ThreadLane& l = data_->threads[i];
    threadIndex_[{l.process, l.globalTid, l.api.correlationHigh}] = i;
  }
  if (data_->range.lengthNs() > 0) {
    minStart_ = data_->range.beginNs;
    maxEnd_ = data_->range.endNs;
  }
}

Result<void> Builder::openSources(const std::vector<ProfileView::Reader>& readers) {
  data_->sources.resize(readers.size());
  data_->index.read.resize(readers.size());
  data_->index.offsetNs.resize(readers.size(), 0);
  data_->losses.clear();
  data_->selfCosts.clear();
  data_->marks.clear();
  devices_.resize(readers.size());
  for (std::uint32_t i = 0; i < readers.size(); ++i) {
    data_->sources[i].reader = readers[i];
    auto strings = StringMap::of(*readers[i], data_->names);
    if (!strings) return strings.error();
    strings_.push_back(std::move(*strings));
    if (auto ok = readSmallTables(i, *readers[i]); !ok) return ok;
  }
  std::ranges::stable_sort(data_->marks, {}, &ViewMark::timeNs);
  return {};
}

Result<void> Builder::readSmallTables(std::uint32_t source, const ProfileReader& reader) {
  auto session = reader.session();
  if (!session) return session.error();
  ViewSource& s = data_->sources[source];
  s.session = std::move(*session);
  s.unfinished = reader.unfinished();
  const SessionInfo& first = data_->sources.front().session;
  if (!isNull(s.session.utcEpochNs) && !isNull(first.utcEpochNs)) {
    data_->index.offsetNs[source] = s.session.utcEpochNs - first.utcEpochNs;
  }

  auto processes = reader.processes();
  if (!processes) return processes.error();
  const std::int64_t offset = data_->index.offsetNs[source];
  for (ProcessInfo& info : *processes) {
    for (std::int64_t* t : {&info.startNs, &info.exitNs}) {
      if (!isNull(*t)) *t += offset;
    }
    data_->processes[processOf(source, info.globalPid.value)].info = std::move(info);
  }
  auto gpus = reader.gpus();
  if (!gpus) return gpus.error();
  addGpus(source, *gpus);
  auto devices = reader.cudaDevices();
  if (!devices) return devices.error();
  devices_[source] = std::move(*devices);
  auto threads = reader.threads();
  if (!threads) return threads.error();
  for (const ThreadInfo& t : *threads) threadNames_[t.globalTid.value] = data_->names.intern(t.name);
  auto losses = reader.losses();
  if (!losses) return losses.error();
  data_->losses.insert(data_->losses.end(), losses->begin(), losses->end());
  auto costs = reader.selfCosts();
  if (!costs) return costs.error();
  data_->selfCosts.insert(data_->selfCosts.end(), costs->begin(), costs->end());
  return readMarks(source, reader);
}

Result<void> Builder::readMarks(std::uint32_t source, const ProfileReader& reader) {
  const std::int64_t offset = data_->index.offsetNs[source];
  const ProfileReader::Visit<MarkRow> visit = [&](std::span<const MarkRow> rows, std::span<const std::int64_t>) {
    for (const MarkRow& r : rows) {
      data_->marks.push_back({orZero(r.t) + offset, static_cast<MarkKind>(orZero(r.kind)),
                              processOfThread(source, r.globalTid), r.globalTid, r.contextId, r.moduleId, r.bytes});
    }
  };
  return reader.read({}, visit);
}

void Builder::addGpus(std::uint32_t source, const std::vector<GpuInfo>& gpus) {
  for (const GpuInfo& info : gpus) {
    // One GPU seen by several files of one host is one GPU.
    auto known = std::ranges::find_if(data_->gpus, [&](const ViewGpu& g) {
      if (g.source == source) return g.info.id == info.id;
      return isRealUuid(info.uuid) && g.info.uuid == info.uuid;
    });
    if (known == data_->gpus.end()) known = data_->gpus.insert(data_->gpus.end(), ViewGpu{{}, source, true});
    known->info = info;
    known->described = true;
    gpuIds_[{source, info.id}] = static_cast<std::uint32_t>(known - data_->gpus.begin());
  }
}

std::uint32_t Builder::processOf(std::uint32_t source, std::int64_t globalPid) {
  const auto [it, fresh] = data_->index.processes.try_emplace({source, globalPid},
                                                              static_cast<std::uint32_t>(data_->processes.size()));
  if (fresh) {
    ViewProcess process;
    process.source = source;
    process.info.globalPid = GlobalPid{globalPid};
    process.info.pid = pidOf(GlobalPid{globalPid});
    data_->processes.push_back(std::move(process));
  }
  return it->second;
}

std::uint32_t Builder::processOfThread(std::uint32_t source, std::int64_t globalTid) {
  return isNull(globalTid) ? kNone : processOf(source, warpmeter::processOf(GlobalTid{globalTid}).value);
}

std::uint32_t Builder::gpuOf(std::uint32_t source, std::int64_t globalPid, std::int64_t deviceId) {
  const std::int64_t pid = pidOf(GlobalPid{globalPid});
  const auto key = std::tuple{source, pid, deviceId};
  if (const auto known = data_->index.gpus.find(key); known != data_->index.gpus.end()) return known->second;
  const std::uint32_t gpu = findGpu(source, pid, deviceId);
  data_->index.gpus.emplace(key, gpu);
  return gpu;
}

// deviceId is the process's CUDA ordinal. Files that map ordinals to GPUs are followed; otherwise it is
// cuDevice where the file has that, else TARGET_INFO_GPU.id, else a GPU of which only the number is known.
std::uint32_t Builder::findGpu(std::uint32_t source, std::int64_t pid, std::int64_t deviceId) {
  for (const CudaDeviceInfo& d : devices_[source]) {
    if (d.pid != pid || d.cudaId != deviceId) continue;
    if (const auto it = gpuIds_.find({source, d.gpuId}); it != gpuIds_.end()) return it->second;
  }
  for (std::uint32_t i = 0; i < data_->gpus.size(); ++i) {
    const ViewGpu& g = data_->gpus[i];
    if (g.source == source && g.described && !isNull(g.info.cuDevice) && g.info.cuDevice == deviceId) return i;
  }
  if (const auto it = gpuIds_.find({source, deviceId}); it != gpuIds_.end()) return it->second;
  ViewGpu gpu;
  gpu.info.id = deviceId;
  gpu.source = source;
  data_->gpus.push_back(gpu);
  const auto index = static_cast<std::uint32_t>(data_->gpus.size() - 1);
  gpuIds_[{source, deviceId}] = index;
  return index;
}

std::uint32_t Builder::functionOf(NameId mangled, NameId demangled, NameId shortName) {
  const NameId key = mangled != 0 ? mangled : demangled != 0 ? demangled : shortName;
  const auto [it, fresh] =
      data_->index.functions.try_emplace(key, static_cast<std::uint32_t>(data_->functions.size()));
  if (fresh) data_->functions.push_back({key, demangled != 0 ? demangled : key, shortName});
  return it->second;
}

std::uint32_t Builder::configOf(std::uint32_t source, const ConfigKey& key) {
  const auto& v = key.v;
  const StringMap& names = strings_[source];
  const std::uint32_t gpu = gpuOf(source, v[21], v[20]);
  // GPUs of one model share their distinct kernels; a GPU without a name is a model of its own.
  const std::string& model = data_->gpus[gpu].info.name;
  const std::int64_t modelKey = model.empty() ? -1 - std::int64_t{gpu} : data_->names.intern(model);
  const std::uint32_t function = functionOf(names[v[2]], names[v[0]], names[v[1]]);
  Key<19> global;
  global.v[0] = function;
  global.v[1] = modelKey;
  std::copy_n(v.begin() + 3, 17, global.v.begin() + 2);
  const auto [it, fresh] =
      data_->index.configs.try_emplace(global, static_cast<std::uint32_t>(data_->configs.size()));
  if (!fresh) return it->second;
  LaunchConfig c;
  c.function = function;
  c.gpu = gpu;
  for (int i = 0; i < 3; ++i) {
    c.grid[i] = static_cast<std::int32_t>(isNull(v[3 + i]) ? 1 : v[3 + i]);
    c.block[i] = static_cast<std::int32_t>(isNull(v[6 + i]) ? 1 : v[6 + i]);
    c.cluster[i] = static_cast<std::int32_t>(v[9 + i]);
  }
  c.registers = static_cast<std::int32_t>(orZero(v[12]));
  c.staticShared = orZero(v[13]);
  c.dynamicShared = orZero(v[14]);
  c.executedShared = v[15];
  c.carveoutPct = v[16];
  c.maxActiveClusters = v[17];
  c.maxPotentialClusterSize = v[18];
  c.localPerThread = v[19];
  data_->configs.push_back(c);
  return it->second;
}

std::uint16_t Builder::domainOf(std::uint32_t source, std::int64_t globalPid, std::int64_t domainId) {
  const auto it = data_->index.domains.find({source, globalPid, domainId});
  return it == data_->index.domains.end() ? 0 : it->second;
}

Result<void> Builder::readTables(Tables wanted, const LoadOptions& options) {
  std::vector<ReadRequest> requests;
  for (std::uint32_t i = 0; i < data_->sources.size(); ++i) {
    const ProfileReader& reader = *data_->sources[i].reader;
    ReadRequest r{&reader, &strings_[i], i, data_->index.offsetNs[i], wanted, data_->index.read[i], {}};
    r.to = {reader.rowEnd<KernelRow>(), reader.rowEnd<MemcpyRow>(), reader.rowEnd<MemsetRow>(),
            reader.rowEnd<ApiRow>(), reader.rowEnd<NvtxRow>()};
    requests.push_back(r);
  }
  auto parts = readParts(requests, options);
  if (!parts) return parts.error();
  if (has(wanted, Tables::kernels)) {
    data_->untimed.clear();
    for (const ReadRequest& r : requests) {
      auto part = readUntimedPart(r, options.stop);
      if (!part) return part.error();
      part->source = r.source;
      parts->push_back(std::move(*part));
    }
  }

  std::vector<std::vector<std::uint32_t>> configs(parts->size());
  for (std::size_t p = 0; p < parts->size(); ++p) {
    Part& part = (*parts)[p];
    if (part.minStart <= part.maxEnd) {
      minStart_ = std::min(minStart_, part.minStart);
      maxEnd_ = std::max(maxEnd_, part.maxEnd);
    }
    for (const ConfigKey& key : part.configs) configs[p].push_back(configOf(part.source, key));
    for (const NvtxDomain& d : part.domains) {
      const auto known = std::ranges::find(data_->domains, d.name);
      const auto index = static_cast<std::uint16_t>(known - data_->domains.begin());
      if (known == data_->domains.end()) data_->domains.push_back(d.name);
      data_->index.domains[{part.source, d.globalPid, d.domainId}] = index;
    }
    for (const Part::Untimed& u : part.untimed) {
      data_->untimed.push_back({configs[p][u.config], processOf(part.source, u.globalPid),
                                gpuOf(part.source, u.globalPid, part.configs[u.config].v[20]), u.correlation,
                                u.streamId, u.rowid});
    }
  }
  mergeStreams(*parts, configs);
  mergeThreads(*parts);
  for (const ReadRequest& r : requests) {
    RowsRead& read = data_->index.read[r.source];
    if (has(wanted, Tables::kernels)) read.kernels = r.to.kernels;
    if (has(wanted, Tables::copies)) read.memcpys = r.to.memcpys, read.memsets = r.to.memsets;
    if (has(wanted, Tables::api)) read.api = r.to.api;
    if (has(wanted, Tables::nvtx)) read.nvtx = r.to.nvtx;
  }
  data_->tables = data_->tables | wanted;
  return has(wanted, Tables::overheads) ? readOverheads(options) : Result<void>{};
}

Result<void> Builder::readOverheads(const LoadOptions& options) {
  data_->overheads.clear();
  for (std::uint32_t i = 0; i < data_->sources.size(); ++i) {
    const std::int64_t offset = data_->index.offsetNs[i];
    const ProfileReader::Visit<OverheadRow> visit = [&](std::span<const OverheadRow> rows,
                                                        std::span<const std::int64_t>) {
      for (const OverheadRow& r : rows) {
        data_->overheads.push_back({orZero(r.start) + offset, orZero(r.end) + offset, orZero(r.correlationId),
                                    r.globalTid, orZero(r.overheadType), processOfThread(i, r.globalTid),
                                    strings_[i][r.nameId]});
      }
    };
    if (auto ok = data_->sources[i].reader->read({}, visit, options.stop); !ok) return ok;
  }
  std::ranges::stable_sort(data_->overheads, {}, &ViewOverhead::startNs);
  return {};
}

StreamLane& Builder::streamLane(std::uint32_t source, const StreamKey& key) {
  const std::uint32_t process = processOf(source, key.v[0]);
  const std::uint32_t gpu = gpuOf(source, key.v[0], key.v[1]);
  const auto [it, fresh] = streamIndex_.try_emplace({process, gpu, key.v[2], key.v[3], key.v[4]},
                                                    static_cast<std::uint32_t>(data_->streams.size()));
  if (fresh) data_->streams.push_back({process, gpu, key.v[2], key.v[3], key.v[4], {}, {}});
  return data_->streams[it->second];
}

ThreadLane& Builder::threadLane(std::uint32_t source, const ThreadKey& key) {
  const std::int64_t tid = key.v[0];
  const std::uint32_t process = processOf(source, warpmeter::processOf(GlobalTid{tid}).value);
  const auto [it, fresh] =
      threadIndex_.try_emplace({process, tid, key.v[1]}, static_cast<std::uint32_t>(data_->threads.size()));
  if (fresh) {
    ThreadLane lane;
    lane.process = process;
    lane.globalTid = tid;
    lane.api.correlationHigh = key.v[1];
    data_->threads.push_back(std::move(lane));
  }
  return data_->threads[it->second];
}

namespace {

// All rows of one lane from all parts, moved into one array. Parts come in order of rowids.
template <class K, class Raw>
class Gathered {
 public:
  void take(std::uint32_t source, LaneRows<K, Raw>& lanes) {
    for (std::size_t i = 0; i < lanes.keys.size(); ++i) {
      auto& rows = byKey_[{source, lanes.keys[i].v}];
      if (rows.empty()) {
        rows = std::move(lanes.rows[i]);
      } else {
        rows.insert(rows.end(), lanes.rows[i].begin(), lanes.rows[i].end());
      }
      lanes.rows[i] = {};
    }
  }
  template <class Visit>
  void each(Visit visit) {
    for (auto& [key, rows] : byKey_) visit(key.first, K{key.second}, std::move(rows));
  }

 private:
  std::map<std::pair<std::uint32_t, decltype(K::v)>, std::vector<Raw>> byKey_;
};

}  // namespace

void Builder::mergeStreams(std::vector<Part>& parts, const std::vector<std::vector<std::uint32_t>>& configs) {
  Gathered<StreamKey, RawKernel> kernels;
  Gathered<StreamKey, RawCopy> copies;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (auto& rows : parts[p].kernels.rows) {
      for (RawKernel& row : rows) row.config = configs[p][row.config];
    }
    kernels.take(parts[p].source, parts[p].kernels);
    copies.take(parts[p].source, parts[p].copies);
  }
  kernels.each([&](std::uint32_t source, const StreamKey& key, std::vector<RawKernel> rows) {
    extend(streamLane(source, key).kernels, std::move(rows));
  });
  copies.each([&](std::uint32_t source, const StreamKey& key, std::vector<RawCopy> rows) {
    extend(streamLane(source, key).copies, std::move(rows));
  });
}

void Builder::mergeThreads(std::vector<Part>& parts) {
  Gathered<ThreadKey, RawApi> api;
  Gathered<ThreadKey, RawNvtx> nvtx;
  for (Part& part : parts) {
    api.take(part.source, part.api);
    nvtx.take(part.source, part.nvtx);
  }
  api.each([&](std::uint32_t source, const ThreadKey& key, std::vector<RawApi> rows) {
    extend(threadLane(source, key).api, std::move(rows));
  });
  nvtx.each([&](std::uint32_t source, ThreadKey key, std::vector<RawNvtx> rows) {
    // NVTX rows carry no correlation id: they join the thread's first API lane.
    const std::uint32_t process = processOf(source, warpmeter::processOf(GlobalTid{key.v[0]}).value);
    const auto lane = threadIndex_.lower_bound({process, key.v[0], INT64_MIN});
    if (lane != threadIndex_.end() && std::get<0>(lane->first) == process && std::get<1>(lane->first) == key.v[0]) {
      key.v[1] = std::get<2>(lane->first);
    }
    for (RawNvtx& row : rows) {
      if (isNull(row.end)) row.end = std::max(row.start, maxEnd_);
      row.domain = domainOf(source, warpmeter::processOf(GlobalTid{key.v[0]}).value, row.domain);
    }
    extend(threadLane(source, key).nvtx, std::move(rows));
  });
}

void Builder::nameThreads() {
  for (ThreadLane& lane : data_->threads) {
    if (const auto it = threadNames_.find(lane.globalTid); it != threadNames_.end()) lane.name = it->second;
  }
}

void Builder::foldDistinct() {
  using Dims = std::array<std::int64_t, 3>;
  using DistinctKey = std::tuple<std::uint32_t, std::int64_t, Dims, Dims, Dims, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t>;
  const auto dims = [](const std::int32_t (&d)[3]) { return Dims{d[0], d[1], d[2]}; };
  const auto modelOf = [&](const LaunchConfig& c) {
    const std::string& name = data_->gpus[c.gpu].info.name;
    return name.empty() ? -1 - std::int64_t{c.gpu} : std::int64_t{data_->names.find(name)};
  };
  const auto keyOf = [&](const LaunchConfig& c, const Dims& grid) {
    return DistinctKey{c.function, modelOf(c), grid, dims(c.block), dims(c.cluster), c.registers, c.staticShared,
                       c.dynamicShared, c.executedShared};
  };
  std::vector<std::set<DistinctKey>> perFunction(data_->functions.size());
  for (const LaunchConfig& c : data_->configs) perFunction[c.function].insert(keyOf(c, dims(c.grid)));

  data_->distinct.clear();
  std::map<DistinctKey, std::uint32_t> known;
  for (std::uint32_t i = 0; i < data_->configs.size(); ++i) {
    LaunchConfig& c = data_->configs[i];
    const bool joined = perFunction[c.function].size() > kMaxDistinctPerFunction;
    Dims grid = dims(c.grid);
    if (joined) {
      for (std::int64_t& n : grid) n = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    }
    const auto [it, fresh] = known.try_emplace(keyOf(c, grid), static_cast<std::uint32_t>(data_->distinct.size()));
    if (fresh) {
      DistinctKernel d{c.function, i, {}, joined};
      for (int k = 0; k < 3; ++k) d.grid[k] = static_cast<std::int32_t>(grid[k]);
      data_->distinct.push_back(d);
    }
    c.distinct = it->second;
  }
}

void Builder::measureRange() {
  const auto widen = [&](std::int64_t t) {
    if (isNull(t)) return;
    minStart_ = std::min(minStart_, t);
    maxEnd_ = std::max(maxEnd_, t);
  };
  for (const ViewProcess& p : data_->processes) {
    widen(p.info.startNs);
    widen(p.info.exitNs);
  }
  for (const ViewMark& m : data_->marks) widen(m.timeNs);
  data_->range = minStart_ <= maxEnd_ ? ProfileView::TimeRange{minStart_, maxEnd_} : ProfileView::TimeRange{};
}

std::shared_ptr<const ProfileView::Data> Builder::finish() {
  nameThreads();
  foldDistinct();
  measureRange();
  const auto streamKey = [](const StreamLane& l) {
    return std::tuple{l.process, l.gpu, l.contextId, l.greenContextId, l.streamId};
  };
  std::ranges::sort(data_->streams, {}, streamKey);
  std::ranges::sort(data_->threads, {}, [](const ThreadLane& l) {
    return std::tuple{l.process, l.globalTid, l.api.correlationHigh};
  });
  return data_;
}

}  // namespace warpmeter::analyzer
