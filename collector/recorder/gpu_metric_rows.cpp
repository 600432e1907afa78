// SPDX-License-Identifier: Apache-2.0
#include "gpu_metric_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace warpmeter::recorder {
namespace {

enum class Whole { cycles, warps, issues, bytes };  // what 100 % is

// Names as nsys has them, so that programs find them. metricId = place in the list + 1; entries are only added.
struct Shown {
  const char* name;
  std::string_view counters[2];  // the first that the set has
  Whole whole;
};
constexpr Shown kShown[] = {
    {"SMs Active [Throughput %]", {"sm__cycles_active.sum"}, Whole::cycles},
    {"Compute Warps in Flight [Throughput %]", {"sm__warps_active.sum"}, Whole::warps},
    {"SM Issue [Throughput %]", {"sm__inst_executed.sum"}, Whole::issues},
    {"Tensor Active [Throughput %]", {"sm__pipe_tensor_cycles_active.sum"}, Whole::issues},
    {"DRAM Read Bandwidth [Throughput %]", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, Whole::bytes},
    {"DRAM Write Bandwidth [Throughput %]", {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, Whole::bytes},
};
constexpr std::string_view kElapsed = "sm__cycles_elapsed.sum";
constexpr std::int64_t kTypeBase = 0x100, kSourceId = 1;  // typeId's low byte is the GPU
constexpr double kSchedulers = 4;                          // of an SM: each issues at most one instruction a cycle and has a tensor pipe
                                                           // (peak_sustained on an H200: 528 of 132 SMs)

const std::vector<std::int64_t>* column(const SampleSetInfo& set, const SampleBatch& batch, std::string_view name) {
  if (name.empty()) return nullptr;
  const auto at = std::find(set.metrics.begin(), set.metrics.end(), name);
  return at == set.metrics.end() ? nullptr : &batch.values[static_cast<std::size_t>(at - set.metrics.begin())];
}

}  // namespace

void GpuMetricRows::add(const GpuInfo& gpu, const SampleSetInfo& set, const SampleBatch& batch,
                        std::vector<GpuMetricInfo>& metrics, std::vector<GpuMetricRow>& rows) {
  if (gpu.id < 0 || gpu.id > 0xff) return;
  const auto* elapsed = column(set, batch, kElapsed);
  for (std::size_t shown = 0; shown < std::size(kShown); ++shown) {
    const Shown& s = kShown[shown];
    const auto* counted = column(set, batch, s.counters[0]);
    if (counted == nullptr) counted = column(set, batch, s.counters[1]);
    double perUnit = 1;
    if (s.whole == Whole::warps) perUnit = isNull(gpu.maxWarpsPerSm) ? 0 : static_cast<double>(gpu.maxWarpsPerSm);
    if (s.whole == Whole::issues) perUnit = kSchedulers;
    if (s.whole == Whole::bytes) perUnit = isNull(gpu.memoryBandwidth) ? 0 : static_cast<double>(gpu.memoryBandwidth) * 1e-9;
    if (counted == nullptr || perUnit <= 0 || (s.whole != Whole::bytes && elapsed == nullptr)) continue;

    const std::int64_t typeId = kTypeBase | gpu.id, metricId = static_cast<std::int64_t>(shown) + 1;
    const auto [last, isNew] = lastNs_.try_emplace({typeId, metricId}, std::numeric_limits<std::int64_t>::min() / 2);
    if (isNew) {
      metrics.push_back({typeId, kSourceId, metricId, "General Metrics for NVIDIA " + set.chip, s.name});
    }
    double part = 0, whole = 0;
    std::int64_t from = batch.startNs, before = batch.startNs;
    for (std::size_t i = 0; i < batch.samples(); ++i) {
      const std::int64_t end = batch.endNs[i];
      part += static_cast<double>((*counted)[i]);
      whole += perUnit * static_cast<double>(s.whole == Whole::bytes ? end - before : (*elapsed)[i]);
      before = end;
      const bool atEnd = i + 1 == batch.samples();
      if ((!atEnd && end - from < kEveryNs) || end - last->second < kEveryNs) continue;
      if (whole > 0) {
        const double percent = std::clamp(100 * part / whole, 0.0, 100.0);
        rows.push_back({end, typeId, metricId, static_cast<std::int64_t>(std::lround(percent))});
        last->second = end;
      }
      part = whole = 0;
      from = end;
    }
  }
}

}  // namespace warpmeter::recorder
