// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace warpmeter::analyzer {
namespace {

// Three significant digits, without an exponent: 3.19, 41.2, 266, 1234 (only beyond the last unit).
std::string threeDigits(double v) {
  const double magnitude = std::fabs(v);
  if (magnitude < 9.995) return fmt::format("{:.2f}", v);
  if (magnitude < 99.95) return fmt::format("{:.1f}", v);
  return fmt::format("{:.0f}", v);
}

template <std::size_t N>
std::string scaled(double v, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  while (unit + 1 < N && std::fabs(v) >= 999.5) {
    v /= 1000;
    ++unit;
  }
  // The smallest unit counts whole things.
  return fmt::format("{} {}", unit == 0 ? fmt::format("{:.0f}", v) : threeDigits(v), units[unit]);
}

constexpr std::array kTimeUnits{"ns", "us", "ms", "s"};
constexpr std::array kByteUnits{"B", "kB", "MB", "GB", "TB"};
constexpr std::array kRateUnits{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

// Position behind the bracket that closes the one at `open`; text.size() when none does.
std::size_t behindBracket(std::string_view text, std::size_t open, char opening, char closing) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    if (text[i] == closing && --depth == 0) return i + 1;
  }
  return text.size();
}

constexpr std::string_view kAnonymous = "(anonymous namespace)";
bool isIdentifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '~';
}

}  // namespace

std::string formatTime(std::int64_t ns) { return scaled(static_cast<double>(ns), kTimeUnits); }
std::string formatBytes(std::int64_t bytes) { return scaled(static_cast<double>(bytes), kByteUnits); }
std::string formatRate(double bytesPerSec) { return scaled(bytesPerSec, kRateUnits); }

std::string formatCount(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > sign + 3;) {
    i -= 3;
    digits.insert(i, 1, ' ');
  }
  return digits;
}

std::string formatPercent(double percent) {
  if (percent < 100 && percent > 99.9) percent = 99.9;
  if (percent > 99.95 && percent < 100.05) return "100 %";
  return fmt::format("{:.1f} %", percent);
}

std::string formatValue(double value, Unit unit) {
  switch (unit) {
    case Unit::ns:
      return formatTime(std::llround(value));
    case Unit::bytes:
      return formatBytes(std::llround(value));
    case Unit::bytesPerSec:
      return formatRate(value);
    case Unit::percent:
      return formatPercent(value);
    case Unit::count:
      return formatCount(std::llround(value));
    case Unit::none:
      break;
  }
  return threeDigits(value);
}

std::string formatDims(const std::int32_t (&dims)[3]) {
  if (dims[2] != 1) return fmt::format("{},{},{}", dims[0], dims[1], dims[2]);
  if (dims[1] != 1) return fmt::format("{},{}", dims[0], dims[1]);
  return fmt::format("{}", dims[0]);
}

std::string shortKernelName(std::string_view demangled) {
  // Walk over the text outside of brackets; the identifier that is followed by the argument list (or by the
  // end) is the name.
  std::size_t begin = 0, end = 0;  // last identifier seen
  for (std::size_t i = 0; i < demangled.size();) {
    const char c = demangled[i];
    if (isIdentifier(c)) {
      begin = i;
      while (i < demangled.size() && isIdentifier(demangled[i])) ++i;
      end = i;
      if (demangled.substr(begin, end - begin) == "operator") return std::string(demangled.substr(begin));
    } else if (c == '<') {
      i = behindBracket(demangled, i, '<', '>');
    } else if (c == '(') {
      if (demangled.substr(i).starts_with(kAnonymous)) {
        i += kAnonymous.size();
        continue;
      }
      break;
    } else if (c == ':' || c == ' ' || c == '*' || c == '&') {
      ++i;
    } else {
      return std::string(demangled);  // not a C++ name
    }
  }
  return end > begin ? std::string(demangled.substr(begin, end - begin)) : std::string(demangled);
}

std::string_view apiBaseName(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  for (const char c : name.substr(at + 2)) {
    if (c < '0' || c > '9') return name;
  }
  return name.substr(0, at);
}

}  // namespace warpmeter::analyzer
