// SPDX-License-Identifier: Apache-2.0
#include "src/view/builder.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

namespace warpmeter::analyzer {
namespace {

std::int64_t orZero(std::int64_t v) { return isNull(v) ? 0 : v; }

}  // namespace

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
  LoadOptions partOptions = options;
  if (has(wanted, Tables::counters) && options.progress) {
    partOptions.progress = [&](double f) { options.progress(f * kCountersFrom); };
  }
  auto parts = readParts(requests, partOptions);
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
    data_->index.implausible += part.implausible;
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
  if (has(wanted, Tables::overheads)) {
    if (auto ok = readOverheads(options); !ok) return ok;
  }
  return has(wanted, Tables::counters) ? readCounters(options) : Result<void>{};
}

void Builder::foldDistinct() {
  using Dims = std::array<std::int64_t, 3>;
  using DistinctKey = std::tuple<std::uint32_t, std::int64_t, Dims, Dims, Dims, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t>;
  const auto dims = [](const std::int32_t(&d)[3]) { return Dims{d[0], d[1], d[2]}; };
  const auto modelOf = [&](const LaunchConfig& c) {
    const std::string& name = data_->gpus[c.gpu].info.name;
    return name.empty() ? -1 - std::int64_t{c.gpu} : std::int64_t{data_->names.find(name)};
  };
  const auto keyOf = [&](const LaunchConfig& c, const Dims& grid) {
    return DistinctKey{c.function,     modelOf(c),      grid,
                       dims(c.block),  dims(c.cluster), c.registers,
                       c.staticShared, c.dynamicShared, c.executedShared};
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
      for (std::int64_t& n : grid)
        n = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    }
    const auto [it, fresh] =
        known.try_emplace(keyOf(c, grid), static_cast<std::uint32_t>(data_->distinct.size()));
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
    if (isNull(t) || t <= -kLatestNs || t >= kLatestNs) return;
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

void Builder::countImplausible() {
  const auto tell = [&](std::string_view kind, std::string_view why, std::int64_t count) {
    std::erase_if(data_->losses, [&](const LossInfo& loss) { return loss.kind == kind; });
    if (count == 0) return;
    LossInfo loss;
    loss.kind = kind;
    loss.why = why;
    loss.count = count;
    data_->losses.push_back(std::move(loss));
  };
  tell("implausible_row", "rows of the file hold times that cannot be: it is damaged or was changed",
       data_->index.implausible);
  tell("implausible_counts",
       "samples or counters of the file hold times or numbers that cannot be: it is damaged or was changed",
       data_->index.implausibleCounts);
}

std::shared_ptr<const ProfileView::Data> Builder::finish() {
  countImplausible();
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
