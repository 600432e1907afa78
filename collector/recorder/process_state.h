// SPDX-License-Identifier: Apache-2.0
// Everything the writer thread keeps about one guest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cupti_records.h"
#include "item_queue.h"
#include "own_records.h"
#include "process_context.h"
#include "record_walk.h"
#include "warpmeter/profile/info.h"

namespace warpmeter::recorder {

// How the recorder learned that a guest is gone.
struct ProcessEnd {
  std::int64_t exitNs = kNull;       // session time
  std::string exitHow = "unknown";
  GuestCounters counters;
};

class ProcessState {
 public:
  ProcessState(Session& session, std::shared_ptr<const GuestMemory> memory, ProcessInfo info);

  // Rows go to out; they are not committed here.
  void decode(const Chunk& chunk, RowBatch& out);
  void expire(std::int64_t nowNs, RowBatch& out) { cupti_.nesting().expire(nowNs, out.apis); }
  void end(const ProcessEnd& end, RowBatch& out);
  void noteCounters(const GuestCounters& counters);           // what was lost since the last call -> losses
  std::vector<std::pair<std::string_view, std::pair<std::int64_t, std::int64_t>>> selfCosts() const;  // what -> ns, count
  std::int64_t selfCostNs() const;                            // on application threads, at least

  void threadRows(RowBatch& out, bool alive);
  ProcessInfo& info() { return info_; }
  void refreshStatus();                                        // info().status, cuptiVersion, cuptiPath
  bool ended() const { return ended_; }
  bool recordedAnything() const { return cuptiRecords_ > 0; }
  bool cuInitSeen() const { return own_.cuInitSeen() || cuptiRecords_ > 0; }
  const RecordCounts& counts() const { return cupti_.counts(); }
  ProcessContext& context() { return context_; }
  CuptiRecords& cupti() { return cupti_; }
  OwnRecords& own() { return own_; }
  const GuestMemory& memory() const { return *memory_; }
  void release();                                              // unmaps; only info and counts stay

 private:
  void decodeCupti(const Chunk& chunk, RowBatch& out);
  void injectionMarks(RowBatch& out);
  void statusLosses();

  std::shared_ptr<const GuestMemory> memory_;
  ProcessInfo info_;
  ProcessContext context_;
  CuptiRecords cupti_;
  OwnRecords own_;
  GuestCounters seen_;
  std::int64_t cuptiRecords_ = 0;
  bool injectionMarked_ = false, ended_ = false;
};

}  // namespace warpmeter::recorder
