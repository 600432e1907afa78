// SPDX-License-Identifier: Apache-2.0
#include "cubin.h"

#include <elf.h>

#include <cstring>

namespace warpmeter::counters {

bool hasLineInfo(const void* image, std::uint64_t bytes) noexcept {
  static constexpr char kName[] = ".debug_line";
  const auto* start = static_cast<const char*>(image);
  const auto inside = [bytes](std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes && size <= bytes - offset;
  };
  Elf64_Ehdr head;
  if (image == nullptr || bytes < sizeof head) return false;
  std::memcpy(&head, start, sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_shentsize != sizeof(Elf64_Shdr)) {
    return false;
  }
  const auto sectionAt = [&](std::uint64_t index, Elf64_Shdr& section) {
    if (head.e_shoff > bytes || !inside(head.e_shoff + index * sizeof section, sizeof section)) return false;
    std::memcpy(&section, start + head.e_shoff + index * sizeof section, sizeof section);
    return true;
  };
  Elf64_Shdr first, names;
  if (!sectionAt(0, first)) return false;
  // More sections than 16 bits can count: the first header has the numbers.
  const std::uint64_t count = head.e_shnum != 0 ? head.e_shnum : first.sh_size;
  const std::uint64_t namesIndex = head.e_shstrndx == SHN_XINDEX ? first.sh_link : head.e_shstrndx;
  if (namesIndex >= count || count > bytes / sizeof(Elf64_Shdr) || !sectionAt(namesIndex, names) ||
      !inside(names.sh_offset, names.sh_size)) {
    return false;
  }
  for (std::uint64_t i = 1; i < count; ++i) {
    Elf64_Shdr section;
    if (!sectionAt(i, section)) return false;
    if (section.sh_name > names.sh_size || names.sh_size - section.sh_name < sizeof kName) continue;
    if (std::memcmp(start + names.sh_offset + section.sh_name, kName, sizeof kName) == 0)
      return section.sh_size > 0;
  }
  return false;
}

}  // namespace warpmeter::counters
