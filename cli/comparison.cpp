// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report_text.h"

namespace warpmeter::cli {
namespace {

std::string wholePercent(double percent) { return fmt::format("{:.0f} %", percent); }

std::string nameOf(const ReportData& data, const analyzer::KernelComparison& k) {
  const auto& f = data.kernels.functions[k.function];
  return f.shortName.empty() ? "(no name)" : harmless(f.shortName);
}

std::string boundText(const analyzer::KernelComparison& k) {
  std::string text(analyzer::named(k.bound).text);
  if (k.sharePct) text += " " + wholePercent(*k.sharePct);
  if (k.confidence == analyzer::Confidence::maybe) text += " ?";
  if (k.access) text += fmt::format(", {}", idOf(*k.access));
  return text;
}

}  // namespace

std::string referenceLine(const analyzer::KernelComparison& k) {
  if (!k.reference) return harmless(k.why);
  auto line =
      fmt::format("reference {} {}: {} of {}{}", harmless(k.reference->program),
                  harmless(k.reference->variant), wholePercent(k.referenceShare.pct), k.referenceShare.of,
                  k.referenceShare.source == analyzer::CeilingSource::theoretical ? " (theoretical)" : "");
  if (k.reachedPct) line += fmt::format("; this kernel reaches {} of that", wholePercent(*k.reachedPct));
  return k.why.empty() ? line : line + "; " + k.why;
}

std::string comparisonText(const ReportData& data, bool brief, const Style& style) {
  const auto& all = data.comparisons;
  std::string from;
  for (const auto& f : all.from) from += (from.empty() ? "" : "; ") + harmless(f);
  std::string out = style.heading("REFERENCES") +
                    " kernels beside bundled programs of the same bound and kind" +
                    (from.empty() ? "" : "; results " + from) + "\n";
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::right, Align::left, Align::left});
  table.heading({"bound by", "reached", "reference", "kernel"});
  std::vector<std::pair<std::string, std::string>> none;  // why, kernels
  for (const auto& k : all.kernels) {
    if (!k.reference) {
      if (brief && !k.noResults) continue;
      const auto found =
          std::find_if(none.begin(), none.end(), [&](const auto& n) { return n.first == k.why; });
      if (found == none.end())
        none.emplace_back(k.why, nameOf(data, k));
      else
        found->second += ", " + nameOf(data, k);
      continue;
    }
    const auto& config = data.view.configs()[data.view.distinctKernels()[k.distinct].config];
    table.row(
        {boundText(k), k.reachedPct ? wholePercent(*k.reachedPct) : "—",
         fmt::format("{} {}: {} of {}{}", harmless(k.reference->program), harmless(k.reference->variant),
                     wholePercent(k.referenceShare.pct), k.referenceShare.of,
                     k.why.empty() ? "" : " (" + k.reference->precision + ", of any type)"),
         nameOf(data, k)},
        {" " + shapeOf(config)});
  }
  if (table.empty() && none.empty()) return "";
  // A report without any: one line, with the next step.
  if (brief && table.empty() && none.size() == 1)
    return style.line(style.heading("REFERENCES") + " " + harmless(none.front().first)) + "\n";
  if (!table.empty()) out += table.render(style);
  const std::size_t width = style.width == 0 ? 100000 : style.width - 1;
  for (const auto& [why, kernels] : none)
    out += " " + wrapped(kernels + ": " + harmless(why), width, 3) + "\n";
  return out;
}

const analyzer::KernelComparison* comparisonOf(const ReportData& data, std::uint32_t distinct) {
  for (const auto& k : data.comparisons.kernels)
    if (k.distinct == distinct) return &k;
  return nullptr;
}

Json toJson(const analyzer::KernelComparison& k) {
  const bool has = k.reference.has_value();
  return Json{{"bound", analyzer::named(k.bound).id},
              {"confidence", idOf(k.confidence)},
              {"sharePct", orNull(k.sharePct)},
              {"shareOf", k.shareOf.empty() ? Json(nullptr) : Json(k.shareOf)},
              {"access", k.access ? Json(analyzer::idOf(*k.access)) : Json(nullptr)},
              {"precision", k.precision.empty() ? Json(nullptr) : Json(k.precision)},
              {"program", has ? Json(k.reference->program) : Json(nullptr)},
              {"variant", has ? Json(k.reference->variant) : Json(nullptr)},
              {"referenceSharePct", has ? Json(k.referenceShare.pct) : Json(nullptr)},
              {"referenceShareOf", has ? Json(k.referenceShare.of) : Json(nullptr)},
              {"ceilingSource", has ? Json(idOf(k.referenceShare.source)) : Json(nullptr)},
              {"reachedPct", orNull(k.reachedPct)},
              {"why", k.why.empty() ? Json(nullptr) : Json(k.why)}};
}

}  // namespace warpmeter::cli
