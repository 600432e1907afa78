// SPDX-License-Identifier: Apache-2.0
// The small tables of the sources, and who is who: processes and GPUs.
#include <algorithm>
#include <tuple>

#include "src/view/builder.h"

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
  for (LossInfo& loss : *losses) {
    for (std::int64_t* t : {&loss.fromNs, &loss.toNs}) {
      if (!isNull(*t)) *t += offset;
    }
    data_->losses.push_back(std::move(loss));
  }
  auto costs = reader.selfCosts();
  if (!costs) return costs.error();
  data_->selfCosts.insert(data_->selfCosts.end(), costs->begin(), costs->end());
  return readMarks(source, reader);
}

Result<void> Builder::readMarks(std::uint32_t source, const ProfileReader& reader) {
  const std::int64_t offset = data_->index.offsetNs[source];
  const ProfileReader::Visit<MarkRow> visit = [&](std::span<const MarkRow> rows,
                                                  std::span<const std::int64_t>) {
    for (const MarkRow& r : rows) {
      data_->marks.push_back({orZero(r.t) + offset, static_cast<MarkKind>(orZero(r.kind)),
                              processOfThread(source, r.globalTid), r.globalTid, r.contextId, r.moduleId,
                              r.bytes});
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
    if (known->source == source) {
      known->info = info;
      known->described = true;
    }
    gpuIds_[{source, info.id}] = static_cast<std::uint32_t>(known - data_->gpus.begin());
  }
}

std::uint32_t Builder::processOf(std::uint32_t source, std::int64_t globalPid) {
  const auto [it, fresh] = data_->index.processes.try_emplace(
      {source, globalPid}, static_cast<std::uint32_t>(data_->processes.size()));
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
    if (g.source == source && g.described && !isNull(g.info.cuDevice) && g.info.cuDevice == deviceId)
      return i;
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

}  // namespace warpmeter::analyzer
