// SPDX-License-Identifier: Apache-2.0
// Sampling of one real GPU, from its chip's name to the last batch: the body of a thread.
#pragma once

#include <optional>
#include <string>

#include "cupti_library.h"
#include "gpu_sampler.h"
#include "messages.h"
#include "reasons.h"

namespace warpmeter::sampler {

// Fills `chip`; says why when the GPU cannot be sampled.
std::optional<Unavailable> findChip(const Cupti& cupti, const GpuDevice& gpu, std::string& chip);
Unavailable explainFailure(const Cupti& cupti, const PmStatus& status, const std::string& chip);

// Announces the GPU under the number `number`, then samples it until told to end.
void sampleGpu(const Cupti& cupti, const GpuDevice& gpu, std::uint32_t number, MessageSink& sink,
               SamplerClock& clock, double cores, bool verbose);

}  // namespace warpmeter::sampler
