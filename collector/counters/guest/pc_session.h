// SPDX-License-Identifier: Apache-2.0
// PC sampling of one context: opening is a transaction, reading hands each portion of what CUPTI collected to
// a function. One thread at a time.
#pragma once

#include <cstdint>

#include "pc_functions.h"
#include "reasons.h"
#include "warpmeter/counters_guest/pc.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::counters {

class PcSession {
 public:
  static constexpr std::uint32_t kMaxReasons = 128;
  static constexpr std::size_t kPcs = 4096;  // fetched at once

  bool isOpen() const { return context_ != nullptr; }
  CUcontext context() const { return context_; }
  const char* chip() const { return chip_; }
  std::uint32_t periodLog2() const { return periodLog2_; }

  // Nothing is left enabled unless it says true.
  bool open(const PcFunctions& functions, const PcHost& host, CUcontext context, std::uint32_t device,
            StepFailure& failure) noexcept;

  // Calls take(portion) for each portion until there is nothing left. False: CUPTI failed; bufferFull:
  // because the hardware's buffer was full, then only closing and opening again helps.
  template <class Take>
  bool read(bool& bufferFull, StepFailure& failure, const Take& take) noexcept {
    bufferFull = false;
    for (int round = 0; round < kRounds; ++round) {
      failure = fetch();
      bufferFull = failure.result == CUPTI_ERROR_OUT_OF_MEMORY || fetched_->hardwareBufferFull != 0;
      if (failure.result != CUPTI_SUCCESS && !bufferFull) return false;
      take(*fetched_);
      if (bufferFull) return false;
      if (fetched_->remainingNumPcs == 0) return true;
    }
    return true;  // the rest next time
  }

  // Ends sampling; what CUPTI still had comes as one more portion.
  template <class Take>
  bool close(StepFailure& failure, const Take& take) noexcept {
    failure = disable();
    if (failure.result == CUPTI_SUCCESS) take(*last_);
    return failure.result == CUPTI_SUCCESS;
  }
  void forget() noexcept { context_ = nullptr; }

  // String reference of a stall reason's name, 0 = unknown index.
  std::uint32_t reasonOf(std::uint32_t index) const noexcept;
  // Whether its samples are in another reason too, see wire::countsAgain().
  bool countsAgain(std::uint32_t index) const noexcept;

 private:
  static constexpr int kRounds = 256;
  std::size_t placeOf(std::uint32_t index) const noexcept;  // in the tables of reasons; kMaxReasons = unknown
  bool reserve() noexcept;
  bool nameReasons(StepFailure& failure) noexcept;
  bool configure(StepFailure& failure) noexcept;
  void readPeriod() noexcept;
  StepFailure fetch() noexcept;
  StepFailure disable() noexcept;
  void prepare(CUpti_PCSamplingData& data) noexcept;

  const PcFunctions* functions_ = nullptr;
  const PcHost* host_ = nullptr;
  CUcontext context_ = nullptr;
  char chip_[wire::kPcChipBytes] = {};
  std::uint32_t periodLog2_ = 0;
  std::size_t reasons_ = 0;
  std::uint32_t reasonIndex_[kMaxReasons] = {}, reasonName_[kMaxReasons] = {};
  bool reasonAgain_[kMaxReasons] = {};
  // In memory of its own, kept for the next session: CUPTI was given pointers to it.
  CUpti_PCSamplingData* fetched_ = nullptr;
  CUpti_PCSamplingData* last_ = nullptr;  // what Disable leaves
};

}  // namespace warpmeter::counters
