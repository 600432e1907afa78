// SPDX-License-Identifier: Apache-2.0
// Which driver calls are stored: one inside a runtime call of the same thread says nothing new, unless it loads or
// unloads code or makes or destroys a context (cold start needs those).
//
// The runtime call's record comes after those of the driver calls inside it, and whole buffers may overtake each
// other. So a driver call is held back until it is decided: by a runtime call around it, or by running out of time
// (kHoldNs of arrival time) or room (kMaxHeld per thread). The last kRemembered runtime calls of a thread are kept
// for driver calls that arrive late.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "warpmeter/profile/rows.h"

namespace warpmeter::recorder {

// Driver calls (cbid of cupti_driver_cbid.h) that are stored even inside a runtime call.
bool isKeptInsideRuntimeCall(std::uint32_t driverCbid);

class ApiNesting {
 public:
  static constexpr std::int64_t kHoldNs = 1'500'000'000;
  static constexpr std::size_t kMaxHeld = 16384, kRemembered = 4096;

  // Rows that are decided go to `out`; `nowNs` is any clock that only moves forward.
  void runtimeCall(const ApiRow& row, std::vector<ApiRow>& out);
  void driverCall(const ApiRow& row, std::uint32_t cbid, std::int64_t nowNs, std::vector<ApiRow>& out);
  void expire(std::int64_t nowNs, std::vector<ApiRow>& out);
  void flush(std::vector<ApiRow>& out);  // the process is gone: what is held was not inside a runtime call
  std::size_t held() const { return held_; }

 private:
  struct Held {
    ApiRow row;
    std::int64_t arrivedNs;
  };
  struct Interval {
    std::int64_t start, end;
  };
  struct Thread {
    std::deque<Held> held;
    std::deque<Interval> runtime;   // by start; the last kRemembered
  };
  std::unordered_map<std::int64_t, Thread> threads_;
  std::int64_t lastThread_ = kNull;
  Thread* last_ = nullptr;
  std::size_t held_ = 0;

  Thread& threadOf(std::int64_t globalTid);
  static bool insideRemembered(const Thread& thread, const ApiRow& row);
  void decideOldest(Thread& thread, std::vector<ApiRow>& out);
};

}  // namespace warpmeter::recorder
