// SPDX-License-Identifier: Apache-2.0
// Sampled series, values of single launches and samples of instructions. Read whole each time: rows of a
// growing file arrive in no order.
#include "src/view/builder.h"
#include "src/view/read_samples.h"

namespace warpmeter::analyzer {
namespace {

// What can have been counted: a sampler keeps no more than a double counts up to (2^53), and no counter is
// near 1e9 a nanosecond: operations of all tensor pipes of the largest GPU are 1e7.
constexpr double kMostCounted = 9'007'199'254'740'992.0, kMostPerNs = 1e9;
constexpr std::int64_t kMostPcSamples =
    1'000'000'000'000;  // of one instruction: eleven days of a million a second

bool plausible(double counted) { return counted >= 0 && counted <= kMostCounted; }  // not NaN

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
    auto read = readSeries(reader, *sets, data_->index.offsetNs[source], options);
    if (!read) return read.error();
    leftOut += read->leftOut;
    for (std::size_t i = 0; i < sets->size(); ++i) {
      SampleSeries& s = read->series[i];
      SampleSetInfo& set = (*sets)[i];
      const auto gpu = gpuIds_.find({source, set.gpuId});
      s.gpu = gpu != gpuIds_.end() ? gpu->second : findGpu(source, -1, set.gpuId);
      if (s.empty()) continue;
      s.source = source;
      s.setId = set.setId;
      s.chip = std::move(set.chip);
      s.metrics = std::move(set.metrics);
      data_->samples.push_back(std::move(s));
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
