// SPDX-License-Identifier: Apache-2.0
// PmDevice on CUPTI. Creates no CUDA context.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cupti_library.h"
#include "host_object.h"
#include "pm_device.h"

namespace warpmeter::sampler {

// Size of the buffer that the GPU writes samples into. 512 MiB took 60 000 samples of a few counters; bursts
// are kept to what this one can hold (burst_plan.h).
inline constexpr std::size_t kHardwareBufferBytes = std::size_t{128} << 20;

class CuptiPmDevice : public PmDevice {
 public:
  CuptiPmDevice(const Cupti& cupti, const GpuDevice& gpu, std::string chip, bool verbose);
  ~CuptiPmDevice() override;

  PmStatus open() override;
  void close() override;
  PmStatus configure(const MetricSet& set, std::int64_t intervalNs) override;
  PmStatus start() override;
  PmStatus stop() override;
  DecodeResult decode(SampleBlock& block) override;

 private:
  // What one set needs, made once: CUPTI's host objects and images stay valid when the counters are given
  // back.
  struct Prepared {
    std::vector<const char*> asked;
    HostObject host;
    std::vector<std::uint8_t> config;
    bool told = false;  // --verbose named its peaks
    explicit Prepared(const Cupti& cupti) : host(cupti) {}
  };

  // How long CUPTI's calls take, for --verbose.
  struct Took {
    std::int64_t calls = 0, ns = 0;
  };
  enum Call { kEnable, kConfigure, kStart, kStop, kInitialize, kDecode, kEvaluate, kDisable, kCalls };
  class Timer;
  void tellTimes() const;

  PmStatus prepare(const MetricSet& set, Prepared*& prepared);
  PmStatus sizeCounterData();
  PmStatus initializeCounterData();
  PmStatus readSamples(SampleBlock& block);
  void tellPeaks();
  std::uint64_t interval(std::int64_t intervalNs) const;

  const Cupti& cupti_;
  const GpuDevice gpu_;
  const std::string chip_;
  const bool verbose_, sysclkTrigger_;
  CUpti_PmSampling_Object* object_ = nullptr;
  bool sampling_ = false;
  std::map<const MetricSet*, std::unique_ptr<Prepared>> prepared_;
  const MetricSet* set_ = nullptr;
  Prepared* current_ = nullptr;
  std::vector<std::uint8_t> counterData_;
  std::array<Took, kCalls> took_;
  std::int64_t decodedSamples_ = 0;
};

// Once per process, before the functions below.
PmStatus initializeProfiler(const Cupti& cupti);

// "GH100"; empty with the status of the call that failed.
PmStatus chipName(const Cupti& cupti, int ordinal, std::string& chip);

// Asks CUPTI whether this GPU, as it is set up, can be PM-sampled; `why` says what speaks against it (vGPU,
// SLI, ...).
PmStatus pmSamplingSupported(const Cupti& cupti, int ordinal, bool& supported, std::string& why);

// GPU_TIME_INTERVAL is missing on Turing and GA100 (cupti_pmsampling.h): their samples are triggered by the
// system clock.
bool usesSysclkTrigger(const std::string& chip);

}  // namespace warpmeter::sampler
