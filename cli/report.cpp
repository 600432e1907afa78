// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "cli/ceilings_file.h"
#include "cli/comparison.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/progress.h"
#include "cli/references_file.h"
#include "cli/report_stalls.h"
#include "cli/report_text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

template <class T>
bool take(Result<T> result, T& to, Error& error) {
  if (!result) return error = std::move(result).error(), false;
  to = std::move(result).value();
  return true;
}

// Parts of a function's name that may tell it from others, each short enough for a command line.
std::vector<std::string> partsOf(const analyzer::FunctionSummary& f, bool many) {
  constexpr std::size_t kLength = 32, kLongest = 60, kMost = 64;
  std::vector<std::string> parts{f.shortName.substr(0, kLength)};
  if (f.shortName.size() > kLength) parts.push_back(f.shortName.substr(f.shortName.size() - kLength));
  for (const auto& whole : {f.shortName, f.demangledName})
    if (whole.size() <= kLongest) parts.push_back(whole);
  const auto inWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const auto& name = f.demangledName;
  for (std::size_t i = 1; !many && i < name.size() && parts.size() < kMost; ++i)
    if (inWord(name[i]) && !inWord(name[i - 1])) parts.push_back(name.substr(i, kLength));
  return parts;
}

// What --kernel takes to mean this function alone. "" when no part of its name tells it from others.
std::string selectorOf(const ReportData& data, std::size_t function) {
  constexpr std::size_t kMany = 1000;  // each part is looked for in every name
  const auto& functions = data.kernels.functions;
  for (const auto& part : partsOf(functions[function], functions.size() > kMany))
    if (!part.empty() && matchingFunctions(data, part) == std::vector{function}) return part;
  return "";
}

std::string kernelCommand(const ReportData& data, const std::string& name) {
  return fmt::format("warpmeter report {} --kernel {}", shellQuoted(harmless(data.file.string())),
                     shellQuoted(harmless(name)));
}

// Above the details of several kernels: how to get one alone.
std::string severalLine(const ReportData& data, const ReportOptions& options, const std::vector<std::size_t>& matches) {
  if (matches.size() < 2) return "";
  auto line = fmt::format("{} kernels match {}", matches.size(), harmless(options.kernel));
  const auto one = selectorOf(data, matches.front());
  if (!one.empty() && one != options.kernel) line += "; one alone: " + kernelCommand(data, one);
  return line + "\n\n";
}

std::string nextLine(const ReportData& data, const ReportOptions& options) {
  const auto file = shellQuoted(harmless(data.file.string()));
  std::string line;
  if (options.kernel.empty() && !data.kernels.functions.empty()) {
    const auto one = selectorOf(data, 0);
    line = "next: " + kernelCommand(data, one.empty() ? data.kernels.functions.front().shortName.substr(0, 32) : one);
  }
  if (options.window)
    line += fmt::format("{} warpmeter-gui {}", line.empty() ? "next:" : "\n     ", file);
  return line.empty() ? "" : line + "\n";
}

}  // namespace

Known knownMeasurements() {
  Known known;
  std::vector<std::string> complaints;
  if (auto kept = readCalibrations(ceilingsFile()))
    known.calibrated = calibratedGpus(*kept);
  else  // the report says which ceilings it uses instead
    complaints.push_back(kept.error().message);
  known.references = knownReferences(complaints);
  for (const auto& c : complaints) std::fprintf(stderr, "warpmeter: %s\n", harmless(c).c_str());
  return known;
}

Result<ReportData> gatherReport(const std::filesystem::path& file, bool nvtx, Known known) {
  using analyzer::Tables;
  auto tables = Tables::kernels | Tables::copies | Tables::api | Tables::overheads | Tables::counters;
  if (nvtx) tables = tables | Tables::nvtx;
  auto view = loadView(file, tables);
  if (!view) return std::move(view).error();
  ReportData data{file, std::move(*view), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  Error error;
  const bool done = take(analyzer::summarizeRun(data.view), data.run, error) &&
                    take(analyzer::summarizeKernels(data.view), data.kernels, error) &&
                    take(analyzer::concurrencyOf(data.view), data.gpus, error) &&
                    take(analyzer::concurrencyOfAll(data.view), data.all, error) &&
                    take(analyzer::coldStartsOf(data.view), data.coldStarts, error) &&
                    take(analyzer::summarizeCopies(data.view), data.copies, error) &&
                    take(analyzer::summarizeCounters(data.view), data.counters, error) &&
                    take(analyzer::summarizeStalls(data.view), data.stalls, error);
  if (!done) return error;
  data.bounds = analyzer::boundsOf(data.view, data.kernels, data.counters, known.calibrated);
  data.comparisons = analyzer::compareWithReferences(data.view, data.kernels, data.counters, data.bounds, known.references);
  analyzer::Limits limits;
  limits.calibrated = std::move(known.calibrated);
  limits.counters = &data.counters;
  if (!take(analyzer::findAll(data.view, limits), data.findings, error)) return error;
  if (nvtx) {
    auto summary = analyzer::summarizeNvtx(data.view);
    if (!summary) return std::move(summary).error();
    data.nvtx = std::move(*summary);
  }
  return data;
}

std::vector<std::size_t> matchingFunctions(const ReportData& data, const std::string& text) {
  const auto& functions = data.kernels.functions;
  std::vector<std::size_t> exact, containing;
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i].demangledName == text && functions[i].shortName != text) exact.push_back(i);
  if (!exact.empty()) return exact;
  const auto wanted = lower(text);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].shortName == text) exact.push_back(i);
    if (lower(functions[i].shortName).find(wanted) != std::string::npos ||
        lower(functions[i].demangledName).find(wanted) != std::string::npos)
      containing.push_back(i);
  }
  return exact.empty() ? containing : exact;
}

std::string reportText(const ReportData& data, const ReportOptions& options, const Style& style) {
  std::string out = headerText(data, style) + "\n";
  if (!options.kernel.empty()) {
    const auto matches = matchingFunctions(data, options.kernel);
    out += severalLine(data, options, matches);
    for (const auto index : matches)
      out += kernelDetailText(data, index, options, style) + "\n";
    return out + nextLine(data, options);
  }
  const auto add = [&](const std::string& part) {
    if (!part.empty()) out += part + "\n";
  };
  add(timeText(data, style));
  add(kernelsText(data, options, style));
  add(comparisonText(data, true, style));
  add(stallsText(data, options, style));
  // One line each by default: they stand together.
  const bool apart = options.all;
  for (const auto& part : {streamsText(data, options, style), coldStartText(data, options, style),
                           copiesText(data, options, style)})
    if (!part.empty()) out += part + (apart ? "\n" : "");
  if (!apart && !out.ends_with("\n\n")) out += "\n";
  add(nvtxText(data, options, style));
  add(findingsText(data, style));
  return out + nextLine(data, options);
}

int runReport(const Arguments& arguments) {
  const std::filesystem::path file = arguments.positionals.at(0);
  ReportOptions options;
  options.window = access((installation().prefix / "bin/warpmeter-gui").c_str(), X_OK) == 0;
  if (const auto top = arguments.whole(Opt::top)) options.top = static_cast<std::size_t>(*top);
  options.kernel = arguments.text(Opt::kernel);
  options.nvtx = arguments.has(Opt::nvtx);
  options.all = arguments.has(Opt::all);
  options.fullNames = arguments.has(Opt::fullNames);

  auto data = gatherReport(file, options.nvtx, knownMeasurements());
  if (!data) return fail(data.error(), Verb::report);
  if (!options.kernel.empty() && matchingFunctions(*data, options.kernel).empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(5, data->kernels.functions.size()); ++i)
      names += (i ? ", " : "") + data->kernels.functions[i].shortName;
    return fail(
        {ErrorKind::usage, fmt::format("{} holds no kernel named like '{}'{}", file.string(), options.kernel,
                                       names.empty() ? "" : "; the longest running are " + names)},
        Verb::report);
  }
  if (arguments.has(Opt::json)) {
    std::fputs(printed(reportJson(*data, options)).c_str(), stdout);
  } else {
    const auto style = styleFor(STDOUT_FILENO, arguments.has(Opt::wide));
    std::fputs(reportText(*data, options, style).c_str(), stdout);
  }
  return arguments.has(Opt::strict) && !data->run.quality.complete ? kIncomplete : kOk;
}

}  // namespace warpmeter::cli
