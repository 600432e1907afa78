// SPDX-License-Identifier: Apache-2.0
#include "own_records.h"

#include <algorithm>
#include <cstring>

#include "record_walk.h"

namespace warpmeter::recorder {
namespace {

// nvtxPayloadType_t
enum : std::uint32_t { kUnsigned64 = 1, kSigned64 = 2, kUnsigned32 = 4, kSigned32 = 5 };

template <class Record>
Record load(const std::byte* bytes, std::size_t size) {
  Record record{};
  std::memcpy(&record, bytes, std::min(size, sizeof record));
  return record;
}

}  // namespace

void OwnRecords::decode(std::span<const std::byte> bytes, RowBatch& out) {
  const bool whole = walkOwnRecords(bytes, [&](const wire::OwnHeader& header, const std::byte* at, std::size_t size) {
    if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::mark)) {
      mark(load<wire::MarkRecord>(at, size), out);
    } else if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::rangedImage)) {
      if (onRangedImage) onRangedImage({at, size});
    } else if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::pcBatch)) {
      if (onPcBatch) onPcBatch({at, size});
    } else if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::cubin)) {
      if (onCubin) onCubin({at, size});
    } else {
      nvtx(load<wire::NvtxRecord>(at, size), out);
    }
  });
  if (!whole) context_.countLoss(loss::kInvalid, "a buffer of NVTX records could not be read to its end", kNull);
  countOrphans();
}

void OwnRecords::countOrphans() {
  context_.countLoss(loss::kNvtxOrphan, "NVTX ranges were ended that had not begun while recording", nvtx_.takeOrphans());
}

NvtxRow OwnRecords::rowOf(const wire::NvtxRecord& r) {
  NvtxRow row;
  row.start = context_.ownTime(r.header.t);
  row.textId = context_.textId(r.text);
  row.globalTid = context_.thread(r.header.tid);
  row.domainId = r.domainId;
  if (r.category != 0) row.category = r.category;
  if (r.hasColor != 0) row.color = r.color;
  const auto payload = static_cast<std::int64_t>(r.payload);
  switch (r.payloadType) {
    case kUnsigned64: row.uint64Value = payload; break;
    case kSigned64: row.int64Value = payload; break;
    case kUnsigned32: row.uint64Value = static_cast<std::uint32_t>(r.payload); break;
    case kSigned32: row.int64Value = static_cast<std::int32_t>(r.payload); break;
    default: break;
  }
  return row;
}

void OwnRecords::nameRow(const wire::NvtxRecord& record, std::int64_t eventType, RowBatch& out) {
  NvtxRow row = rowOf(record);
  row.eventType = eventType;
  out.nvtx.push_back(row);
}

void OwnRecords::nvtx(const wire::NvtxRecord& r, RowBatch& out) {
  switch (static_cast<wire::OwnKind>(r.header.kind)) {
    case wire::OwnKind::nvtxPush: nvtx_.push(rowOf(r)); break;
    case wire::OwnKind::nvtxPop:
      nvtx_.pop(context_.thread(r.header.tid), r.domainId, context_.ownTime(r.header.t), out.nvtx);
      break;
    case wire::OwnKind::nvtxStart: {
      NvtxRow row = rowOf(r);
      row.rangeId = static_cast<std::int64_t>(r.rangeId);
      nvtx_.start(row, out.nvtx);
      break;
    }
    case wire::OwnKind::nvtxEnd:
      nvtx_.end(static_cast<std::int64_t>(r.rangeId), context_.thread(r.header.tid), context_.ownTime(r.header.t),
                out.nvtx);
      break;
    case wire::OwnKind::nvtxMark: nameRow(r, nvtx_event::kMark, out); break;
    case wire::OwnKind::nvtxDomain: nameRow(r, nvtx_event::kDomainCreate, out); break;
    case wire::OwnKind::nvtxDomainDestroy: nameRow(r, nvtx_event::kDomainDestroy, out); break;
    case wire::OwnKind::nvtxCategory: nameRow(r, nvtx_event::kCategory, out); break;
    case wire::OwnKind::nvtxThreadName: {
      wire::NvtxRecord named = r;  // the row belongs to the thread that is named, not to the one that names it
      named.header.tid = static_cast<std::uint32_t>(r.rangeId);
      nameRow(named, nvtx_event::kThreadName, out);
      break;
    }
    default: context_.countLoss(loss::kUnknownKind, "records of a kind that this version does not know", 1); break;
  }
}

void OwnRecords::mark(const wire::MarkRecord& r, RowBatch& out) {
  MarkRow row;
  row.t = context_.ownTime(r.header.t);
  row.globalTid = context_.thread(r.header.tid);
  row.kind = r.markKind;
  if (r.contextId != 0) row.contextId = r.contextId;
  if (r.moduleId != 0) row.moduleId = static_cast<std::int64_t>(r.moduleId);
  if (r.bytes != 0) row.bytes = static_cast<std::int64_t>(r.bytes);
  cuInitSeen_ = cuInitSeen_ || r.markKind == static_cast<std::uint32_t>(MarkKind::cuInitFinished);
  out.marks.push_back(row);
}

void OwnRecords::processEnded(std::int64_t t, RowBatch& out) {
  const auto closed = nvtx_.closeAll(t, out.nvtx);
  context_.countLoss(loss::kNvtxOpen, "NVTX ranges were open when the process ended: their ends are its end", closed, t);
  countOrphans();
}

}  // namespace warpmeter::recorder
