// SPDX-License-Identifier: Apache-2.0
// Reads the built library: what it exports, what it needs, what runs when it is loaded.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace warpmeter::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Elf {
 public:
  explicit Elf(const char* path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    header_ = at<Elf64_Ehdr>(0);
    sections_ = at<Elf64_Shdr>(header_->e_shoff);
  }
  template <class T>
  const T* at(std::uint64_t offset) const { return reinterpret_cast<const T*>(bytes_.data() + offset); }
  std::vector<const Elf64_Shdr*> sections(std::uint32_t type) const {
    std::vector<const Elf64_Shdr*> found;
    for (int i = 0; i < header_->e_shnum; ++i) {
      if (sections_[i].sh_type == type) found.push_back(&sections_[i]);
    }
    return found;
  }
  const Elf64_Shdr& section(std::uint32_t index) const { return sections_[index]; }
  std::string text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    return at<char>(strings.sh_offset + offset);
  }
  template <class Function>
  void forEachSymbol(std::uint32_t tableType, Function function) const {
    for (const Elf64_Shdr* table : sections(tableType)) {
      const auto* symbols = at<Elf64_Sym>(table->sh_offset);
      for (std::uint64_t i = 1; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
        function(symbols[i], text(section(table->sh_link), symbols[i].st_name));
      }
    }
  }
  template <class Function>
  void forEachDynamic(Function function) const {
    for (const Elf64_Shdr* dynamic : sections(SHT_DYNAMIC)) {
      const auto* entries = at<Elf64_Dyn>(dynamic->sh_offset);
      for (std::uint64_t i = 0; i < dynamic->sh_size / sizeof(Elf64_Dyn); ++i) {
        function(entries[i], section(dynamic->sh_link));
      }
    }
  }

 private:
  std::vector<char> bytes_;
  const Elf64_Ehdr* header_;
  const Elf64_Shdr* sections_;
};

const Elf& library() {
  static const Elf kElf(WARPMETER_INJECT_LIBRARY);
  return kElf;
}

TEST(SealedLibrary, ExportsItsEntryPointsOnly) {
  std::set<std::string> exported;
  library().forEachSymbol(SHT_DYNSYM, [&](const Elf64_Sym& symbol, const std::string& name) {
    if (symbol.st_shndx != SHN_UNDEF) exported.insert(name);
  });
  EXPECT_THAT(exported, ElementsAre("InitializeInjection", "InitializeInjectionNvtx2"));
}

TEST(SealedLibrary, NeedsTheCLibraryAlone) {
  const std::set<std::string> allowed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                         "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  std::vector<std::string> foreign;
  bool needsC = false;
  library().forEachDynamic([&](const Elf64_Dyn& entry, const Elf64_Shdr& strings) {
    if (entry.d_tag != DT_NEEDED) return;
    const std::string name = library().text(strings, entry.d_un.d_val);
    needsC = needsC || name == "libc.so.6";
    if (allowed.count(name) == 0) foreign.push_back(name);
  });
  EXPECT_TRUE(needsC);
  EXPECT_THAT(foreign, IsEmpty());
}

TEST(SealedLibrary, NeedsNoSymbolNewerThanGlibc234) {
  std::vector<std::string> tooNew;
  int versions = 0;
  for (const Elf64_Shdr* needs : library().sections(SHT_GNU_verneed)) {
    const Elf64_Shdr& strings = library().section(needs->sh_link);
    std::uint64_t at = needs->sh_offset;
    for (std::uint32_t i = 0; i < needs->sh_info; ++i) {
      const auto* file = library().at<Elf64_Verneed>(at);
      std::uint64_t aux = at + file->vn_aux;
      for (int k = 0; k < file->vn_cnt; ++k) {
        const auto* version = library().at<Elf64_Vernaux>(aux);
        const std::string name = library().text(strings, version->vna_name);
        int minor = 0;
        ++versions;
        if (std::sscanf(name.c_str(), "GLIBC_2.%d", &minor) != 1 || minor > 34) tooNew.push_back(name);
        aux += version->vna_next;
      }
      at += file->vn_next;
    }
  }
  EXPECT_GT(versions, 0);
  EXPECT_THAT(tooNew, IsEmpty());
}

TEST(SealedLibrary, ImportsNothingThatHostsLikeToReplace) {
  const std::set<std::string> replaceable = {"malloc", "calloc", "realloc", "memcpy", "memmove", "memset", "memcmp",
                                             "strlen", "strcmp", "_Znwm", "_ZdlPv", "__cxa_throw", "abort", "exit",
                                             "_exit", "__assert_fail", "raise", "signal", "sigaction", "printf", "puts",
                                             "stdout", "setenv", "putenv", "fork", "system"};
  std::vector<std::string> found;
  library().forEachSymbol(SHT_DYNSYM, [&](const Elf64_Sym& symbol, const std::string& name) {
    if (symbol.st_shndx == SHN_UNDEF && replaceable.count(name) != 0) found.push_back(name);
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(SealedLibrary, CannotBeUnloadedAndHasNoTextRelocations) {
  std::uint64_t flags1 = 0;
  bool textRelocations = false;
  library().forEachDynamic([&](const Elf64_Dyn& entry, const Elf64_Shdr&) {
    if (entry.d_tag == DT_FLAGS_1) flags1 = entry.d_un.d_val;
    if (entry.d_tag == DT_TEXTREL) textRelocations = true;
    if (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0) textRelocations = true;
  });
  EXPECT_NE(flags1 & DF_1_NODELETE, 0u);
  EXPECT_NE(flags1 & DF_1_NOW, 0u);
  EXPECT_FALSE(textRelocations);
}

TEST(SealedLibrary, RunsNothingOfOursWhenLoadedOrUnloaded) {
  // One entry each: those of the compiler's own start-up code.
  for (const std::uint32_t type : {SHT_INIT_ARRAY, SHT_FINI_ARRAY}) {
    std::uint64_t entries = 0;
    for (const Elf64_Shdr* section : library().sections(type)) entries += section->sh_size / sizeof(void*);
    EXPECT_LE(entries, 1u);
  }
  std::vector<std::string> initializers;
  library().forEachSymbol(SHT_SYMTAB, [&](const Elf64_Sym&, const std::string& name) {
    if (name.rfind("_GLOBAL__sub_I_", 0) == 0 || name.rfind("__static_initialization", 0) == 0) initializers.push_back(name);
  });
  EXPECT_THAT(initializers, IsEmpty());
}

}  // namespace
}  // namespace warpmeter::test
