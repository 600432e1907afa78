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

bool wantsExact(std::string_view value) {
  const auto words = split(value);
  return std::find(words.begin(), words.end(), "exact") != words.end();
}

// 12 configurations is what "full" comes to on GH100 and GB202, 3 is the most for "basic"; 1.2 ms a ranged launch and
// 8 ms a change were measured on an H200 (docs/performance.md).
std::string exactCost(std::string_view metrics, std::int64_t launchesPerKernel) {
  const bool full = metrics == "full";
  const int configurations = full ? 12 : 3;
  const double perKernelMs = configurations * static_cast<double>(launchesPerKernel) * 1.2;
  return fmt::format(
      "exact mode: {} {} configurations, {} launches of each kernel for each; about {:.0f} ms per distinct kernel and {:.0f} s "
      "for setting up, everything else at full speed; a measured launch waits for an idle GPU",
      full ? "about" : "at most", configurations, launchesPerKernel, perKernelMs, full ? 3.0 : 1.0);
}

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
  return "";
}

}  // namespace warpmeter::cli
