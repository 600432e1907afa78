// SPDX-License-Identifier: Apache-2.0
// Texts of the command line turned into values.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "cli/arguments.h"
#include "cli/counters_option.h"

namespace warpmeter::cli {
namespace {

template <class T>
std::optional<T> parseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parseReal(std::string_view text) {
  const auto value = parseNumber<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

bool isChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices = bar == std::string_view::npos ? std::string_view{} : choices.substr(bar + 1);
  }
  return false;
}

constexpr std::int64_t kLeastMemory = std::int64_t{4} << 20;  // what a process gets in any case

// Zero would silently mean the default, and less than a millisecond nothing at all.
std::string_view complaintAboutZero(Opt option, double value) {
  if (option == Opt::duration && value < 0.001) return "seconds from 0.001 on: nothing would be kept";
  if (option == Opt::maxSize && value < 1) return "a size above 0; without the option there is no limit";
  if (option == Opt::maxMemory && value < kLeastMemory) return "a size from 4M on: a process needs that much";
  return "";
}

bool isCapability(std::string_view text) {
  const auto dot = text.find('.');
  return dot != std::string_view::npos && parseNumber<unsigned>(text.substr(0, dot)) &&
         text.size() == dot + 2 && parseNumber<unsigned>(text.substr(dot + 1));
}

}  // namespace

std::optional<std::int64_t> parseBytes(const std::string& text) {
  std::string_view digits = text;
  for (std::string_view tail : {"iB", "B"})
    if (digits.ends_with(tail)) {
      digits.remove_suffix(tail.size());
      break;
    }
  double scale = 1;
  if (!digits.empty()) {
    const auto unit = std::string_view("KMGT").find(static_cast<char>(digits.back() & ~0x20));
    if (unit != std::string_view::npos) {
      scale = std::exp2(10.0 * static_cast<double>(unit + 1));
      digits.remove_suffix(1);
    }
  }
  const auto value = parseReal(digits);
  if (!value || *value < 0 || *value * scale > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(*value * scale);
}

std::optional<Extent> parseExtent(const std::string& text) {
  std::int64_t parts[3] = {1, 1, 1};
  std::string_view rest = text;
  for (int i = 0; i < 3; ++i) {
    const auto x = rest.find('x');
    const auto value = parseNumber<std::int64_t>(rest.substr(0, x));
    if (!value || *value < 1 || *value > 0x7fffffff) return std::nullopt;
    parts[i] = *value;
    if (x == std::string_view::npos) {
      // The largest legal grid, 2^31-1 x 65535 x 65535, just fits.
      const bool fits = parts[0] <= std::numeric_limits<std::int64_t>::max() / parts[1] / parts[2];
      return fits ? std::optional(Extent{parts[0], parts[1], parts[2]}) : std::nullopt;
    }
    rest.remove_prefix(x + 1);
  }
  return std::nullopt;
}

std::string complaintAbout(const OptionSpec& option, const std::string& value) {
  const auto seconds = [&] {
    const auto v = parseReal(value);
    return v && *v >= 0 && *v < 1e9;
  };
  switch (option.kind) {
    case ValueKind::flag:
      return "";
    case ValueKind::text:
      return value.empty() ? "a text" : "";
    case ValueKind::whole: {
      const auto v = parseNumber<std::int64_t>(value);
      return v && *v >= 1 && *v <= 1'000'000'000 ? "" : "a whole number from 1 to 1000000000";
    }
    case ValueKind::index: {
      const auto v = parseNumber<std::int64_t>(value);
      return v && *v >= 0 && *v <= 1'000'000'000 ? "" : "a whole number from 0 to 1000000000";
    }
    case ValueKind::bytes:
      if (const auto v = parseBytes(value)) return std::string(complaintAboutZero(option.id, static_cast<double>(*v)));
      return "a size like 4096, 48K or 1G";
    case ValueKind::seconds:
      return seconds() ? std::string(complaintAboutZero(option.id, *parseReal(value))) : "seconds like 2 or 0.5";
    case ValueKind::percent: {
      const auto v = parseReal(value);
      return v && *v >= 0 && *v <= 100 ? "" : "a percentage from 0 to 100";
    }
    case ValueKind::capability:
      return isCapability(value) ? "" : "a compute capability like 9.0";
    case ValueKind::extent:
      return parseExtent(value) ? "" : "a size like 256, 16x16 or 8x8x4";
    case ValueKind::choice:
      return isChoice(option.choices, value)
                 ? ""
                 : fmt::format("one of {}{}", option.choices,
                               option.id == Opt::counters ? whyNoSuchCounters(value) : "");
    case ValueKind::cores: {
      const auto v = parseReal(value);
      return v && *v >= 0.05 && *v <= 8 ? "" : "CPU cores from 0.05 to 8";
    }
    case ValueKind::optionalChoice:
      return value == "on" || isChoice(option.choices, value)
                 ? ""
                 : fmt::format("no value or ={}", option.choices);
    case ValueKind::captureRange:
      return value == "cudaProfilerApi" || (value.starts_with("nvtx:") && value.size() > 5)
                 ? ""
                 : "cudaProfilerApi or nvtx:NAME";
  }
  return "";
}

std::string Arguments::text(Opt option) const {
  const auto it = values_.find(option);
  return it == values_.end() ? std::string() : it->second;
}

std::optional<std::int64_t> Arguments::whole(Opt option) const {
  return has(option) ? parseNumber<std::int64_t>(text(option)) : std::nullopt;
}
std::optional<std::int64_t> Arguments::bytes(Opt option) const {
  return has(option) ? parseBytes(text(option)) : std::nullopt;
}
std::optional<double> Arguments::number(Opt option) const {
  return has(option) ? parseReal(text(option)) : std::nullopt;
}
std::optional<Extent> Arguments::extent(Opt option) const {
  return has(option) ? parseExtent(text(option)) : std::nullopt;
}

}  // namespace warpmeter::cli
