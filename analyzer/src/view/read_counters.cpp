// SPDX-License-Identifier: Apache-2.0
// Sampled series, values of single launches and samples of instructions. Read whole each time: rows of a
// growing file arrive in no order.
#include <algorithm>
#include <map>

#include "src/view/builder.h"

namespace warpmeter::analyzer {
namespace {

// What can have been counted: a sampler keeps no more than a double counts up to (2^53), and no counter is
// near 1e9 a nanosecond: operations of all tensor pipes of the largest GPU are 1e7.
constexpr double kMostCounted = 9'007'199'254'740'992.0, kMostPerNs = 1e9;
constexpr std::int64_t kMostPcSamples =
    1'000'000'000'000;  // of one instruction: eleven days of a million a second

bool plausible(double counted) { return counted >= 0 && counted <= kMostCounted; }  // not NaN

struct GrowingSeries {
  SampleSeries out;
  std::vector<std::int64_t> start;
  std::vector<std::uint32_t> duration;
  std::vector<std::vector<float>> values;
  std::int64_t lastEndNs = INT64_MIN;
  std::int64_t leftOut = 0;

  bool canBeCounted(const SampleBatch& batch, std::size_t i, std::int64_t lengthNs) const {
    const double most = std::min(kMostCounted, kMostPerNs * static_cast<double>(lengthNs));
    return std::ranges::all_of(batch.values, [&](const std::vector<std::int64_t>& column) {
      return column[i] >= 0 && static_cast<double>(column[i]) <= most;
    });
  }

  // A batch that begins before the last one ended cannot be: the part that does is left out.
  void add(const SampleBatch& batch, std::int64_t offsetNs) {
    std::int64_t from = batch.startNs + offsetNs;
    for (std::size_t i = 0; i < batch.samples(); ++i) {
      const std::int64_t to = batch.endNs[i] + offsetNs;
      const bool good = from > -kLatestNs && to < kLatestNs && from >= lastEndNs && to > from &&
                        canBeCounted(batch, i, to - from);
      leftOut += good ? 0 : 1;
      if (good) {
        const std::int64_t length = to - from;
        if (length >= Spans::kOverflow) {
          out.overflow.emplace_back(static_cast<std::uint32_t>(start.size()), length);
        }
        start.push_back(from);
        duration.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(length, Spans::kOverflow)));
        for (std::size_t m = 0; m < values.size(); ++m)
          values[m].push_back(static_cast<float>(batch.values[m][i]));
        lastEndNs = to;
      }
      from = to;
    }
  }

  SampleSeries finish() {
    out.start = Column<std::int64_t>(std::move(start));
    out.duration = Column<std::uint32_t>(std::move(duration));
    for (auto& v : values) out.values.emplace_back(std::move(v));
    return std::move(out);
  }
};

}  // namespace

Result<void> Builder::readCounters(const LoadOptions& options) {
  data_->samples.clear();
  data_->ranged.clear();
  data_->pcSamples.clear();
  std::int64_t& leftOut = data_->index.implausibleCounts;
  leftOut = 0;
  for (std::uint32_t source = 0; source < data_->sources.size(); ++source) {
    const ProfileReader& reader = *data_->sources[source].reader;
    auto sets = reader.sampleSets();
    if (!sets) return sets.error();
    std::map<std::int64_t, GrowingSeries> series;
    for (SampleSetInfo& set : *sets) {
      GrowingSeries& s = series[set.setId];
      const auto gpu = gpuIds_.find({source, set.gpuId});
      s.out.gpu = gpu != gpuIds_.end() ? gpu->second : findGpu(source, -1, set.gpuId);
      s.out.source = source;
      s.out.setId = set.setId;
      s.out.chip = std::move(set.chip);
      s.values.resize(set.metrics.size());
      s.out.metrics = std::move(set.metrics);
    }
    const std::int64_t offset = data_->index.offsetNs[source];
    const auto visit = [&](const SampleBatch& batch) {
      const auto it = series.find(batch.setId);
      if (it != series.end() && batch.values.size() == it->second.values.size())
        it->second.add(batch, offset);
    };
    if (auto ok = reader.readSamples(visit, options.stop); !ok) return ok;
    for (auto& [id, s] : series) {
      leftOut += s.leftOut;
      if (!s.start.empty()) data_->samples.push_back(s.finish());
    }
    auto ranged = reader.rangedValues();
    if (!ranged) return ranged.error();
    for (const RangedValue& v : *ranged) {
      if (isNull(v.globalPid) || isNull(v.correlationId)) continue;
      if (!plausible(v.value)) {
        ++leftOut;
        continue;
      }
      data_->ranged.push_back({processOf(source, v.globalPid), data_->names.intern(v.metric), v.correlationId,
                               v.configuration, v.value});
    }
    auto pcs = reader.pcSamples();
    if (!pcs) return pcs.error();
    for (const PcSamples& p : *pcs) {
      if (p.samples < 0 || p.samples > kMostPcSamples) ++leftOut;
      if (p.samples <= 0 || p.samples > kMostPcSamples) continue;
      data_->pcSamples.push_back({isNull(p.globalPid) ? kNone : processOf(source, p.globalPid),
                                  data_->names.intern(p.function), data_->names.intern(p.stallReason),
                                  p.file.empty() ? 0 : data_->names.intern(p.file), p.pcOffset, p.samples,
                                  p.line});
    }
    if (options.progress) {
      options.progress(kCountersFrom + (1 - kCountersFrom) * static_cast<double>(source + 1) /
                                           static_cast<double>(data_->sources.size()));
    }
  }
  return {};
}

}  // namespace warpmeter::analyzer
