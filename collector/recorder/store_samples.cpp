// SPDX-License-Identifier: Apache-2.0
// Sampled counters on their way into the file, and what the sampler is told about the run.
#include <algorithm>

#include "proc_info.h"
#include "store.h"

namespace warpmeter::recorder {
namespace {

constexpr std::size_t kRecentKernels = 1024;

}  // namespace

std::vector<std::string> Store::takeNewGpus() {
  const std::lock_guard lock(newGpusMutex_);
  return std::exchange(newGpus_, {});
}

void Store::noteKernels(const std::vector<KernelRow>& kernels) {
  for (std::size_t i = kernels.size() > kRecentKernels ? kernels.size() - kRecentKernels : 0; i < kernels.size(); ++i) {
    const std::int64_t ns = kernels[i].end - kernels[i].start;
    if (kernelNs_.size() < kRecentKernels) {
      kernelNs_.push_back(ns);
    } else {
      kernelNs_[nextKernelNs_++ % kRecentKernels] = ns;
    }
  }
  if (kernels.empty()) return;
  std::vector<std::int64_t> sorted = kernelNs_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  kernelMedianNs_.store(std::max<std::int64_t>(*middle, 1), std::memory_order_relaxed);
}

void Store::takeSamples(const Chunk& chunk) {
  if (full_.load(std::memory_order_relaxed)) {
    ++discarded_;
    return;
  }
  SampleRows rows;
  samples_.take(chunk.bytes, rows);
  write(rows);
}

void Store::write(SampleRows& rows) {
  if (rows.empty() || full_.load(std::memory_order_relaxed)) return;
  for (const SampleSetInfo& set : rows.sets) check(writer_.put(set));
  for (const GpuMetricInfo& metric : rows.metrics) check(writer_.put(metric));
  if (!full_.load(std::memory_order_relaxed)) check(writer_.append(std::span<const PackedSamples>(rows.batches)));
  if (!full_.load(std::memory_order_relaxed)) check(writer_.append(std::span<const GpuMetricRow>(rows.metricRows)));
  if (full_.load(std::memory_order_relaxed)) return;
  if (samplesWritten_ == 0) {  // for readers of a file that grows, and after a recorder that was killed
    sessionInfo_.counters = samples_.verdict().counters;
    check(writer_.putSession(sessionInfo_));
  }
  for (const PackedSamples& batch : rows.batches) {
    samplesWritten_ += batch.samples;
    uncommittedSampleBytes_ += batch.data.size();
  }
  uncommittedRows_ += static_cast<std::int64_t>(rows.batches.size() + rows.metricRows.size());
  if (!dirty_) firstUncommittedNs_ = readClocks().monotonicNs;
  dirty_ = true;
}

void Store::samplesLost(const char* why, std::int64_t count, std::int64_t fromRealtimeNs, std::int64_t toRealtimeNs) {
  samples_.lost(why, count, fromRealtimeNs, toRealtimeNs);
  dirty_ = true;
}

void Store::samplerEnded(const std::string& failure, std::int64_t cpuNs) {
  samples_.ended(failure, cpuNs, realtimeNs() - session_.startRealtimeNs);
}

void Store::finishSamples() {
  if (!options_.sampleCounters) return;
  const SampleIntake::Verdict verdict = samples_.verdict();
  sessionInfo_.counters = verdict.counters;
  sessionInfo_.countersText = verdict.text;
  if (samples_.cpuNs() < 0 || full_.load(std::memory_order_relaxed)) return;
  const SelfCostRow cost{kNull, session_.intern("sampler.cpu"), samples_.cpuNs(), 1};
  check(writer_.append(std::span<const SelfCostRow>(&cost, 1)));
}

}  // namespace warpmeter::recorder
