// SPDX-License-Identifier: Apache-2.0
#include "cupti_pm_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

namespace warpmeter::sampler {
namespace {

// A sample takes 7 KB with 2 counters and 94 KB with 13 (GH100): images of this size keep decoding inside the
// caches.
constexpr std::size_t kCounterDataBytes = std::size_t{4} << 20;
constexpr std::uint32_t kProbeSamples = 16, kMinSamples = 16, kMaxSamples = 512;

}  // namespace

class CuptiPmDevice::Timer {
 public:
  explicit Timer(Took& took) : took_(took) {}
  ~Timer() {
    ++took_.calls;
    took_.ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - from_).count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Took& took_;
  const std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

CuptiPmDevice::CuptiPmDevice(const Cupti& cupti, const GpuDevice& gpu, std::string chip, bool verbose)
    : cupti_(cupti),
      gpu_(gpu),
      chip_(std::move(chip)),
      verbose_(verbose),
      sysclkTrigger_(usesSysclkTrigger(chip_)) {}

CuptiPmDevice::~CuptiPmDevice() {
  close();
  if (verbose_) tellTimes();
}

void CuptiPmDevice::tellTimes() const {
  static constexpr const char* kNames[kCalls] = {
      "Enable",     "SetConfig and counter data", "Start",  "Stop", "CounterDataImageInitialize",
      "DecodeData", "GetSampleInfo and Evaluate", "Disable"};
  for (int i = 0; i < kCalls; ++i) {
    const Took& t = took_[static_cast<std::size_t>(i)];
    if (t.calls == 0) continue;
    fmt::print(stderr, "sampler: {} calls of {}, {:.3f} ms each", t.calls, kNames[i],
               static_cast<double>(t.ns) * 1e-6 / static_cast<double>(t.calls));
    const bool perSample = i == kInitialize || i == kDecode || i == kEvaluate;
    if (perSample && decodedSamples_ > 0) {
      fmt::print(stderr, ", {:.2f} us per sample",
                 static_cast<double>(t.ns) * 1e-3 / static_cast<double>(decodedSamples_));
    }
    fmt::print(stderr, "\n");
  }
}

PmStatus CuptiPmDevice::open() {
  const Timer timer(took_[kEnable]);
  WARPMETER_PARAMS(CUpti_PmSampling_Enable, p);
  p.deviceIndex = static_cast<std::size_t>(gpu_.ordinal);
  if (const int code = cupti_.cuptiPmSamplingEnable(&p)) return {code, "cuptiPmSamplingEnable"};
  object_ = p.pPmSamplingObject;
  set_ = nullptr;
  return {};
}

void CuptiPmDevice::close() {
  if (object_ == nullptr) return;
  if (sampling_) (void)stop();
  sampling_ = false;
  const Timer timer(took_[kDisable]);
  WARPMETER_PARAMS(CUpti_PmSampling_Disable, p);
  p.pPmSamplingObject = object_;
  cupti_.cuptiPmSamplingDisable(&p);
  object_ = nullptr;
  set_ = nullptr;
}

PmStatus CuptiPmDevice::prepare(const MetricSet& set, Prepared*& prepared) {
  if (const auto found = prepared_.find(&set); found != prepared_.end()) {
    prepared = found->second.get();
    return {};
  }
  auto made = std::make_unique<Prepared>(cupti_);
  for (const MetricColumn& column : set.columns) made->asked.push_back(column.asked.c_str());
  if (const PmStatus s = made->host.create(chip_, made->asked); !s.ok()) return s;
  if (const PmStatus s = made->host.image(made->config); !s.ok()) return s;
  prepared = made.get();
  prepared_[&set] = std::move(made);
  return {};
}

PmStatus CuptiPmDevice::configure(const MetricSet& set, std::int64_t intervalNs) {
  const Timer timer(took_[kConfigure]);
  Prepared* prepared = nullptr;
  if (const PmStatus s = prepare(set, prepared); !s.ok()) return s;
  WARPMETER_PARAMS(CUpti_PmSampling_SetConfig, p);
  p.pPmSamplingObject = object_;
  p.configSize = prepared->config.size();
  p.pConfig = prepared->config.data();
  p.hardwareBufferSize = kHardwareBufferBytes;
  p.samplingInterval = interval(intervalNs);
  p.triggerMode = sysclkTrigger_ ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL
                                 : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  // The oldest are kept: an overflow is then an end with a time, not a hole somewhere.
  p.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  if (const int code = cupti_.cuptiPmSamplingSetConfig(&p)) return {code, "cuptiPmSamplingSetConfig"};
  if (set_ == &set) return {};
  current_ = prepared;
  set_ = nullptr;
  if (const PmStatus s = sizeCounterData(); !s.ok()) return s;
  set_ = &set;
  return {};
}

std::uint64_t CuptiPmDevice::interval(std::int64_t intervalNs) const {
  if (!sysclkTrigger_) return static_cast<std::uint64_t>(intervalNs);
  // The system clock itself cannot be asked for; it runs close to the SM clock. The samples carry their real
  // times.
  const double ghz = gpu_.clockKhz > 0 ? gpu_.clockKhz * 1e-6 : 1.4;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(static_cast<double>(intervalNs) * ghz)));
}

PmStatus CuptiPmDevice::sizeCounterData() {
  WARPMETER_PARAMS(CUpti_PmSampling_GetCounterDataSize, p);
  p.pPmSamplingObject = object_;
  p.pMetricNames = const_cast<const char**>(current_->asked.data());
  p.numMetrics = current_->asked.size();
  p.maxSamples = kProbeSamples;
  if (const int code = cupti_.cuptiPmSamplingGetCounterDataSize(&p))
    return {code, "cuptiPmSamplingGetCounterDataSize"};
  const std::size_t perSample = std::max<std::size_t>(1, p.counterDataSize / kProbeSamples);
  p.maxSamples =
      std::clamp(static_cast<std::uint32_t>(kCounterDataBytes / perSample), kMinSamples, kMaxSamples);
  if (const int code = cupti_.cuptiPmSamplingGetCounterDataSize(&p))
    return {code, "cuptiPmSamplingGetCounterDataSize"};
  counterData_.resize(p.counterDataSize);
  if (verbose_) {
    fmt::print(stderr, "sampler: {} counters, counter data {} bytes for {} samples, config image {} bytes\n",
               current_->asked.size(), counterData_.size(), p.maxSamples, current_->config.size());
  }
  return {};
}

PmStatus CuptiPmDevice::initializeCounterData() {
  const Timer timer(took_[kInitialize]);
  WARPMETER_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize, p);
  p.pPmSamplingObject = object_;
  p.counterDataSize = counterData_.size();
  p.pCounterData = counterData_.data();
  return {cupti_.cuptiPmSamplingCounterDataImageInitialize(&p), "cuptiPmSamplingCounterDataImageInitialize"};
}

PmStatus CuptiPmDevice::start() {
  const Timer timer(took_[kStart]);
  WARPMETER_PARAMS(CUpti_PmSampling_Start, p);
  p.pPmSamplingObject = object_;
  const int code = cupti_.cuptiPmSamplingStart(&p);
  sampling_ = code == 0;
  return {code, "cuptiPmSamplingStart"};
}

PmStatus CuptiPmDevice::stop() {
  const Timer timer(took_[kStop]);
  WARPMETER_PARAMS(CUpti_PmSampling_Stop, p);
  p.pPmSamplingObject = object_;
  sampling_ = false;
  return {cupti_.cuptiPmSamplingStop(&p), "cuptiPmSamplingStop"};
}

DecodeResult CuptiPmDevice::decode(SampleBlock& block) {
  DecodeResult result;
  result.status = initializeCounterData();
  if (!result.status.ok()) return result;
  WARPMETER_PARAMS(CUpti_PmSampling_DecodeData, p);
  p.pPmSamplingObject = object_;
  p.pCounterDataImage = counterData_.data();
  p.counterDataImageSize = counterData_.size();
  int code = 0;
  {
    const Timer timer(took_[kDecode]);
    code = cupti_.cuptiPmSamplingDecodeData(&p);
  }
  result.overflow = p.overflow != 0 || code == CUPTI_ERROR_OUT_OF_MEMORY;
  if (code != 0) {
    result.status = {code, "cuptiPmSamplingDecodeData"};
    return result;
  }
  result.more = p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  result.status = readSamples(block);
  return result;
}

PmStatus CuptiPmDevice::readSamples(SampleBlock& block) {
  const Timer timer(took_[kEvaluate]);
  WARPMETER_PARAMS(CUpti_PmSampling_GetCounterDataInfo, info);
  info.pCounterDataImage = counterData_.data();
  info.counterDataImageSize = counterData_.size();
  if (const int code = cupti_.cuptiPmSamplingGetCounterDataInfo(&info)) {
    return {code, "cuptiPmSamplingGetCounterDataInfo"};
  }
  decodedSamples_ += static_cast<std::int64_t>(info.numCompletedSamples);
  const std::size_t columns = set_->columns.size();
  for (std::size_t i = 0; i < info.numCompletedSamples; ++i) {
    WARPMETER_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo, sample);
    sample.pPmSamplingObject = object_;
    sample.pCounterDataImage = counterData_.data();
    sample.counterDataImageSize = counterData_.size();
    sample.sampleIndex = i;
    if (const int code = cupti_.cuptiPmSamplingCounterDataGetSampleInfo(&sample)) {
      return {code, "cuptiPmSamplingCounterDataGetSampleInfo"};
    }
    const std::size_t at = block.values.size();
    block.values.resize(at + columns, std::numeric_limits<double>::quiet_NaN());
    double* row = block.values.data() + at;
    if (!current_->host.evaluate(counterData_, i, current_->asked, row).ok()) {
      std::fill_n(row, columns, std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const int factor = set_->columns[c].factor;
      // A rate of nothing is NaN; its count is 0.
      if (factor >= 0) row[c] = row[factor] == 0 ? 0 : row[c] / 100 * row[factor];
    }
    block.startNs.push_back(static_cast<std::int64_t>(sample.startTimestamp));
    block.endNs.push_back(static_cast<std::int64_t>(sample.endTimestamp));
  }
  if (verbose_ && info.numCompletedSamples > 0 && !current_->told) tellPeaks();
  return {};
}

// What one cycle of the whole GPU can bring of each counter: what an analysis divides by. For people who
// check it.
void CuptiPmDevice::tellPeaks() {
  current_->told = true;
  for (const char* asked : current_->asked) {
    const std::string name = std::string(asked) + ".peak_sustained";
    const std::vector<const char*> one = {name.c_str()};
    double value = 0;
    const PmStatus s = current_->host.evaluate(counterData_, 0, one, &value);
    fmt::print(stderr, "sampler: {} = {}\n", name,
               s.ok() ? fmt::format("{}", value) : resultText(cupti_, s.code));
  }
}

PmStatus initializeProfiler(const Cupti& cupti) {
  WARPMETER_PARAMS(CUpti_Profiler_Initialize, p);
  return {cupti.cuptiProfilerInitialize(&p), "cuptiProfilerInitialize"};
}

PmStatus chipName(const Cupti& cupti, int ordinal, std::string& chip) {
  WARPMETER_PARAMS(CUpti_Device_GetChipName, p);
  p.deviceIndex = static_cast<std::size_t>(ordinal);
  if (const int code = cupti.cuptiDeviceGetChipName(&p)) return {code, "cuptiDeviceGetChipName"};
  if (p.pChipName != nullptr) chip = p.pChipName;
  return {};
}

PmStatus pmSamplingSupported(const Cupti& cupti, int ordinal, bool& supported, std::string& why) {
  WARPMETER_PARAMS(CUpti_Profiler_DeviceSupported, p);
  p.cuDevice = ordinal;
  p.api = CUPTI_PROFILER_PM_SAMPLING;
  if (const int code = cupti.cuptiProfilerDeviceSupported(&p)) return {code, "cuptiProfilerDeviceSupported"};
  supported = p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  const std::pair<CUpti_Profiler_Support_Level, const char*> reasons[] = {
      {p.architecture, "its architecture"},
      {p.sli, "SLI"},
      {p.vGpu, "a virtual GPU"},
      {p.confidentialCompute, "confidential computing"},
      {p.cmp, "a mining card"},
      {p.wsl, "WSL"}};
  for (const auto& [level, name] : reasons) {
    if (level != CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED && level != CUPTI_PROFILER_CONFIGURATION_DISABLED)
      continue;
    why += (why.empty() ? "" : ", ") + std::string(name);
  }
  return {};
}

bool usesSysclkTrigger(const std::string& chip) {
  return chip.starts_with("TU1") || chip.starts_with("GV1") || chip == "GA100";
}

}  // namespace warpmeter::sampler
