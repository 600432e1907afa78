// SPDX-License-Identifier: Apache-2.0
#include "pc_sender.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "clock.h"

namespace warpmeter::counters {
namespace {

constexpr std::uint64_t kMostEntries = (kSlotBytes - sizeof(wire::PcBatchRecord)) / sizeof(wire::PcEntry);
constexpr std::size_t kMostNameBytes = 64 * 1024;

wire::PcEntry* entriesOf(wire::PcBatchRecord* record) { return reinterpret_cast<wire::PcEntry*>(record + 1); }

// CUPTI may say more than it was given room for.
template <class Visit>
void forEachSample(const CUpti_PCSamplingData& portion, const Visit& visit) {
  for (std::size_t i = 0; i < portion.totalNumPcs && i < PcSession::kPcs; ++i) {
    const CUpti_PCSamplingPCData& pc = portion.pPcData[i];
    for (std::size_t r = 0; r < pc.stallReasonCount && r < PcSession::kMaxReasons; ++r) {
      if (pc.stallReason[r].samples != 0) visit(pc, pc.stallReason[r]);
    }
  }
}

}  // namespace

bool PcSender::anything() const noexcept {
  const wire::PcBatchRecord& p = pending_;
  return p.samples + p.otherKernels + p.dropped + p.lost + p.bufferFull + p.refusedContexts + p.imagesLost +
                 p.setups + p.flushes !=
             0 ||
         p.state >= static_cast<std::uint32_t>(wire::PcState::ended);
}

std::uint64_t PcSender::nameOf(const PcHost& host, const char* function) noexcept {
  if (function == lastPointer_ && function != nullptr) return lastName_;
  lastPointer_ = function;
  if (function == nullptr) return lastName_ = host.nameOf("(unknown function)", 18);
  bool known = false;
  const std::uint64_t hash = (reinterpret_cast<std::uintptr_t>(function) >> 4) * 0x9e3779b97f4a7c15u >> 32;
  for (std::uint32_t i = 0; i < 8 && !known; ++i) {
    const char*& cell = pointers_[(hash + i) % kPointers];
    known = cell == function;
    if (cell == nullptr || (i == 7 && !known)) {
      cell = function;
      break;
    }
  }
  if (!known) ++pending_.names;
  return lastName_ = host.nameOf(function, strnlen(function, kMostNameBytes));
}

wire::PcBatchRecord* PcSender::begin(const PcHost& host, Slot& slot, std::uint64_t entries) noexcept {
  slot = host.takeSlot(sizeof(wire::PcBatchRecord) + entries * sizeof(wire::PcEntry));
  auto* record = reinterpret_cast<wire::PcBatchRecord*>(slot.start);
  if (record != nullptr) record->entries = 0;
  return record;
}

void PcSender::finish(const PcHost& host, const PcSession& session, Slot slot,
                      wire::PcBatchRecord* record) noexcept {
  const std::uint32_t entries = record->entries, device = pending_.deviceId;
  *record = pending_;
  record->entries = entries;
  record->periodLog2 = session.periodLog2();
  std::snprintf(record->chip, sizeof record->chip, "%s", session.chip());
  if (record->state == 0) record->state = static_cast<std::uint32_t>(wire::PcState::sampling);
  record->header = {};
  record->header.kind = static_cast<std::uint32_t>(wire::OwnKind::pcBatch);
  record->header.bytes = static_cast<std::uint32_t>(sizeof *record + entries * sizeof(wire::PcEntry));
  record->header.t = realtimeNow();
  record->header.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  host.giveSlot(slot, record->header.bytes);
  pending_ = wire::PcBatchRecord{};
  pending_.deviceId = device;
}

void PcSender::send(const PcHost& host, const PcSession& session,
                    const CUpti_PCSamplingData& portion) noexcept {
  pending_.samples += portion.totalSamples;
  pending_.otherKernels += portion.nonUsrKernelsTotalSamples;
  pending_.dropped += portion.droppedSamples;
  lastPointer_ = nullptr;  // an address may mean another function by now
  std::uint64_t left = 0;
  forEachSample(portion, [&](const auto&, const auto&) { ++left; });
  Slot slot;
  wire::PcBatchRecord* record = nullptr;
  bool none = false;
  std::uint64_t room = 0;
  forEachSample(portion, [&](const CUpti_PCSamplingPCData& pc, const CUpti_PCSamplingStallReason& reason) {
    if (record == nullptr && !none) {
      room = left < kMostEntries ? left : kMostEntries;
      record = begin(host, slot, room);
      none = record == nullptr;
    }
    --left;
    const std::uint32_t samples = reason.samples, name = session.reasonOf(reason.pcSamplingStallReasonIndex);
    if (none || name == 0) {
      if (!session.countsAgain(reason.pcSamplingStallReasonIndex)) pending_.lost += samples;
      return;
    }
    const std::uint64_t crc = pc.cubinCrc, offset = pc.pcOffset;
    entriesOf(record)[record->entries++] = {crc, nameOf(host, pc.functionName), offset, name, samples};
    if (record->entries < room) return;
    finish(host, session, slot, record);
    record = nullptr;
  });
  if (record != nullptr) finish(host, session, slot, record);
}

void PcSender::flush(const PcHost& host, const PcSession& session) noexcept {
  if (!anything()) return;
  Slot slot;
  if (wire::PcBatchRecord* record = begin(host, slot, 0)) finish(host, session, slot, record);
}

}  // namespace warpmeter::counters
