// SPDX-License-Identifier: Apache-2.0
// Rows on their way into the file, by table.
#pragma once

#include <cstddef>
#include <vector>

#include "warpmeter/profile/info.h"
#include "warpmeter/profile/result.h"
#include "warpmeter/profile/rows.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::recorder {

// Rows of the tables that people count.
struct RowTotals {
  std::int64_t kernels = 0, untimed = 0, copies = 0, copyBytes = 0, memsets = 0, apiCalls = 0, syncs = 0, ranges = 0;
  void add(const RowTotals& other);
};

struct RowBatch {
  std::vector<KernelRow> kernels, untimed;
  std::vector<ApiRow> apis;
  std::vector<MemcpyRow> copies;
  std::vector<MemsetRow> memsets;
  std::vector<SyncRow> syncs;
  std::vector<CudaEventRow> events;
  std::vector<OverheadRow> overheads;
  std::vector<NvtxRow> nvtx;
  std::vector<MemoryRow> memory;
  std::vector<LatencyRow> latencies;
  std::vector<MarkRow> marks;
  std::vector<StreamRow> streams;
  std::vector<ContextRow> contexts;
  std::vector<ThreadRow> threads;

  std::size_t rows() const;
  RowTotals totals() const;
  void clear();  // keeps the capacity
  Result<void> appendTo(ProfileWriter& writer) const;
};

}  // namespace warpmeter::recorder
