// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/nvtx_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/cancelled.h"
#include "src/intervals.h"

namespace warpmeter::analyzer {
namespace {

struct Launch {
  std::int64_t callNs = 0, beginNs = 0, endNs = 0;  // call on the host; kernel on the GPU
};

// Launches by the time of their call. Questions about a range of time cost O(log n), so that deep nests and
// ranges that never end do no harm.
class Launches {
 public:
  void add(const Launch& launch) { launches_.push_back(launch); }
  bool empty() const { return launches_.empty(); }

  void prepare() {
    std::ranges::sort(launches_, {}, &Launch::callNs);
    sums_.assign(1, 0);
    std::vector<std::int64_t> begins, ends;
    for (const Launch& l : launches_) {
      sums_.push_back(sums_.back() + l.endNs - l.beginNs);
      begins.push_back(l.beginNs);
      ends.push_back(-l.endNs);
    }
    firstBegin_ = minima(begins);
    lastEnd_ = minima(ends);
  }

  std::pair<std::size_t, std::size_t> within(std::int64_t begin, std::int64_t end) const {
    const auto at = [&](std::int64_t t) {
      return static_cast<std::size_t>(std::ranges::lower_bound(launches_, t, {}, &Launch::callNs) -
                                      launches_.begin());
    };
    const std::size_t from = at(begin);
    return {from, std::max(from, at(end))};
  }
  std::int64_t kernelNs(std::size_t from, std::size_t to) const { return sums_[to] - sums_[from]; }
  std::int64_t spanNs(std::size_t from, std::size_t to) const {
    return from < to ? -least(lastEnd_, from, to) - least(firstBegin_, from, to) : 0;
  }
  const std::vector<Launch>& all() const { return launches_; }

 private:
  // A tree of minima in one array: leaves from n on, node i over 2i and 2i + 1.
  static std::vector<std::int64_t> minima(const std::vector<std::int64_t>& values) {
    const std::size_t n = values.size();
    std::vector<std::int64_t> tree(2 * n);
    std::ranges::copy(values, tree.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = n; i-- > 1;) tree[i] = std::min(tree[2 * i], tree[2 * i + 1]);
    return tree;
  }
  static std::int64_t least(const std::vector<std::int64_t>& tree, std::size_t from, std::size_t to) {
    std::int64_t out = INT64_MAX;
    const std::size_t n = tree.size() / 2;
    for (from += n, to += n; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) out = std::min(out, tree[from++]);
      if (to % 2 == 1) out = std::min(out, tree[--to]);
    }
    return out;
  }

  std::vector<Launch> launches_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> firstBegin_, lastEnd_;  // trees; the second one of negative ends
};

using TextKey = std::pair<NameId, NameId>;                 // domain, text
using ThreadKey = std::pair<std::uint32_t, std::int64_t>;  // process, globalTid

struct Row {
  NvtxSummaryRow summary;
  std::vector<std::int64_t> durations;
  // Where ranges of this text were open: per thread (push/pop) and per process (start/end, tid = kNull).
  std::map<ThreadKey, std::vector<Interval>> open;
};

class Summarizer {
 public:
  explicit Summarizer(const ProfileView& view) : view_(view) {}

  Result<NvtxSummary> run(std::stop_token stop) {
    if (!linkLaunches(stop)) return cancelled();
    for (const ThreadLane& lane : view_.threads()) {
      if (stop.stop_requested()) return cancelled();
      addLane(lane);
    }
    for (auto& [key, row] : rows_) {
      row.summary.time = statsOf(row.durations);
      for (auto& [owner, intervals] : row.open) addKernels(row.summary, owner, unite(std::move(intervals)));
      out_.rows.push_back(row.summary);
    }
    countOutside();
    std::ranges::stable_sort(out_.rows, std::greater{},
                             [](const NvtxSummaryRow& r) { return r.time.totalNs; });
    return std::move(out_);
  }

 private:
  bool linkLaunches(std::stop_token stop) {
    for (const ThreadLane& lane : view_.threads()) {
      const auto& kinds = lane.nvtx.kind;
      if (std::ranges::find(kinds, static_cast<std::uint8_t>(NvtxKind::startEnd)) != kinds.end()) {
        startEnd_.insert(lane.process);
      }
    }
    for (const StreamLane& lane : view_.streams()) {
      if (stop.stop_requested()) return false;
      for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
        const auto ref = view_.apiCall(lane.process, lane.kernels.correlation[i]);
        if (!ref) {
          ++out_.kernelsUnlinked;
          continue;
        }
        const ThreadLane& thread = view_.threads()[ref.lane];
        const Launch launch{thread.api.startNs(ref.index), lane.kernels.startNs(i), lane.kernels.endNs(i)};
        launches_[{lane.process, thread.globalTid}].add(launch);
        if (startEnd_.contains(lane.process)) launches_[{lane.process, kNull}].add(launch);
      }
    }
    for (auto& [owner, launches] : launches_) launches.prepare();
    return true;
  }

  void addLane(const ThreadLane& lane) {
    const NvtxRanges& n = lane.nvtx;
    for (std::size_t i = 0; i < n.size(); ++i) {
      Row& row = rows_[{view_.domains()[n.domain[i]], n.text[i]}];
      row.summary.domain = view_.domains()[n.domain[i]];
      row.summary.text = n.text[i];
      if (n.kindOf(i) == NvtxKind::mark) {
        ++row.summary.marks;
        continue;
      }
      const ThreadKey owner{lane.process, n.kindOf(i) == NvtxKind::pushPop ? lane.globalTid : kNull};
      row.durations.push_back(n.durationNs(i));
      row.open[owner].push_back({n.startNs(i), n.endNs(i)});
      if (const auto it = launches_.find(owner); it != launches_.end()) {
        const auto [from, to] = it->second.within(n.startNs(i), n.endNs(i));
        row.summary.projectedNs += it->second.spanNs(from, to);
      }
    }
  }

  // open: disjoint, so that a kernel counts once.
  void addKernels(NvtxSummaryRow& row, const ThreadKey& owner, const IntervalSet& open) {
    covered_[owner].insert(covered_[owner].end(), open.begin(), open.end());
    const auto it = launches_.find(owner);
    if (it == launches_.end()) return;
    for (const Interval& i : open) {
      const auto [from, to] = it->second.within(i.begin, i.end);
      row.kernels += static_cast<std::int64_t>(to - from);
      row.kernelNs += it->second.kernelNs(from, to);
    }
  }

  void countOutside() {
    for (const auto& [owner, launches] : launches_) {
      if (owner.second == kNull) continue;
      std::vector<Interval> open = covered_[owner];
      const auto& ofProcess = covered_[{owner.first, kNull}];
      open.insert(open.end(), ofProcess.begin(), ofProcess.end());
      std::size_t inside = 0;
      for (const Interval& i : unite(std::move(open))) {
        const auto [from, to] = launches.within(i.begin, i.end);
        inside += to - from;
      }
      out_.kernelsOutside += static_cast<std::int64_t>(launches.all().size() - inside);
    }
  }

  const ProfileView& view_;
  NvtxSummary out_;
  std::set<std::uint32_t> startEnd_;  // processes with start/end ranges, which look at all threads
  std::map<ThreadKey, Launches> launches_;
  std::map<TextKey, Row> rows_;
  std::map<ThreadKey, std::vector<Interval>> covered_;
};

}  // namespace

Result<NvtxSummary> summarizeNvtx(const ProfileView& view, std::stop_token stop) {
  return Summarizer(view).run(stop);
}

}  // namespace warpmeter::analyzer
