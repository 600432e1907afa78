// SPDX-License-Identifier: Apache-2.0
#include "host_object.h"

namespace warpmeter::sampler {

HostObject::~HostObject() {
  if (object_ == nullptr) return;
  WARPMETER_PARAMS(CUpti_Profiler_Host_Deinitialize, p);
  p.pHostObject = object_;
  cupti_->cuptiProfilerHostDeinitialize(&p);
}

PmStatus HostObject::create(const std::string& chip, const std::vector<const char*>& metrics) {
  WARPMETER_PARAMS(CUpti_Profiler_Host_Initialize, p);
  p.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
  p.pChipName = chip.c_str();
  if (const int code = cupti_->cuptiProfilerHostInitialize(&p)) return {code, "cuptiProfilerHostInitialize"};
  object_ = p.pHostObject;
  if (metrics.empty()) return {};
  WARPMETER_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, add);
  add.pHostObject = object_;
  add.ppMetricNames = const_cast<const char**>(metrics.data());
  add.numMetrics = metrics.size();
  return {cupti_->cuptiProfilerHostConfigAddMetrics(&add), "cuptiProfilerHostConfigAddMetrics"};
}

PmStatus HostObject::image(std::vector<std::uint8_t>& bytes) {
  WARPMETER_PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
  size.pHostObject = object_;
  if (const int code = cupti_->cuptiProfilerHostGetConfigImageSize(&size)) {
    return {code, "cuptiProfilerHostGetConfigImageSize"};
  }
  bytes.resize(size.configImageSize);
  WARPMETER_PARAMS(CUpti_Profiler_Host_GetConfigImage, p);
  p.pHostObject = object_;
  p.configImageSize = bytes.size();
  p.pConfigImage = bytes.data();
  return {cupti_->cuptiProfilerHostGetConfigImage(&p), "cuptiProfilerHostGetConfigImage"};
}

PmStatus HostObject::passes(const std::vector<std::uint8_t>& image, std::size_t& count) {
  WARPMETER_PARAMS(CUpti_Profiler_Host_GetNumOfPasses, p);
  p.configImageSize = image.size();
  p.pConfigImage = const_cast<std::uint8_t*>(image.data());
  const int code = cupti_->cuptiProfilerHostGetNumOfPasses(&p);
  count = p.numOfPasses;
  return {code, "cuptiProfilerHostGetNumOfPasses"};
}

PmStatus HostObject::evaluate(const std::vector<std::uint8_t>& counterData, std::size_t sample,
                              const std::vector<const char*>& metrics, double* values) {
  WARPMETER_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, p);
  p.pHostObject = object_;
  p.pCounterDataImage = counterData.data();
  p.counterDataImageSize = counterData.size();
  p.rangeIndex = sample;
  p.ppMetricNames = const_cast<const char**>(metrics.data());
  p.numMetrics = metrics.size();
  p.pMetricValues = values;
  return {cupti_->cuptiProfilerHostEvaluateToGpuValues(&p), "cuptiProfilerHostEvaluateToGpuValues"};
}

PmStatus CuptiMetricHost::check() { return HostObject(cupti_).create(chip_, {}); }

bool CuptiMetricHost::fitsOnePass(const std::vector<std::string>& asked) {
  std::vector<const char*> names;
  for (const std::string& name : asked) names.push_back(name.c_str());
  HostObject object(cupti_);
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
  return object.create(chip_, names).ok() && object.image(image).ok() && object.passes(image, passes).ok() &&
         passes == 1;
}

std::vector<std::string> supportedChips(const Cupti& cupti) {
  WARPMETER_PARAMS(CUpti_Profiler_Host_GetSupportedChips, p);
  std::vector<std::string> chips;
  if (cupti.cuptiProfilerHostGetSupportedChips(&p) != CUPTI_SUCCESS) return chips;
  for (std::size_t i = 0; i < p.numChips; ++i) chips.emplace_back(p.ppChipNames[i]);
  return chips;
}

}  // namespace warpmeter::sampler
