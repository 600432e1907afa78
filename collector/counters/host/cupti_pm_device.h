// SPDX-License-Identifier: Apache-2.0
// PmDevice on CUPTI. Creates no CUDA context.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cupti_library.h"
#include "host_object.h"
#include "pm_device.h"

namespace warpmeter::sampler {

class CuptiPmDevice : public PmDevice {
 public:
  CuptiPmDevice(const Cupti& cupti, const GpuDevice& gpu, std::string chip, bool verbose);
  ~CuptiPmDevice() override;

  PmStatus open() override;
  void close() override;
  PmStatus configure(const MetricGroup& group, std::int64_t intervalNs, std::size_t bufferBytes) override;
  PmStatus prepare(const MetricSet& set, std::size_t samples) override;
  PmStatus start() override;
  PmStatus stop() override;
  DecodeResult decode(SampleBlock& block) override;

  // How long CUPTI's calls took since the last time this was asked, for --verbose and --measure.
  struct Took {
    std::int64_t calls = 0, ns = 0, cpuNs = 0;  // CPU time of the whole process
    double ms() const { return static_cast<double>(ns) * 1e-6 / static_cast<double>(calls > 0 ? calls : 1); }
  };
  enum Call {
    kEnable,
    kSetConfig,
    kDataSize,
    kInitialize,
    kStart,
    kStop,
    kDecode,
    kEvaluate,
    kDisable,
    kCalls
  };
  struct Times {
    std::array<Took, kCalls> calls;
    std::int64_t samples = 0;  // decoded
  };
  Times takeTimes() { return std::exchange(times_, {}); }
  static const char* callName(int call);
  std::size_t imageBytes() const { return current_ == nullptr ? 0 : current_->image.size(); }

 private:
  // What decoding a set needs; the host object stays valid when the counters are given back.
  struct Decoder {
    const MetricSet* set;
    std::vector<const char*> asked;
    HostObject host;
    std::vector<std::uint8_t> image;
    std::size_t room = 0;  // samples, in this session
    bool told = false;     // --verbose named its peaks
  };
  class Timer;

  PmStatus configImage(const MetricGroup& group, const std::vector<std::uint8_t>*& image);
  PmStatus makeRoom(Decoder& decoder, std::size_t samples);
  PmStatus initializeImage();
  PmStatus readSamples(SampleBlock& block, bool& lost);
  void tellPeaks();
  std::uint64_t interval(std::int64_t intervalNs) const;

  const Cupti& cupti_;
  const GpuDevice gpu_;
  const std::string chip_;
  const bool verbose_, sysclkTrigger_;
  CUpti_PmSampling_Object* object_ = nullptr;
  bool sampling_ = false;
  std::map<const MetricGroup*, std::vector<std::uint8_t>> configs_;  // CUPTI keeps a pointer into them
  std::map<const MetricSet*, std::unique_ptr<Decoder>> decoders_;
  Decoder* current_ = nullptr;
  std::set<std::string> told_;
  Times times_;
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
