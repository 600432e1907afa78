// SPDX-License-Identifier: Apache-2.0
// What exact mode measured: counter data images of the guests, the check that each ranged launch had its GPU
// to itself, and the values. The guest cannot know what else ran on the GPU; the records of all processes
// can, so the check is made here, after the last of them: no other kernel, copy or memset of that GPU may
// overlap [range opened, end of the kernel + 20 us], nor begin before the range was closed: it would count in
// it. Used by the writer thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "row_batch.h"
#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/ids.h"

namespace warpmeter::recorder {

class RangedLaunches {
 public:
  static constexpr std::int64_t kAfterKernelNs = 20'000;
  static constexpr std::int64_t kKeptNs = 10'000'000'000;  // rows wait so long for ranges that are told later
  static constexpr std::size_t kKeptRows = 2'000'000;      // beyond it the oldest go

  // GPU of a process' device ordinal; kNull = not known: then it may be any.
  using GpuOf = std::function<std::int64_t(std::int64_t globalPid, std::int64_t device)>;
  // Runs wire::RangeRequests from `requests` (read from its start); the replies, or an error.
  using Evaluate = std::function<Result<std::vector<std::byte>>(int requests)>;

  // spoolPath: images go to an unlinked file beside it.
  explicit RangedLaunches(std::string spoolPath) : spoolPath_(std::move(spoolPath)) {}
  ~RangedLaunches();
  RangedLaunches(const RangedLaunches&) = delete;
  RangedLaunches& operator=(const RangedLaunches&) = delete;

  // What the guests were given for this chip (wire::Configurations, sound).
  void configurations(std::vector<std::byte> bytes);
  // A wire::RangedImageRecord as a guest sent it; nothing in it is trusted. False: unreadable.
  bool take(std::int64_t globalPid, std::span<const std::byte> record,
            const std::function<std::int64_t(std::int64_t)>& toSessionNs,
            const std::function<std::int64_t(std::uint32_t)>& toFileId);
  // Every GPU row of the recording goes by here, in any order: those of `rows` behind `from`.
  struct Place {
    std::size_t kernels = 0, copies = 0, memsets = 0;
  };
  static Place endOf(const RowBatch& rows) {
    return {rows.kernels.size(), rows.copies.size(), rows.memsets.size()};
  }
  void see(const RowBatch& rows, const Place& from, std::int64_t nowNs);

  struct Outcome {
    std::vector<RangedValue> values;
    std::int64_t launches = 0, kernels = 0;      // that the values are of; distinct kernels
    std::int64_t overlapped = 0, unchecked = 0;  // discarded: other work ran beside; no record to check with
    std::int64_t failed = 0;                     // its image could not be evaluated
    std::string problem;                         // of the last failure, a line
  };
  Outcome finish(const GpuOf& gpuOf, const Evaluate& evaluate);

  bool any() const { return !windows_.empty(); }

 private:
  using Where = std::pair<std::int64_t, std::int64_t>;  // globalPid, device
  struct Interval {
    std::int64_t start, end, correlationId, globalPid, seenNs;
    std::int32_t device;
    bool kernel;
  };
  struct Window {
    std::int64_t pushedNs, poppedNs, correlationId, globalPid;
    std::uint32_t image, range, kernel, configuration;
    std::int64_t kernelEnd = kNull, device = kNull;
    std::map<Where, std::int64_t> others;  // earliest start of other work that ended after the opening
  };
  struct Image {
    std::int64_t globalPid;
    std::uint32_t configuration;
    std::vector<std::string> metrics;
    std::vector<double> values;  // ranges x metrics, after evaluation
    bool evaluated = false;
  };

  static void touch(Window& window, const Interval& interval);
  void add(const Interval& interval);
  bool spool(const void* bytes, std::size_t size);
  bool openSpool();
  bool wasAlone(const Window& window, const GpuOf& gpuOf) const;
  void readReplies(std::span<const std::byte> replies, Outcome& outcome);

  std::string spoolPath_;
  int spoolFd_ = -1;
  std::map<std::string, std::vector<std::byte>> configurations_;  // by chip
  std::deque<Interval> recent_;
  std::multimap<std::int64_t, Window> windows_;  // by pushedNs
  std::vector<Image> images_;
};

}  // namespace warpmeter::recorder
