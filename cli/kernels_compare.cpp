// SPDX-License-Identifier: Apache-2.0
// warpmeter kernels compare: the ten longest running kernels with a bound beside the bundled programs.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/comparison.h"
#include "cli/exit_codes.h"
#include "cli/report.h"
#include "cli/report_counters.h"
#include "cli/verbs.h"

namespace warpmeter::cli {
namespace {

// Why the kernels have no bound: once, with the run's reason where there is one.
std::string withoutBoundText(const ReportData& data, const Style& style) {
  if (data.comparisons.withoutBound == 0) return "";
  return fmt::format(
      " no bound, no comparison: {}\n{}",
      counted(static_cast<std::int64_t>(data.comparisons.withoutBound), "longer running kernel"),
      countersReasonText(data, style));
}

}  // namespace

int runKernelsCompare(const Arguments& arguments) {
  auto data = gatherReport(arguments.positionals.at(0), false, knownMeasurements());
  if (!data) return fail(data.error(), Verb::kernelsCompare);
  Json json = jsonFor("kernels_compare");
  json["file"] = data->file.string();
  json["references"] = data->comparisons.from;
  json["withoutBound"] = data->comparisons.withoutBound;
  json["kernels"] = Json::array();
  for (const auto& k : data->comparisons.kernels) {
    const auto& f = data->kernels.functions[k.function];
    Json kernel{{"name", f.shortName}, {"demangledName", f.demangledName}, {"sharePct", f.sharePct}};
    kernel["reference"] = toJson(k);
    json["kernels"].push_back(std::move(kernel));
  }
  const auto style = styleFor(STDOUT_FILENO, arguments.has(Opt::wide));
  auto text = comparisonText(*data, false, style);
  if (text.empty()) text = "no kernel of this file has a bound\n";
  text += withoutBoundText(*data, style);
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  return kOk;
}

}  // namespace warpmeter::cli
