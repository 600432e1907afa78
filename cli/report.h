// SPDX-License-Identifier: Apache-2.0
// What `report` prints: gathered once, rendered as text or as JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/text.h"
#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/cold_start.h"
#include "warpmeter/analyzer/concurrency.h"
#include "warpmeter/analyzer/copies.h"
#include "warpmeter/analyzer/counters.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/nvtx_summary.h"
#include "warpmeter/analyzer/reference.h"
#include "warpmeter/analyzer/run_summary.h"
#include "warpmeter/analyzer/stalls.h"

namespace warpmeter::cli {

struct ReportData {
  std::filesystem::path file;
  analyzer::ProfileView view;
  analyzer::RunSummary run;
  analyzer::KernelSummary kernels;
  std::vector<analyzer::Concurrency> gpus;   // one per GPU with an operation
  std::optional<analyzer::Concurrency> all;  // all GPUs taken as one
  std::vector<analyzer::ColdStart> coldStarts;
  analyzer::CopySummary copies;
  std::optional<analyzer::NvtxSummary> nvtx;  // only when asked for
  analyzer::Findings findings;
  analyzer::CounterSummary counters;  // quality.any false: the file has none, quality.reason says why
  analyzer::BoundSummary bounds;      // one for each of counters.kernels
  analyzer::ComparisonSummary comparisons;  // with the bundled programs, of the ten longest running with a bound
  analyzer::StallSummary stalls;      // any false: the file has no PC samples

  const ProfileReader& reader() const { return *view.sources().front().reader; }
  bool fromNsys() const { return reader().kind() == FileKind::nsys; }
};

struct ReportOptions {
  std::optional<std::size_t> top;  // nullopt: ten, and fewer when the rest is below 2 %
  std::string kernel;              // only functions whose names contain this
  bool nvtx = false, all = false, fullNames = false;
  bool window = false;             // warpmeter-gui is installed beside us: name it as a next step
};

// What was measured on GPUs, apart from the file: ceilings, where the file has none, and results of the bundled programs.
struct Known {
  std::vector<analyzer::CalibratedGpu> calibrated;
  std::vector<analyzer::ReferenceSet> references;
};
// Of this user and shipped. A file that cannot be understood is one line on stderr.
Known knownMeasurements();

Result<ReportData> gatherReport(const std::filesystem::path& file, bool nvtx, Known known = {});

// Functions that --kernel means, by index into data.kernels.functions: the exact whole name, else the exact short
// name, else every name that contains the text.
std::vector<std::size_t> matchingFunctions(const ReportData& data, const std::string& text);

std::string reportText(const ReportData& data, const ReportOptions& options, const Style& style);
Json reportJson(const ReportData& data, const ReportOptions& options);

// The parts of the text, each ending in a newline or empty.
std::string headerText(const ReportData& data, const Style& style);
std::string timeText(const ReportData& data, const Style& style);
std::string kernelsText(const ReportData& data, const ReportOptions& options, const Style& style);
std::string kernelDetailText(const ReportData& data, std::size_t function, const ReportOptions& options,
                             const Style& style);
std::string streamsText(const ReportData& data, const ReportOptions& options, const Style& style);
std::string coldStartText(const ReportData& data, const ReportOptions& options, const Style& style);
std::string copiesText(const ReportData& data, const ReportOptions& options, const Style& style);
std::string nvtxText(const ReportData& data, const ReportOptions& options, const Style& style);
std::string findingsText(const ReportData& data, const Style& style);

}  // namespace warpmeter::cli
