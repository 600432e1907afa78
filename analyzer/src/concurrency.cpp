// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/concurrency.h"

#include <algorithm>
#include <map>

#include "src/cancelled.h"
#include "src/idle_cause.h"

namespace warpmeter::analyzer {
namespace {

struct Operation {
  std::int64_t begin = 0, end = 0, correlation = 0;
  std::uint32_t stream = 0;  // index into Concurrency::streams
  std::uint32_t process = 0;
  bool copy = false;
};

struct GpuOperations {
  std::vector<std::uint32_t> lanes;  // ProfileView::streams(), in order
  std::vector<Operation> operations;
};

void collect(const StreamLane& lane, std::uint32_t stream, const ConcurrencyOptions& options,
             std::vector<Operation>& out) {
  const auto add = [&](const Spans& spans, const Column<std::int64_t>& correlation, bool copy) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      Operation op{spans.startNs(i), spans.endNs(i), correlation[i], stream, lane.process, copy};
      if (options.beginNs) op.begin = std::max(op.begin, *options.beginNs);
      if (options.endNs) op.end = std::min(op.end, *options.endNs);
      const bool cutAway = op.end < op.begin || (op.end == op.begin && spans.durationNs(i) > 0);
      if (!cutAway) out.push_back(op);
    }
  };
  add(lane.kernels, lane.kernels.correlation, false);
  add(lane.copies, lane.copies.correlation, true);
}

// What runs at one moment, and the time that such moments add up to.
class Sweep {
 public:
  Sweep(Concurrency& out) : out_(out), running_(out.streams.size(), 0), since_(out.streams.size(), 0) {
    if (out.streams.size() <= kMaxMatrixStreams)
      out.matrixNs.assign(out.streams.size() * out.streams.size(), 0);
  }

  void pass(std::int64_t ns) {
    if (ns <= 0) return;
    passed_ += ns;
    const auto depth = static_cast<std::size_t>(kernels_ + copies_);
    if (out_.depthNs.size() <= depth) out_.depthNs.resize(depth + 1, 0);
    out_.depthNs[depth] += ns;
    if (depth > 0) out_.busyNs += ns;
    if (kernels_ > 0) out_.kernelNs += ns;
    if (copies_ > 0) out_.copyNs += ns;
    if (kernels_ > 0 && copies_ > 0) out_.bothNs += ns;
    for (const std::uint32_t i : active_) {
      for (const std::uint32_t j : active_) out_.matrixNs[i * out_.streams.size() + j] += ns;
    }
  }

  void change(const Operation& op, int by) {
    (op.copy ? copies_ : kernels_) += by;
    int& running = running_[op.stream];
    const bool matrix = !out_.matrixNs.empty();
    if (by > 0 && running == 0) {
      since_[op.stream] = passed_;
      if (matrix) active_.push_back(op.stream);
    }
    running += by;
    if (by < 0 && running == 0) {
      // At its end, not step by step: thousands of streams may be running.
      out_.streams[op.stream].busyNs += passed_ - since_[op.stream];
      if (matrix) std::erase(active_, op.stream);
    }
  }

  bool idle() const { return kernels_ + copies_ == 0; }

 private:
  Concurrency& out_;
  std::vector<int> running_;           // operations of each stream
  std::vector<std::int64_t> since_;    // what had passed when each stream began to run something
  std::vector<std::uint32_t> active_;  // streams with something running; for the matrix only
  std::int64_t passed_ = 0;
  int kernels_ = 0, copies_ = 0;
};

class GapList {
 public:
  GapList(const ProfileView& view, const Limits& limits, Concurrency& out)
      : causes_(view), limits_(limits), out_(out) {}

  // next: the operation that ended the gap; nullptr when none did.
  void add(std::int64_t begin, std::int64_t end, const Operation* next) {
    if (begin >= end) return;
    const auto parts = next ? causes_.partsOf(begin, end, next->process, next->correlation)
                            : std::vector<IdlePart>{{IdleCause::unknown, 0, end - begin}};
    totals_.add(parts);
    ++out_.gapCount;
    out_.gapNs += end - begin;
    if (end - begin < limits_.gapListedNs) return;
    out_.gaps.push_back({begin, end, *std::ranges::max_element(parts, {}, &IdlePart::ns)});
  }
  void finish() { out_.idle = totals_.sorted(); }

 private:
  IdleCauses causes_;
  IdleTotals totals_;
  const Limits& limits_;
  Concurrency& out_;
};

// Operations sorted by begin; ends are taken from a second order.
void sweep(const std::vector<Operation>& ops, Sweep& state, GapList& gaps, std::int64_t begin,
           std::int64_t end) {
  std::vector<std::uint32_t> byEnd;
  byEnd.reserve(ops.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].begin < ops[i].end) byEnd.push_back(i);  // an empty interval takes no time and ends no gap
  }
  std::vector<std::uint32_t> byBegin = byEnd;
  std::ranges::sort(byEnd, {}, [&](std::uint32_t i) { return ops[i].end; });
  std::int64_t at = begin, idleSince = begin;
  std::size_t e = 0;
  const auto advance = [&](std::int64_t to) {
    state.pass(to - at);
    at = to;
  };
  for (const std::uint32_t i : byBegin) {
    while (e < byEnd.size() && ops[byEnd[e]].end <= ops[i].begin) {
      advance(ops[byEnd[e]].end);
      state.change(ops[byEnd[e++]], -1);
      if (state.idle()) idleSince = at;
    }
    advance(ops[i].begin);
    if (state.idle()) gaps.add(idleSince, at, &ops[i]);
    state.change(ops[i], +1);
  }
  while (e < byEnd.size()) {
    advance(ops[byEnd[e]].end);
    state.change(ops[byEnd[e++]], -1);
    if (state.idle()) idleSince = at;
  }
  advance(end);
  if (state.idle()) gaps.add(idleSince, end, nullptr);
}

Concurrency analyze(const ProfileView& view, const Limits& limits, std::uint32_t gpu, GpuOperations& input) {
  Concurrency out;
  out.gpu = gpu;
  out.operations = static_cast<std::int64_t>(input.operations.size());
  out.windowBeginNs = std::ranges::min(input.operations, {}, &Operation::begin).begin;
  out.windowEndNs = std::ranges::max(input.operations, {}, &Operation::end).end;
  out.depthNs.assign(1, 0);
  for (const std::uint32_t lane : input.lanes) out.streams.push_back({lane, 0, 0});
  for (const Operation& op : input.operations) ++out.streams[op.stream].operations;
  for (const UntimedLaunch& u : view.untimed()) out.untimed += gpu == kNone || u.gpu == gpu;
  std::ranges::stable_sort(input.operations, {}, &Operation::begin);
  Sweep state(out);
  GapList gaps(view, limits, out);
  sweep(input.operations, state, gaps, out.windowBeginNs, out.windowEndNs);
  gaps.finish();
  return out;
}

Result<std::vector<Concurrency>> analyzeGpus(const ProfileView& view, const Limits& limits,
                                             std::stop_token stop, const ConcurrencyOptions& options,
                                             bool together) {
  std::map<std::uint32_t, GpuOperations> gpus;
  for (std::uint32_t s = 0; s < view.streams().size(); ++s) {
    if (stop.stop_requested()) return cancelled();
    const StreamLane& lane = view.streams()[s];
    GpuOperations& gpu = gpus[together ? kNone : lane.gpu];
    const std::size_t before = gpu.operations.size();
    collect(lane, static_cast<std::uint32_t>(gpu.lanes.size()), options, gpu.operations);
    if (gpu.operations.size() > before) gpu.lanes.push_back(s);
  }
  std::vector<Concurrency> out;
  for (auto& [gpu, input] : gpus) {
    if (stop.stop_requested()) return cancelled();
    if (!input.operations.empty()) out.push_back(analyze(view, limits, gpu, input));
  }
  return out;
}

}  // namespace

Result<std::vector<Concurrency>> concurrencyOf(const ProfileView& view, const Limits& limits,
                                               std::stop_token stop, const ConcurrencyOptions& options) {
  return analyzeGpus(view, limits, stop, options, false);
}

Result<std::optional<Concurrency>> concurrencyOfAll(const ProfileView& view, const Limits& limits,
                                                    std::stop_token stop, const ConcurrencyOptions& options) {
  auto all = analyzeGpus(view, limits, stop, options, true);
  if (!all) return all.error();
  if (all->empty()) return std::optional<Concurrency>{};
  return std::optional<Concurrency>{std::move(all->front())};
}

}  // namespace warpmeter::analyzer
