// SPDX-License-Identifier: Apache-2.0
// Puts parts into the state of a view: resolves ids of files to indices, merges lanes, folds distinct
// kernels.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "src/view/data.h"
#include "src/view/read_parts.h"

namespace warpmeter::analyzer {

class Builder {
 public:
  // Grows a copy of `base`; nullptr starts from nothing.
  explicit Builder(const ProfileView::Data* base);

  // The small tables and new strings of all sources. Readers replace those of the base, one by one.
  Result<void> openSources(const std::vector<ProfileView::Reader>& readers);

  // Reads the tables of `wanted` that the base lacks from row 0, and the others from where the base ended.
  Result<void> readTables(Tables wanted, const LoadOptions& options);

  std::shared_ptr<const ProfileView::Data> finish();

 private:
  Result<void> readSmallTables(std::uint32_t source, const ProfileReader& reader);
  Result<void> readMarks(std::uint32_t source, const ProfileReader& reader);
  Result<void> readOverheads(const LoadOptions& options);
  Result<void> readCounters(const LoadOptions& options);
  static constexpr double kCountersFrom = 0.8;  // of the progress, where they are read too
  void addGpus(std::uint32_t source, const std::vector<GpuInfo>& gpus);
  std::uint32_t processOf(std::uint32_t source, std::int64_t globalPid);
  std::uint32_t processOfThread(std::uint32_t source, std::int64_t globalTid);  // kNone where NULL
  std::uint32_t gpuOf(std::uint32_t source, std::int64_t globalPid, std::int64_t deviceId);
  std::uint32_t findGpu(std::uint32_t source, std::int64_t pid, std::int64_t deviceId);
  std::uint32_t functionOf(NameId mangled, NameId demangled, NameId shortName);
  std::uint32_t configOf(std::uint32_t source, const ConfigKey& key);
  std::uint16_t domainOf(std::uint32_t source, std::int64_t globalPid, std::int64_t domainId);
  void mergeStreams(std::vector<Part>& parts, const std::vector<std::vector<std::uint32_t>>& configs);
  void mergeThreads(std::vector<Part>& parts);
  StreamLane& streamLane(std::uint32_t source, const StreamKey& key);
  ThreadLane& threadLane(std::uint32_t source, const ThreadKey& key);
  void nameThreads();
  void foldDistinct();
  void countImplausible();
  void measureRange();

  using StreamLaneKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t, std::int64_t>;
  using ThreadLaneKey = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;

  std::shared_ptr<ProfileView::Data> data_;
  std::vector<StringMap> strings_;
  std::vector<std::vector<CudaDeviceInfo>> devices_;                        // by source
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> gpuIds_;  // (source, GpuInfo::id)
  std::map<StreamLaneKey, std::uint32_t> streamIndex_;
  std::map<ThreadLaneKey, std::uint32_t> threadIndex_;
  std::map<std::int64_t, NameId> threadNames_;
  std::int64_t minStart_ = INT64_MAX, maxEnd_ = INT64_MIN;
};

}  // namespace warpmeter::analyzer
