// SPDX-License-Identifier: Apache-2.0
#include "cli/occupancy_launches.h"

#include <fmt/format.h>

#include "cli/occupancy_text.h"
#include "cli/report_counters.h"
#include "cli/report_counters_json.h"
#include "cli/report_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

constexpr std::size_t kShapes = 3;

const analyzer::LaunchConfig& configOf(const ReportData& data, const analyzer::DistinctSummary& d) {
  return data.view.configs()[data.view.distinctKernels()[d.distinct].config];
}

const analyzer::KernelBound* measuredBoundOf(const ReportData& data, const analyzer::DistinctSummary& d) {
  return data.counters.quality.any ? boundOf(data, d.distinct) : nullptr;
}

std::string shapeText(const ReportData& data, const analyzer::FunctionSummary& f,
                      const analyzer::DistinctSummary& d, const Style& style) {
  const auto& config = configOf(data, d);
  auto out = style.line(style.heading(fmt::format("{} {}", harmless(f.shortName), shapeOf(config)))) + "\n";
  const auto* bound = measuredBoundOf(data, d);
  const auto boundText =
      bound ? wrapped(boundLine(*bound), style.width == 0 ? 100000 : style.width, 2) + "\n" : "";
  auto device = analyzer::deviceOfDistinct(data.view, d.distinct);
  if (!device || !d.occupancy)
    return out + boundText +
           fmt::format("  occupancy: —, {}\n\n",
                       harmless(device ? d.occupancyReason : device.error().message));
  const auto kernel = analyzer::resourcesOf(config);
  return out + fmt::format("cc {}.{}: {}; {}\n{}\n{}\n", device->major, device->minor, launchLine(kernel),
                           counted(d.time.count + d.untimed, "launch", "launches"), boundText,
                           occupancyText(*device, kernel, *d.occupancy, style));
}

}  // namespace

std::string launchLine(const analyzer::KernelResources& k) {
  auto text = fmt::format("blocks of {}, {}, {} B static and {} B dynamic shared memory",
                          counted(k.blockThreads, "thread"), counted(k.registersPerThread, "register"),
                          analyzer::formatCount(k.staticShared), analyzer::formatCount(k.dynamicShared));
  if (k.clusterBlocks > 1) text += fmt::format(", clusters of {}", k.clusterBlocks);
  if (k.carveoutPct) text += fmt::format(", carve-out {} %", *k.carveoutPct);
  return text;
}

std::string launchesText(const ReportData& data, std::span<const std::size_t> functions, const Style& style) {
  std::string out;
  for (const auto index : functions) {
    const auto& f = data.kernels.functions[index];
    const bool all = f.distinct.size() <= kShapes;
    for (std::size_t i = 0; i < (all ? f.distinct.size() : 1); ++i)
      out += shapeText(data, f, f.distinct[i], style);
    if (!all)
      out += fmt::format("{} more shapes of {}: --json\n", f.distinct.size() - 1, harmless(f.shortName));
  }
  return out;
}

Json launchesJson(const ReportData& data, std::span<const std::size_t> functions) {
  Json out = Json::array();
  for (const auto index : functions) {
    const auto& f = data.kernels.functions[index];
    for (const auto& d : f.distinct) {
      auto device = analyzer::deviceOfDistinct(data.view, d.distinct);
      if (!device || !d.occupancy) continue;
      auto answer = occupancyAnswerJson(*device, analyzer::resourcesOf(configOf(data, d)), *d.occupancy);
      answer["name"] = f.shortName;
      answer["launchCount"] = d.time.count + d.untimed;
      const auto* bound = measuredBoundOf(data, d);
      answer["bound"] = bound ? boundJson(*bound) : Json(nullptr);
      out.push_back(std::move(answer));
    }
  }
  return out;
}

}  // namespace warpmeter::cli
