// SPDX-License-Identifier: Apache-2.0
// One session of the Range Profiler: a context, a configuration, up to kMaxRanges ranges. Opening is a
// transaction.
#pragma once

#include <cstdint>

#include "range_functions.h"
#include "reasons.h"
#include "warpmeter/counters_guest/exact.h"

namespace warpmeter::counters {

class ExactSession {
 public:
  bool isOpen() const { return object_ != nullptr; }
  bool isFull() const { return record_ != nullptr && record_->launches == capacity_; }
  bool matches(CUcontext context, std::uint32_t configuration) const {
    return isOpen() && context_ == context && configuration_ == configuration;
  }
  std::uint32_t configuration() const { return configuration_; }

  enum class Opened : std::uint8_t { yes, noSlot, failed };
  // noSlot: no buffer was free, worth another try later. Nothing is left open unless it says yes.
  Opened open(const RangeFunctions& functions, const ExactHost& host, CUcontext context,
              std::uint32_t configuration, StepFailure& failure) noexcept;

  // Not full. The calling thread launches between the two.
  bool push(StepFailure& failure) noexcept;
  bool pop(std::uint32_t correlationId, std::uint32_t kernel, StepFailure& failure) noexcept;
  void markLast(std::uint32_t flags) noexcept { record_->launch[record_->launches - 1].flags = flags; }

  // Reads the counters and sends the image. The session is over in any case; false: what it had measured is
  // lost.
  bool close(StepFailure& failure) noexcept;
  void forget() noexcept {
    object_ = nullptr;
    record_ = nullptr;
  }

 private:
  bool prepareImage(StepFailure& failure, bool& noSlot) noexcept;
  void disable() noexcept;
  void dropSlot() noexcept;

  const RangeFunctions* functions_ = nullptr;
  const ExactHost* host_ = nullptr;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  CUcontext context_ = nullptr;
  std::uint32_t configuration_ = 0, capacity_ = 0;
  Slot slot_;
  wire::RangedImageRecord* record_ = nullptr;  // in the slot
  std::uint8_t* image_ = nullptr;              // behind it
  std::uint64_t imageBytes_ = 0;
  std::int64_t pushedNs_ = 0;
};

}  // namespace warpmeter::counters
