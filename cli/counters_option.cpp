// SPDX-License-Identifier: Apache-2.0
#include "cli/counters_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace warpmeter::cli {
namespace {

constexpr std::string_view kWays[] = {"sample", "exact", "pc", "none"};

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  while (true) {
    const auto comma = list.find(',');
    words.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string whyNoSuchCounters(std::string_view value) {
  auto words = split(value);
  const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  for (const auto word : words) {
    if (std::find(std::begin(kWays), std::end(kWays), word) == std::end(kWays)) return "";
  }
  // What cannot work on any GPU.
  if (has("none") && words.size() > 1) return " (none goes with nothing else)";
  if (has("pc") && has("sample")) return " (PM sampling and PC sampling end each other's sessions)";
  if (has("pc") && has("exact")) return " (ranges and PC sampling cannot hold the counters at one moment)";
  if (value == "exact,sample") return " (the exact phase comes first: sample,exact)";
  std::sort(words.begin(), words.end());
  if (std::adjacent_find(words.begin(), words.end()) != words.end()) return " (each at most once)";
  // What could, but is not built.
  if (has("pc")) return " (pc is not in this version)";
  if (has("exact")) return " (exact is not in this version)";
  return "";
}

}  // namespace warpmeter::cli
