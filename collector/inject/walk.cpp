// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include <cupti.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace warpmeter::inject {
namespace {

struct PointerField {
  CUpti_ActivityKind kind;
  std::size_t offset;
  PointerUse use;
};

// The structures only grow at their end, so the newest one's offsets are right for all of them.
constexpr PointerField kPointerFields[] = {
    {CUPTI_ACTIVITY_KIND_KERNEL, offsetof(CUpti_ActivityKernel10, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_KERNEL, offsetof(CUpti_ActivityKernel10, pAccessPolicyWindow), PointerUse::discard},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, offsetof(CUpti_ActivityKernel10, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, offsetof(CUpti_ActivityKernel10, pAccessPolicyWindow), PointerUse::discard},
    {CUPTI_ACTIVITY_KIND_CDP_KERNEL, offsetof(CUpti_ActivityCdpKernel, name), PointerUse::text},
    // The device's name may be ours to free in new versions and not in old ones: it is left alone, a few bytes a GPU.
    {CUPTI_ACTIVITY_KIND_DEVICE, offsetof(CUpti_ActivityDevice5, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_NAME, offsetof(CUpti_ActivityName, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_MARKER, offsetof(CUpti_ActivityMarker2, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_MARKER, offsetof(CUpti_ActivityMarker2, domain), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, offsetof(CUpti_ActivityOverhead3, overheadData), PointerUse::release},
    {CUPTI_ACTIVITY_KIND_FUNCTION, offsetof(CUpti_ActivityFunction, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_MODULE, offsetof(CUpti_ActivityModule, cubin), PointerUse::discard},
    {CUPTI_ACTIVITY_KIND_MEMORY, offsetof(CUpti_ActivityMemory, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_MEMORY2, offsetof(CUpti_ActivityMemory4, name), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_MEMORY2, offsetof(CUpti_ActivityMemory4, source), PointerUse::text},
    {CUPTI_ACTIVITY_KIND_JIT, offsetof(CUpti_ActivityJit2, cachePath), PointerUse::text},
};

void replacePointer(Names& names, std::uint8_t* field, PointerUse use) {
  std::uint64_t pointer;
  std::memcpy(&pointer, field, sizeof pointer);
  if (pointer == 0) return;
  std::uint64_t replacement = 0;
  if (use == PointerUse::text) {
    // Bit 63 set already: a record that was walked before (a buffer delivered twice); user pointers never have it.
    if ((pointer & wire::kStringBit) != 0) return;
    replacement = names.ofPointer(reinterpret_cast<const char*>(pointer));
  } else if (use == PointerUse::release) {
    std::free(reinterpret_cast<void*>(pointer));
  }
  std::memcpy(field, &replacement, sizeof replacement);
}

const RecordLayout* layoutAt(const RecordTable& table, const std::uint8_t* at, std::uint64_t left) {
  std::uint32_t kind;
  if (left < 8) return nullptr;
  std::memcpy(&kind, at, sizeof kind);
  if (kind >= static_cast<std::uint32_t>(wire::kKindCount)) return nullptr;
  const RecordLayout& layout = table.kinds[kind];
  return layout.bytes == 0 || layout.bytes > left ? nullptr : &layout;
}

}  // namespace

void fillRecordTable(RecordTable& table, const std::uint16_t (&recordBytes)[wire::kKindCount]) noexcept {
  for (int kind = 0; kind < wire::kKindCount; ++kind) {
    table.kinds[kind] = RecordLayout{};
    table.kinds[kind].bytes = recordBytes[kind];
  }
  for (const PointerField& field : kPointerFields) {
    RecordLayout& layout = table.kinds[field.kind];
    if (field.offset + sizeof(void*) > layout.bytes) continue;
    const int column = layout.use[0] == PointerUse::none ? 0 : 1;
    layout.offset[column] = static_cast<std::uint16_t>(field.offset);
    layout.use[column] = field.use;
  }
}

WalkResult walkBuffer(const RecordTable& table, Names& names, std::uint8_t* buffer, std::uint64_t validBytes) noexcept {
  WalkResult result;
  std::uint64_t at = 0;
  while (at < validBytes) {
    const RecordLayout* layout = layoutAt(table, buffer + at, validBytes - at);
    if (layout == nullptr) {
      result.complete = false;
      break;
    }
    for (int i = 0; i < 2 && layout->use[i] != PointerUse::none; ++i) {
      replacePointer(names, buffer + at + layout->offset[i], layout->use[i]);
    }
    at += layout->bytes;
    ++result.records;
  }
  return result;
}

std::uint64_t countRecords(const RecordTable& table, const std::uint8_t* buffer, std::uint64_t validBytes) noexcept {
  std::uint64_t records = 0;
  for (std::uint64_t at = 0; at < validBytes; ++records) {
    const RecordLayout* layout = layoutAt(table, buffer + at, validBytes - at);
    if (layout == nullptr) break;
    at += layout->bytes;
  }
  return records;
}

}  // namespace warpmeter::inject
