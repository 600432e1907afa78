// SPDX-License-Identifier: Apache-2.0
// Our own records (NVTX and marks) -> rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "nvtx_pairing.h"
#include "process_context.h"
#include "row_batch.h"
#include "warpmeter/wire/records.h"

namespace warpmeter::recorder {

class OwnRecords {
 public:
  explicit OwnRecords(ProcessContext& context) : context_(context) {}

  void decode(std::span<const std::byte> bytes, RowBatch& out);
  void processEnded(std::int64_t t, RowBatch& out);   // ends open ranges, counts them

  // Exact mode's records go here; set by the store.
  std::function<void(std::span<const std::byte>)> onRangedImage;
  // PC sampling's; set by the store. A batch has at least its header.
  std::function<void(std::span<const std::byte>)> onPcBatch, onCubin;

  bool cuInitSeen() const { return cuInitSeen_; }
  std::size_t openRanges() const { return nvtx_.open(); }

 private:
  void countOrphans();
  void nvtx(const wire::NvtxRecord& record, RowBatch& out);
  void mark(const wire::MarkRecord& record, RowBatch& out);
  NvtxRow rowOf(const wire::NvtxRecord& record);
  void nameRow(const wire::NvtxRecord& record, std::int64_t eventType, RowBatch& out);

  ProcessContext& context_;
  NvtxPairing nvtx_;
  bool cuInitSeen_ = false;
};

}  // namespace warpmeter::recorder
