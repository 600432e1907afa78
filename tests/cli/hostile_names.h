// SPDX-License-Identifier: Apache-2.0
// Names as a hostile program may give them to its kernels, and what of them must not reach a terminal.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace warpmeter::cli::testing {

// Control sequences of 7 and 8 bits, right-to-left overrides and isolates, line separators: as UTF-8.
inline constexpr std::string_view kObeyed[] = {
    "\x1b]0;", "\x1b[2J",     "\x07",         "\x7f",         "\xc2\x80",     "\xc2\x85",     "\xc2\x9b" "31m",
    "\xc2\x9f", "\xd8\x9c",   "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
    "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
inline constexpr std::string_view kInnocent[] = {"gemm", "<4,float>", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                                 "\xc2\xa0", "\xe2\x80\x90", "\\", "'", "\xff", "\xe2\x80", "\xc2"};

// Without blanks and double quotes.
inline std::string hostileName(std::mt19937& random) {
  std::string name = "k";
  for (unsigned i = 0, parts = 1 + random() % 8; i < parts; ++i)
    name += random() % 2 ? kObeyed[random() % std::size(kObeyed)] : kInnocent[random() % std::size(kInnocent)];
  return name;
}

// The first thing in `text` that a terminal would obey, escaped; "" when there is none. Newlines are layout.
inline std::string obeyedIn(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7f) return "byte " + std::to_string(c) + " at " + std::to_string(i);
  }
  for (int c = 0x80; c < 0xa0; ++c)
    if (text.find(std::string("\xc2") + static_cast<char>(c)) != std::string::npos) return "C1 " + std::to_string(c);
  for (const auto piece : kObeyed)
    if (static_cast<unsigned char>(piece[0]) >= 0xd0 && text.find(piece) != std::string::npos)
      return "bidi or line separator ending in " + std::to_string(static_cast<unsigned char>(piece.back()));
  return "";
}

}  // namespace warpmeter::cli::testing
