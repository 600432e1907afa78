// SPDX-License-Identifier: Apache-2.0
#include "cupti_pm_device.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

namespace warpmeter::sampler {
namespace {

std::int64_t processCpuNs() {
  timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

class CuptiPmDevice::Timer {
 public:
  Timer(Times& times, Call call) : took_(times.calls[call]) {}
  ~Timer() {
    ++took_.calls;
    took_.ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - from_).count();
    took_.cpuNs += processCpuNs() - cpuFrom_;
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Took& took_;
  const std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
  const std::int64_t cpuFrom_ = processCpuNs();
};

const char* CuptiPmDevice::callName(int call) {
  static constexpr const char* kNames[kCalls] = {"Enable",     "SetConfig", "GetCounterDataSize",
                                                 "Initialize", "Start",     "Stop",
                                                 "DecodeData", "Evaluate",  "Disable"};
  return kNames[call];
}

CuptiPmDevice::CuptiPmDevice(const Cupti& cupti, const GpuDevice& gpu, std::string chip, bool verbose)
    : cupti_(cupti),
      gpu_(gpu),
      chip_(std::move(chip)),
      verbose_(verbose),
      sysclkTrigger_(usesSysclkTrigger(chip_)) {}

CuptiPmDevice::~CuptiPmDevice() {
  close();
  if (!verbose_) return;
  for (int i = 0; i < kCalls; ++i) {
    const Took& t = times_.calls[static_cast<std::size_t>(i)];
    if (t.calls == 0) continue;
    fmt::print(stderr, "sampler: {} calls of {}, {:.3f} ms each ({:.3f} ms CPU)", t.calls, callName(i),
               t.ms(), static_cast<double>(t.cpuNs) * 1e-6 / static_cast<double>(t.calls));
    const bool perSample = i == kInitialize || i == kDecode || i == kEvaluate;
    if (perSample && times_.samples > 0) {
      fmt::print(stderr, ", {:.2f} us per sample",
                 static_cast<double>(t.ns) * 1e-3 / static_cast<double>(times_.samples));
    }
    fmt::print(stderr, "\n");
  }
}

PmStatus CuptiPmDevice::open() {
  const Timer timer(times_, kEnable);
  WARPMETER_PARAMS(CUpti_PmSampling_Enable, p);
  p.deviceIndex = static_cast<std::size_t>(gpu_.ordinal);
  if (const int code = cupti_.cuptiPmSamplingEnable(&p)) return {code, "cuptiPmSamplingEnable"};
  object_ = p.pPmSamplingObject;
  return {};
}

void CuptiPmDevice::close() {
  if (object_ == nullptr) return;
  if (sampling_) (void)stop();
  sampling_ = false;
  const Timer timer(times_, kDisable);
  WARPMETER_PARAMS(CUpti_PmSampling_Disable, p);
  p.pPmSamplingObject = object_;
  cupti_.cuptiPmSamplingDisable(&p);
  object_ = nullptr;
}

PmStatus CuptiPmDevice::configImage(const MetricGroup& group, const std::vector<std::uint8_t>*& image) {
  std::vector<std::uint8_t>& config = configs_[&group];
  image = &config;
  if (!config.empty()) return {};
  const std::vector<std::string> asked = group.asked();
  std::vector<const char*> names;
  for (const std::string& name : asked) names.push_back(name.c_str());
  HostObject host(cupti_);
  if (const PmStatus s = host.create(chip_, names); !s.ok()) return s;
  return host.image(config);
}

PmStatus CuptiPmDevice::configure(const MetricGroup& group, std::int64_t intervalNs,
                                  std::size_t bufferBytes) {
  const std::vector<std::uint8_t>* config = nullptr;
  if (const PmStatus s = configImage(group, config); !s.ok()) return s;
  if (verbose_) {
    std::string line =
        fmt::format("sampler: {} counters every {} ns, hardware buffer {} MiB, config image {} bytes",
                    group.asked().size(), intervalNs, bufferBytes >> 20, config->size());
    if (told_.insert(line).second) fmt::print(stderr, "{}\n", line);
  }
  for (auto& [set, decoder] : decoders_) decoder->room = 0;
  const Timer timer(times_, kSetConfig);
  WARPMETER_PARAMS(CUpti_PmSampling_SetConfig, p);
  p.pPmSamplingObject = object_;
  p.configSize = config->size();
  p.pConfig = config->data();
  p.hardwareBufferSize = bufferBytes;
  p.samplingInterval = interval(intervalNs);
  p.triggerMode = sysclkTrigger_ ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL
                                 : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  // The oldest are kept: an overflow is then an end with a time, not a hole somewhere.
  p.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  return {cupti_.cuptiPmSamplingSetConfig(&p), "cuptiPmSamplingSetConfig"};
}

PmStatus CuptiPmDevice::prepare(const MetricSet& set, std::size_t samples) {
  std::unique_ptr<Decoder>& decoder = decoders_[&set];
  if (decoder == nullptr) {
    auto made = std::make_unique<Decoder>(Decoder{&set, {}, HostObject(cupti_), {}, 0, false});
    for (const MetricColumn& column : set.columns) made->asked.push_back(column.asked.c_str());
    if (const PmStatus s = made->host.create(chip_, made->asked); !s.ok()) return s;
    decoder = std::move(made);
  }
  current_ = decoder.get();
  // Every byte of the image is written before each decoding: not much larger than necessary.
  if (samples <= current_->room && samples * 2 > current_->room) return {};
  return makeRoom(*current_, samples + samples / 8);
}

PmStatus CuptiPmDevice::makeRoom(Decoder& decoder, std::size_t samples) {
  const Timer timer(times_, kDataSize);
  WARPMETER_PARAMS(CUpti_PmSampling_GetCounterDataSize, p);
  p.pPmSamplingObject = object_;
  p.pMetricNames = decoder.asked.data();
  p.numMetrics = decoder.asked.size();
  p.maxSamples = static_cast<std::uint32_t>(samples);
  if (const int code = cupti_.cuptiPmSamplingGetCounterDataSize(&p))
    return {code, "cuptiPmSamplingGetCounterDataSize"};
  decoder.image.resize(p.counterDataSize);
  decoder.room = samples;
  return {};
}

std::uint64_t CuptiPmDevice::interval(std::int64_t intervalNs) const {
  if (!sysclkTrigger_) return static_cast<std::uint64_t>(intervalNs);
  // The system clock itself cannot be asked for; it runs close to the SM clock. The samples carry their real
  // times.
  const double ghz = gpu_.clockKhz > 0 ? gpu_.clockKhz * 1e-6 : 1.4;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(static_cast<double>(intervalNs) * ghz)));
}

PmStatus CuptiPmDevice::initializeImage() {
  const Timer timer(times_, kInitialize);
  WARPMETER_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize, p);
  p.pPmSamplingObject = object_;
  p.counterDataSize = current_->image.size();
  p.pCounterData = current_->image.data();
  return {cupti_.cuptiPmSamplingCounterDataImageInitialize(&p), "cuptiPmSamplingCounterDataImageInitialize"};
}

PmStatus CuptiPmDevice::start() {
  const Timer timer(times_, kStart);
  WARPMETER_PARAMS(CUpti_PmSampling_Start, p);
  p.pPmSamplingObject = object_;
  const int code = cupti_.cuptiPmSamplingStart(&p);
  sampling_ = code == 0;
  return {code, "cuptiPmSamplingStart"};
}

PmStatus CuptiPmDevice::stop() {
  const Timer timer(times_, kStop);
  WARPMETER_PARAMS(CUpti_PmSampling_Stop, p);
  p.pPmSamplingObject = object_;
  sampling_ = false;
  return {cupti_.cuptiPmSamplingStop(&p), "cuptiPmSamplingStop"};
}

DecodeResult CuptiPmDevice::decode(SampleBlock& block) {
  DecodeResult result;
  result.status = initializeImage();
  if (!result.status.ok()) return result;
  WARPMETER_PARAMS(CUpti_PmSampling_DecodeData, p);
  p.pPmSamplingObject = object_;
  p.pCounterDataImage = current_->image.data();
  p.counterDataImageSize = current_->image.size();
  int code = 0;
  {
    const Timer timer(times_, kDecode);
    code = cupti_.cuptiPmSamplingDecodeData(&p);
  }
  result.overflow = p.overflow != 0 || code == CUPTI_ERROR_OUT_OF_MEMORY;
  if (code != 0) {
    result.status = {code, "cuptiPmSamplingDecodeData"};
    return result;
  }
  result.full = p.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  result.status = readSamples(block, result.full);
  return result;
}

PmStatus CuptiPmDevice::readSamples(SampleBlock& block, bool& lost) {
  const Timer timer(times_, kEvaluate);
  const std::vector<std::uint8_t>& image = current_->image;
  WARPMETER_PARAMS(CUpti_PmSampling_GetCounterDataInfo, info);
  info.pCounterDataImage = image.data();
  info.counterDataImageSize = image.size();
  if (const int code = cupti_.cuptiPmSamplingGetCounterDataInfo(&info)) {
    return {code, "cuptiPmSamplingGetCounterDataInfo"};
  }
  times_.samples += static_cast<std::int64_t>(info.numCompletedSamples);
  const std::vector<MetricColumn>& columns = current_->set->columns;
  for (std::size_t i = 0; i < info.numCompletedSamples; ++i) {
    WARPMETER_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo, sample);
    sample.pPmSamplingObject = object_;
    sample.pCounterDataImage = image.data();
    sample.counterDataImageSize = image.size();
    sample.sampleIndex = i;
    if (const int code = cupti_.cuptiPmSamplingCounterDataGetSampleInfo(&sample)) {
      return {code, "cuptiPmSamplingCounterDataGetSampleInfo"};
    }
    if (sample.startTimestamp == sample.endTimestamp) {  // covers no time; without one: what was lost
      lost = lost || sample.startTimestamp == 0;
      continue;
    }
    const std::size_t at = block.values.size();
    block.values.resize(at + columns.size(), std::numeric_limits<double>::quiet_NaN());
    double* row = block.values.data() + at;
    if (!current_->host.evaluate(image, i, current_->asked, row).ok()) {
      std::fill_n(row, columns.size(), std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const int factor = columns[c].factor;
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
    if (!told_.insert(name).second) continue;
    const std::vector<const char*> one = {name.c_str()};
    double value = 0;
    const PmStatus s = current_->host.evaluate(current_->image, 0, one, &value);
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
