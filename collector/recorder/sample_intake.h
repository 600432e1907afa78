// SPDX-License-Identifier: Apache-2.0
// From the sampler's messages to rows: checks every value, turns times and numbers into those of the file, leaves out
// what lies outside the capture windows. Used by the writer thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture_windows.h"
#include "gpu_metric_rows.h"
#include "process_context.h"
#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/wire/sampler.h"

namespace warpmeter::recorder {

struct SampleRows {
  std::vector<SampleSetInfo> sets;
  std::vector<PackedSamples> batches;
  std::vector<GpuMetricInfo> metrics;
  std::vector<GpuMetricRow> metricRows;
  bool empty() const { return batches.empty(); }
};

class SampleIntake {
 public:
  // The GPU with this UUID, or nullptr as long as no process of the recording has used it.
  using FindGpu = std::function<const GpuInfo*(const std::string& uuid)>;
  static constexpr std::size_t kWaitingBytes = std::size_t{8} << 20;  // samples of GPUs that are not known yet

  SampleIntake(Session& session, const CaptureWindows& capture, FindGpu findGpu)
      : session_(session), capture_(capture), findGpu_(std::move(findGpu)) {}

  // A chunk of SamplerFeed: a message and its payload. A message that is not what wire/sampler.h says is counted as a
  // loss and has no other effect.
  void take(std::span<const std::byte> whole, SampleRows& rows);
  // A GPU has become known: what waited for it.
  void gpuKnown(SampleRows& rows);
  // The sampler has ended; failure as in SamplerProcess::End.
  void ended(const std::string& failure, std::int64_t cpuNs, std::int64_t atNs);
  // Batches or holes that did not get here. Times as the sampler gives them.
  void lost(const char* why, std::int64_t count, std::int64_t fromRealtimeNs, std::int64_t toRealtimeNs);

  std::int64_t samples() const { return samples_; }  // handed out as rows
  std::int64_t cpuNs() const { return cpuNs_; }      // -1 = not known
  // WM_SESSION.counters and countersText as of now.
  struct Verdict {
    std::string counters, text;
  };
  Verdict verdict() const;

 private:
  struct Gpu {
    std::string uuid, chip;
  };
  struct Set {
    SampleSetInfo info;
    bool handedOut = false;
  };
  using SetKey = std::pair<std::uint32_t, std::uint32_t>;  // the sampler's numbers of GPU and set
  struct Waiting {
    SetKey key;
    PackedSamples batch;
  };

  bool takeGpu(const wire::SamplerMessage& message, std::span<const std::byte> payload);
  bool takeSet(const wire::SamplerMessage& message, std::span<const std::byte> payload);
  bool takeBatch(const wire::SamplerMessage& message, std::span<const std::byte> payload, SampleRows& rows);
  bool takeHole(const wire::SamplerMessage& message, std::span<const std::byte> payload);
  bool takeUnavailable(const wire::SamplerMessage& message, std::span<const std::byte> payload);
  void keep(const SetKey& key, PackedSamples batch, UnpackedSamples&& unpacked, SampleRows& rows);
  void handOut(const GpuInfo& gpu, Set& set, PackedSamples batch, UnpackedSamples&& unpacked, SampleRows& rows);

  Session& session_;
  const CaptureWindows& capture_;
  FindGpu findGpu_;
  std::map<std::uint32_t, Gpu> gpus_;
  std::map<SetKey, Set> sets_;
  std::int64_t setIds_ = 0;
  std::vector<Waiting> waiting_;
  std::size_t waitingBytes_ = 0;
  GpuMetricRows metricRows_;
  std::int64_t samples_ = 0, cpuNs_ = -1, lastEndNs_ = kNull;
  std::string reason_, reasonText_, failure_;
};

}  // namespace warpmeter::recorder
