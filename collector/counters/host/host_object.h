// SPDX-License-Identifier: Apache-2.0
// CUPTI's host object: knows the metrics of a chip, makes configuration images, evaluates counter data. Needs
// no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cupti_library.h"
#include "metric_sets.h"
#include "pm_device.h"

namespace warpmeter::sampler {

// The host object of one list of metrics. After a rejection it is of no further use: CUPTI forgets nothing.
class HostObject {
 public:
  explicit HostObject(const Cupti& cupti) : cupti_(&cupti) {}
  HostObject(HostObject&& other) noexcept
      : cupti_(other.cupti_), object_(std::exchange(other.object_, nullptr)) {}
  HostObject& operator=(HostObject&&) = delete;
  ~HostObject();

  PmStatus create(const std::string& chip, const std::vector<const char*>& metrics);
  PmStatus image(std::vector<std::uint8_t>& bytes);
  PmStatus passes(const std::vector<std::uint8_t>& image, std::size_t& count);
  // values: one for each metric of `metrics`.
  PmStatus evaluate(const std::vector<std::uint8_t>& counterData, std::size_t sample,
                    const std::vector<const char*>& metrics, double* values);

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

class CuptiMetricHost : public MetricHost {
 public:
  CuptiMetricHost(const Cupti& cupti, std::string chip) : cupti_(cupti), chip_(std::move(chip)) {}
  // Loads CUPTI's knowledge of the chip. 46: it knows no such chip; 27: one without PM sampling.
  PmStatus check();
  bool fitsOnePass(const std::vector<std::string>& asked) override;

 private:
  const Cupti& cupti_;
  std::string chip_;
};

// Names of all chips that this CUPTI knows.
std::vector<std::string> supportedChips(const Cupti& cupti);

// structSize and NULL in pPriv, as every CUPTI parameter block wants it.
#define WARPMETER_PARAMS(Type, variable) \
  Type##_Params variable{};              \
  variable.structSize = Type##_Params_STRUCT_SIZE

}  // namespace warpmeter::sampler
