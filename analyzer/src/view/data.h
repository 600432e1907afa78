// SPDX-License-Identifier: Apache-2.0
// The state behind a ProfileView. Filled by the loader, never changed afterwards.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>

#include "src/view/name_table.h"
#include "src/view/parts.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

// How far each table of a source has been read.
struct RowsRead {
  std::int64_t kernels = 0, memcpys = 0, memsets = 0, api = 0, nvtx = 0;
};

// What the loader needs again when a view grows.
struct LoaderIndex {
  std::unordered_map<Key<19>, std::uint32_t, KeyHash<19>> configs;  // see Builder::configOf
  std::map<NameId, std::uint32_t> functions;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> processes;  // (source, globalPid)
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::uint32_t>
      gpus;  // (source, pid, deviceId)
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::uint16_t>
      domains;  // (source, pid, id)
  std::vector<RowsRead> read;
  std::vector<std::int64_t> offsetNs;  // by source
  std::int64_t implausible = 0;        // rows left out, of all sources
  std::int64_t implausibleCounts = 0;  // samples and values of counters left out, of all sources
};

// Where a process's correlation ids are found. monotonic: binary search on the lane itself.
struct CorrelationLane {
  std::uint32_t lane = 0;
  bool monotonic = true;
  std::vector<std::uint32_t> order;  // by (correlation, index), where not monotonic
};

struct ProfileView::Data {
  Tables tables = Tables::none;
  std::vector<ViewSource> sources;
  std::vector<ViewProcess> processes;
  std::vector<ViewGpu> gpus;
  std::vector<StreamLane> streams;
  std::vector<ThreadLane> threads;
  std::vector<KernelFunction> functions;
  std::vector<LaunchConfig> configs;
  std::vector<DistinctKernel> distinct;
  std::vector<UntimedLaunch> untimed;
  std::vector<ViewMark> marks;
  std::vector<ViewOverhead> overheads;
  std::vector<LossInfo> losses;
  std::vector<SelfCostInfo> selfCosts;
  std::vector<SampleSeries> samples;
  std::vector<ViewRanged> ranged;
  std::vector<ViewPc> pcSamples;
  std::vector<NameId> domains{0};
  NameTable names;
  TimeRange range;
  LoaderIndex index;

  mutable std::once_flag correlationOnce;
  mutable std::vector<std::vector<CorrelationLane>> correlations;  // by process

  Data() = default;
  // A copy to grow: shares columns and texts, builds its own correlation index.
  Data(const Data& o)
      : tables(o.tables),
        sources(o.sources),
        processes(o.processes),
        gpus(o.gpus),
        streams(o.streams),
        threads(o.threads),
        functions(o.functions),
        configs(o.configs),
        distinct(o.distinct),
        untimed(o.untimed),
        marks(o.marks),
        overheads(o.overheads),
        losses(o.losses),
        selfCosts(o.selfCosts),
        samples(o.samples),
        ranged(o.ranged),
        pcSamples(o.pcSamples),
        domains(o.domains),
        names(o.names),
        range(o.range),
        index(o.index) {}
};

}  // namespace warpmeter::analyzer
