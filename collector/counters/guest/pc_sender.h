// SPDX-License-Identifier: Apache-2.0
// Portions of PC samples on their way into slots, with everything that has to be told beside them. What found
// no slot is counted and told with the next batch. One thread at a time.
#pragma once

#include "pc_session.h"

namespace warpmeter::counters {

class PcSender {
 public:
  // Differences since the last batch; the sender adds samples.
  wire::PcBatchRecord& pending() { return pending_; }

  void send(const PcHost& host, const PcSession& session, const CUpti_PCSamplingData& portion) noexcept;
  // What is pending, if anything is.
  void flush(const PcHost& host, const PcSession& session) noexcept;

 private:
  bool anything() const noexcept;
  std::uint64_t nameOf(const PcHost& host, const char* function) noexcept;
  wire::PcBatchRecord* begin(const PcHost& host, Slot& slot, std::uint64_t entries) noexcept;
  void finish(const PcHost& host, const PcSession& session, Slot slot, wire::PcBatchRecord* record) noexcept;

  wire::PcBatchRecord pending_{};
  // Names repeat in consecutive entries.
  const char* lastPointer_ = nullptr;
  std::uint64_t lastName_ = 0;
  static constexpr std::uint32_t kPointers = 4096;
  const char* pointers_[kPointers] = {};  // seen before; a full neighbourhood counts again
};

}  // namespace warpmeter::counters
