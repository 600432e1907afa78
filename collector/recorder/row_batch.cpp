// SPDX-License-Identifier: Apache-2.0
#include "row_batch.h"

namespace warpmeter::recorder {
namespace {

template <class Row>
bool put(ProfileWriter& writer, const std::vector<Row>& rows, Result<void>& result) {
  if (!rows.empty()) result = writer.append(std::span<const Row>(rows));
  return result.ok();
}

}  // namespace

std::size_t RowBatch::rows() const {
  return kernels.size() + untimed.size() + apis.size() + copies.size() + memsets.size() + syncs.size() +
         events.size() + overheads.size() + nvtx.size() + memory.size() + latencies.size() + marks.size() + streams.size() +
         contexts.size() + threads.size();
}

void RowTotals::add(const RowTotals& o) {
  kernels += o.kernels;
  untimed += o.untimed;
  copies += o.copies;
  copyBytes += o.copyBytes;
  memsets += o.memsets;
  apiCalls += o.apiCalls;
  syncs += o.syncs;
  ranges += o.ranges;
}

RowTotals RowBatch::totals() const {
  const auto size = [](const auto& rows_) { return static_cast<std::int64_t>(rows_.size()); };
  RowTotals t{size(kernels), size(untimed), size(copies), 0, size(memsets), size(apis), size(syncs), 0};
  for (const MemcpyRow& row : copies) t.copyBytes += row.bytes;
  for (const NvtxRow& row : nvtx) t.ranges += isNull(row.end) ? 0 : 1;
  return t;
}

void RowBatch::clear() {
  kernels.clear();
  untimed.clear();
  apis.clear();
  copies.clear();
  memsets.clear();
  syncs.clear();
  events.clear();
  overheads.clear();
  nvtx.clear();
  memory.clear();
  latencies.clear();
  marks.clear();
  streams.clear();
  contexts.clear();
  threads.clear();
}

Result<void> RowBatch::appendTo(ProfileWriter& writer) const {
  Result<void> result;
  if (!untimed.empty()) result = writer.appendUntimed(std::span<const KernelRow>(untimed));
  if (!result.ok()) return result;
  (void)(put(writer, kernels, result) && put(writer, apis, result) && put(writer, copies, result) &&
         put(writer, memsets, result) && put(writer, syncs, result) && put(writer, events, result) &&
         put(writer, overheads, result) && put(writer, nvtx, result) && put(writer, memory, result) &&
         put(writer, latencies, result) &&
         put(writer, marks, result) && put(writer, streams, result) && put(writer, contexts, result) &&
         put(writer, threads, result));
  return result;
}

}  // namespace warpmeter::recorder
