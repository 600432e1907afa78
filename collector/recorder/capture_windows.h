// SPDX-License-Identifier: Apache-2.0
// --delay, --duration, --capture-range: which rows are stored. A row that lies wholly outside all windows is not, and
// that is no loss. Windows hold for all processes of the recording.
//
// A window that the program opens is known only when the record of the call arrives, which may be after the records
// of kernels inside it. So completed buffers are looked through for such records when they arrive (scan*, on the
// thread that takes them in) and decoded kDecisionDelayNs later.
// Threads: scan* from one thread, filter from another.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "row_batch.h"
#include "warpmeter/recorder/options.h"

namespace warpmeter::recorder {

class CaptureWindows {
 public:
  static constexpr std::int64_t kDecisionDelayNs = 1'000'000'000;

  explicit CaptureWindows(const CaptureOptions& options) : options_(options) {}
  bool active() const { return options_.byRange() || options_.byTime(); }
  bool byRange() const { return options_.byRange(); }
  const CaptureOptions& options() const { return options_; }

  // Session times.
  void profilerStart(std::int64_t pid, std::int64_t t);
  void profilerStop(std::int64_t pid, std::int64_t t);
  struct ThreadDomain {
    std::int64_t pid = 0, tid = 0, domain = 0;
    friend auto operator<=>(const ThreadDomain&, const ThreadDomain&) = default;
  };
  void nvtxPush(ThreadDomain where, bool matches, std::int64_t t);
  void nvtxPop(ThreadDomain where, std::int64_t t);
  void nvtxStart(std::int64_t pid, std::int64_t rangeId, bool matches, std::int64_t t);
  void nvtxEnd(std::int64_t pid, std::int64_t rangeId, std::int64_t t);  // may come before its start
  void processEnded(std::int64_t pid, std::int64_t t);   // closes what it had open

  bool overlaps(std::int64_t start, std::int64_t end) const;
  // Moves the rows of `from` that are stored to `to`; empties `from`. Rows about the process itself (marks, contexts,
  // streams, threads, NVTX names) are always stored.
  void filter(RowBatch& from, RowBatch& to) const;

 private:
  struct Window {
    std::int64_t start = 0, end = std::numeric_limits<std::int64_t>::max();
  };
  void open(std::int64_t pid, std::int64_t key, std::int64_t t);
  void close(std::int64_t pid, std::int64_t key, std::int64_t t);
  bool overlapsLocked(std::int64_t start, std::int64_t end) const;
  void insert(Window window);

  CaptureOptions options_;
  mutable std::mutex mutex_;
  std::vector<Window> closed_;                                        // disjoint, by start
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> open_;  // (pid, key) -> start
  std::map<ThreadDomain, std::vector<std::int64_t>> stacks_;          // key of the window it opened, or -1
  std::int64_t nextKey_ = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ranges_;  // (pid, rangeId) -> key
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> early_;   // ends without a start yet -> t
};

}  // namespace warpmeter::recorder
