// SPDX-License-Identifier: Apache-2.0
// Unpacks the sampled series of one source, in parts on several threads.
#pragma once

#include <vector>

#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/samples.h"
#include "warpmeter/profile/reader.h"

namespace warpmeter::analyzer {

struct ReadSeries {
  std::vector<SampleSeries>
      series;  // one for each of `sets`, without gpu and source; empty where nothing was sampled
  std::int64_t leftOut = 0;  // samples whose times or counts cannot be
};

// offsetNs is added to every time. A sample that begins before an earlier one of its set ended is left out.
// The result is that of reading batch after batch, whatever the number of threads and the samples in a part.
// Errors: as ProfileReader::readSamples, those of the earliest batch.
inline constexpr std::size_t kSamplesPerPart = 200'000;
Result<ReadSeries> readSeries(const ProfileReader& reader, const std::vector<SampleSetInfo>& sets,
                              std::int64_t offsetNs, const LoadOptions& options,
                              std::size_t samplesPerPart = kSamplesPerPart);

}  // namespace warpmeter::analyzer
