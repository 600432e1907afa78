// SPDX-License-Identifier: Apache-2.0
// CUPTI's host object for the Range Profiler: configuration images and values of ranges. Needs no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cupti_library.h"

namespace warpmeter::sampler {

class RangeHost {
 public:
  explicit RangeHost(const Cupti& cupti) : cupti_(cupti) {}
  RangeHost(const RangeHost&) = delete;
  RangeHost& operator=(const RangeHost&) = delete;
  ~RangeHost();

  // CUPTI's results; 0 = fine. After an error the object is of no further use.
  int create(const std::string& chip, std::span<const std::string> metrics);
  int image(std::vector<std::uint8_t>& bytes);
  int passes(std::vector<std::uint8_t>& image, std::size_t& count);
  int evaluate(std::span<const std::uint8_t> counterData, std::size_t range, std::span<double> values);

 private:
  const Cupti& cupti_;
  std::vector<std::string> metrics_;
  std::vector<const char*> names_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

}  // namespace warpmeter::sampler
