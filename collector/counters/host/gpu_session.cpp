// SPDX-License-Identifier: Apache-2.0
#include "gpu_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cupti_pm_device.h"
#include "nvlink.h"

namespace warpmeter::sampler {
namespace {

// Without CUDA_MPS_PIPE_DIRECTORY a CUDA program talks to the MPS server that listens here, if there is one.
bool mpsRuns() { return access("/tmp/nvidia-mps/control", F_OK) == 0; }

}  // namespace

Unavailable explainFailure(const Cupti& cupti, const PmStatus& status, const std::string& chip) {
  return explain(status, resultText(cupti, status.code), chip, mpsRuns());
}

std::optional<Unavailable> findChip(const Cupti& cupti, const GpuDevice& gpu, std::string& chip) {
  if (const PmStatus s = chipName(cupti, gpu.ordinal, chip); !s.ok()) return explainFailure(cupti, s, chip);
  bool supported = false;
  std::string why;
  // Only a named obstacle counts as a no: what opening the session says is the better answer otherwise.
  if (pmSamplingSupported(cupti, gpu.ordinal, supported, why).ok() && !supported && !why.empty())
    return explainSetup(why);
  if (const PmStatus s = CuptiMetricHost(cupti, chip).check(); !s.ok()) return explainFailure(cupti, s, chip);
  return std::nullopt;
}

void sampleGpu(const Cupti& cupti, const GpuDevice& gpu, std::uint32_t number, MessageSink& sink,
               SamplerClock& clock, double cores, bool verbose) {
  std::string chip;
  const std::optional<Unavailable> why = findChip(cupti, gpu, chip);
  sendGpu(sink, number, gpu.uuid, chip);
  if (why) {
    sendUnavailable(sink, number, why->reason, why->text);
    return;
  }
  CuptiMetricHost host(cupti, chip);
  CuptiPmDevice device(cupti, gpu, chip, verbose);
  const auto explainIt = [&](const PmStatus& status) {
    if (verbose) fmt::print(stderr, "sampler: {} failed: {}\n", status.call, resultText(cupti, status.code));
    return explainFailure(cupti, status, chip);
  };
  GpuSampler(number, device, host, sink, clock, {cores, verbose, mayHaveNvlink(gpu.uuid)}, explainIt).run();
}

}  // namespace warpmeter::sampler
