// SPDX-License-Identifier: Apache-2.0
#include "support/profile_dsl.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace warpmeter::support {
namespace {

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (!quoted && c == '#') {
      break;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
      if (any) out.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quoted) throw BadLine("a quotation mark is missing");
  if (any) out.push_back(std::move(word));
  return out;
}

struct Unit {
  std::string_view name;
  double factor;
};

std::int64_t parseScaled(std::string_view text, std::initializer_list<Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc{}) throw BadLine("not a number: " + std::string(text));
  // Big whole numbers (epochs, ids) do not fit a double.
  std::int64_t whole = 0;
  if (const auto r = std::from_chars(text.data(), text.data() + text.size(), whole);
      r.ptr == text.data() + text.size()) {
    return whole;
  }
  for (const Unit& u : units) {
    if (u.name == unit) return std::llround(value * u.factor);
  }
  throw BadLine("unknown unit: " + std::string(text));
}

bool isKeyValue(const std::string& word) {
  const std::size_t at = word.find('=');
  return at != std::string::npos && at > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(at),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

std::int64_t parseTime(std::string_view text) {
  return parseScaled(text, {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});
}
std::int64_t parseSize(std::string_view text) {
  return parseScaled(text, {{"", 1}, {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}});
}

DslLine::DslLine(std::string_view line) {
  for (std::string& word : split(line)) {
    if (isKeyValue(word)) {
      const std::size_t at = word.find('=');
      values_[word.substr(0, at)] = word.substr(at + 1);
    } else {
      words_.push_back(std::move(word));
    }
  }
}

const std::string& DslLine::word(std::size_t i) const {
  if (i >= words_.size()) throw BadLine("something is missing behind '" + words_.back() + "'");
  return words_[i];
}

bool DslLine::flag(std::string_view name) const { return std::ranges::find(words_, name) != words_.end(); }

std::pair<std::int64_t, std::int64_t> DslLine::span(std::size_t i) const {
  const std::string& text = word(i);
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw BadLine("not a span A..B: " + text);
  return {parseTime(text.substr(0, dots)), parseTime(text.substr(dots + 2))};
}

std::pair<std::int64_t, std::int64_t> DslLine::process(std::size_t i) const {
  const std::string& text = word(i);
  const std::size_t slash = text.find('/');
  const std::int64_t pid = parseTime(text.substr(0, slash));
  return {pid, slash == std::string::npos ? pid : parseTime(text.substr(slash + 1))};
}

std::optional<std::string> DslLine::text(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? std::nullopt : std::optional{it->second};
}

std::int64_t DslLine::number(std::string_view key, std::int64_t fallback) const {
  const auto value = text(key);
  return value ? parseSize(*value) : fallback;
}

std::int64_t DslLine::timeOf(std::string_view key, std::int64_t fallback) const {
  const auto value = text(key);
  return value ? parseTime(*value) : fallback;
}

std::vector<std::int64_t> DslLine::dims(std::string_view key, std::int64_t fallback) const {
  std::vector<std::int64_t> out(3, fallback);
  const auto value = text(key);
  if (!value) return out;
  std::string_view rest = *value;
  for (std::size_t i = 0; i < 3 && !rest.empty(); ++i) {
    const std::size_t comma = rest.find(',');
    out[i] = parseSize(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  if (fallback == 0) std::ranges::replace(out, 0, 1);
  return out;
}

}  // namespace warpmeter::support
