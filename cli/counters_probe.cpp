// SPDX-License-Identifier: Apache-2.0
#include "cli/counters_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/environment.h"
#include "cli/json.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "warpmeter/analyzer/names.h"

namespace warpmeter::cli {
namespace {

constexpr int kTimeoutMs = 30'000;  // cuInit on a cold driver without persistence takes seconds
constexpr std::string_view kConsequence = ": occupancy and bound will be \"not measured\"";

std::string textIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

int countIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return 0;
  return it->is_number_integer() ? it->get<int>() : it->is_array() ? static_cast<int>(it->size()) : 0;
}

// The sampler's text is "what is the case: what to do about it".
void setText(Row& row, const std::string& which, std::string text) {
  constexpr std::string_view kSubject = "counters: ", kColon = ": ";
  if (text.starts_with(kSubject)) text.erase(0, kSubject.size());
  const auto colon = text.find(kColon);
  row.text = fmt::format("{}{}{}", which, text.substr(0, colon), kConsequence);
  if (colon == std::string::npos) return;
  constexpr std::size_t kColumns = 94;  // 110 less what stands before a remedy
  std::istringstream lines(wrapped(text.substr(colon + kColon.size()), kColumns, 0));
  for (std::string line; std::getline(lines, line);) row.remedy.push_back(line);
}

Row rowOf(const ProbedCounters& gpu, std::size_t alike, std::size_t all) {
  Row row{Health::ok, "counters", "", {}};
  const std::string which = alike == all ? "" : fmt::format("{} of {} GPUs: ", alike, all);
  const std::string chip = gpu.chip.empty() ? "" : " on " + gpu.chip;
  if (gpu.available) {
    row.text = fmt::format("{}permitted, occupancy and bound are measured ({}{})", which,
                           counted(gpu.sets, "set of metrics", "sets of metrics"), chip);
    return row;
  }
  row.health = Health::warn;
  const auto reason = analyzer::reasonFromId(gpu.reason);
  setText(row, which,
          !gpu.text.empty() ? gpu.text
          : reason          ? std::string(analyzer::named(*reason).text)
                            : "not available");
  return row;
}

}  // namespace

CountersProbe probeCounters(const Installation& where) {
  CountersProbe probe;
  auto run = capture({where.sampler(), "--probe"}, recorderEnvironment(), kTimeoutMs);
  if (!run) {
    probe.problem = run.error().kind == ErrorKind::notFound ? "not tried: this build has no counter sampler"
                                                            : run.error().message;
    return probe;
  }
  std::istringstream lines(run->out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    const auto available = json.find("available");
    probe.gpus.push_back({textIn(json, "uuid"), textIn(json, "chip"),
                          available != json.end() && available->is_boolean() && available->get<bool>(),
                          textIn(json, "reason"), textIn(json, "text"), countIn(json, "sets")});
  }
  if (run->timedOut)
    probe.problem = fmt::format("not known: the sampler did not answer within {} s", kTimeoutMs / 1000);
  else if (probe.gpus.empty())
    probe.problem = fmt::format("not known: the sampler ended with {}{}", run->exitCode(),
                                run->err.empty() ? "" : ": " + run->err.substr(0, run->err.find('\n')));
  return probe;
}

std::vector<Row> countersRows(const CountersProbe& probe) {
  std::vector<Row> rows;
  std::vector<bool> said(probe.gpus.size());
  for (std::size_t i = 0; i < probe.gpus.size(); ++i) {
    if (said[i]) continue;
    const ProbedCounters& gpu = probe.gpus[i];
    std::size_t alike = 0;
    for (std::size_t j = i; j < probe.gpus.size(); ++j) {
      const ProbedCounters& other = probe.gpus[j];
      if (other.available != gpu.available || other.reason != gpu.reason || other.text != gpu.text ||
          other.chip != gpu.chip || other.sets != gpu.sets)
        continue;
      said[j] = true;
      ++alike;
    }
    rows.push_back(rowOf(gpu, alike, probe.gpus.size()));
  }
  if (!probe.problem.empty()) rows.push_back({Health::warn, "counters", probe.problem, {}});
  if (rows.empty()) rows.push_back({Health::warn, "counters", "not known without a GPU", {}});
  return rows;
}

}  // namespace warpmeter::cli
