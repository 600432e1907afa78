// SPDX-License-Identifier: Apache-2.0
#include "range_host.h"

namespace warpmeter::sampler {
namespace {

template <class Params>
Params sized(std::size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}
#define WARPMETER_SIZED(Type) sized<Type##_Params>(Type##_Params_STRUCT_SIZE)

}  // namespace

RangeHost::~RangeHost() {
  if (object_ == nullptr) return;
  auto p = WARPMETER_SIZED(CUpti_Profiler_Host_Deinitialize);
  p.pHostObject = object_;
  cupti_.cuptiProfilerHostDeinitialize(&p);
}

int RangeHost::create(const std::string& chip, std::span<const std::string> metrics) {
  metrics_.assign(metrics.begin(), metrics.end());
  for (const std::string& metric : metrics_) names_.push_back(metric.c_str());
  auto p = WARPMETER_SIZED(CUpti_Profiler_Host_Initialize);
  p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  p.pChipName = chip.c_str();
  if (const int code = cupti_.cuptiProfilerHostInitialize(&p)) return code;
  object_ = p.pHostObject;
  if (names_.empty()) return 0;
  auto add = WARPMETER_SIZED(CUpti_Profiler_Host_ConfigAddMetrics);
  add.pHostObject = object_;
  add.ppMetricNames = names_.data();
  add.numMetrics = names_.size();
  return cupti_.cuptiProfilerHostConfigAddMetrics(&add);
}

int RangeHost::image(std::vector<std::uint8_t>& bytes) {
  auto size = WARPMETER_SIZED(CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = object_;
  if (const int code = cupti_.cuptiProfilerHostGetConfigImageSize(&size)) return code;
  bytes.resize(size.configImageSize);
  auto p = WARPMETER_SIZED(CUpti_Profiler_Host_GetConfigImage);
  p.pHostObject = object_;
  p.configImageSize = bytes.size();
  p.pConfigImage = bytes.data();
  return cupti_.cuptiProfilerHostGetConfigImage(&p);
}

int RangeHost::passes(std::vector<std::uint8_t>& image, std::size_t& count) {
  auto p = WARPMETER_SIZED(CUpti_Profiler_Host_GetNumOfPasses);
  p.configImageSize = image.size();
  p.pConfigImage = image.data();
  const int code = cupti_.cuptiProfilerHostGetNumOfPasses(&p);
  count = p.numOfPasses;
  return code;
}

int RangeHost::evaluate(std::span<const std::uint8_t> counterData, std::size_t range,
                        std::span<double> values) {
  auto p = WARPMETER_SIZED(CUpti_Profiler_Host_EvaluateToGpuValues);
  p.pHostObject = object_;
  p.pCounterDataImage = counterData.data();
  p.counterDataImageSize = counterData.size();
  p.rangeIndex = range;
  p.ppMetricNames = names_.data();
  p.numMetrics = names_.size();
  p.pMetricValues = values.data();
  return cupti_.cuptiProfilerHostEvaluateToGpuValues(&p);
}

}  // namespace warpmeter::sampler
