// SPDX-License-Identifier: Apache-2.0
// Rows of all parts, lane by lane.
#include <algorithm>
#include <tuple>

#include "src/view/builder.h"
#include "src/view/lane_columns.h"

namespace warpmeter::analyzer {

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
    if (lane != threadIndex_.end() && std::get<0>(lane->first) == process &&
        std::get<1>(lane->first) == key.v[0]) {
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

}  // namespace warpmeter::analyzer
