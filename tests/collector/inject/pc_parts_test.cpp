// SPDX-License-Identifier: Apache-2.0
// Which images of code hold line numbers: a real one is in tests/collector/recorder (SourceLines), here they
// are made by hand.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "cubin.h"

namespace warpmeter::counters {
namespace {

std::string image(const std::string& section, std::uint64_t bytes = 4) {
  const std::string names =
      std::string(1, '\0') + ".shstrtab" + std::string(1, '\0') + section + std::string(1, '\0');
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  head.e_shoff = sizeof head + names.size();
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_offset = sizeof head;
  sections[1].sh_size = names.size();
  sections[2].sh_name = 11;
  sections[2].sh_size = bytes;
  std::string all(reinterpret_cast<const char*>(&head), sizeof head);
  return all.append(names).append(reinterpret_cast<const char*>(sections), sizeof sections);
}
bool check(const std::string& bytes) { return hasLineInfo(bytes.data(), bytes.size()); }

TEST(CubinLines, AreFoundByTheSectionsName) {
  EXPECT_TRUE(check(image(".debug_line")));
  EXPECT_FALSE(check(image(".debug_line", 0)));
  for (const char* other : {".debug_frame", ".debug_lines", ".debug_lin", ".rela.debug_line", ""})
    EXPECT_FALSE(check(image(other))) << other;
}

TEST(CubinLines, NothingIsReadOutsideTheImage) {
  const std::string whole = image(".debug_line");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(check(std::string(whole.data(), size))) << size;
  EXPECT_FALSE(hasLineInfo(nullptr, 100));
  // Every byte of the headers at its largest and smallest: no answer is wrong, no access outside.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\xff', '\x7f'}) {
      std::string broken = whole;
      broken[at] = value;
      check(broken);
    }
  }
}

}  // namespace
}  // namespace warpmeter::counters
