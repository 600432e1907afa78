// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>

#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/report_text.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDescribeMs = 10'000;

std::vector<std::string> withoutInjection() {
  return changedEnvironment(
      {{"CUDA_INJECTION64_PATH", std::nullopt}, {"NVTX_INJECTION64_PATH", std::nullopt}});
}

std::string lastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return harmless(text.substr(text.rfind('\n') + 1));
}

analyzer::Bound boundFromId(std::string_view id) {
  for (std::size_t i = 0; i < analyzer::kBounds.size(); ++i)
    if (analyzer::kBounds[i].id == id) return static_cast<analyzer::Bound>(i);
  return analyzer::Bound::notMeasured;
}

// What counts for a variant: operations for one that a pipe bounds, else bytes, where it has both.
bool countsOperations(const analyzer::ReferenceResult& r) {
  using enum analyzer::Bound;
  const bool pipe = r.bound == fp32 || r.bound == fp64 || r.bound == tensor || r.bound == integer;
  return r.flopPerSec && (pipe || !r.bytesPerSec);
}

// A time in ns or a rate per second that can have been measured: above 0, below eleven days or 1e18 (a year's
// best GPU does 1e16).
constexpr double kMostNs = 1e15, kMostPerSec = 1e18;
bool plausible(double value, double most) { return value > 0 && value <= most; }

// nullopt and good = false where the program says what cannot be.
std::optional<double> measuredIn(const Json& values, const char* key, double most, bool& good) {
  const auto value = numberIn(values, key);
  if (!value || plausible(*value, most)) return value;
  good = false;
  return std::nullopt;
}

// The program's answer, understood; false when it is none.
bool takeAnswer(VariantRun& run, const std::string& out) {
  const auto json = Json::parse(out, nullptr, false);
  if (!json.is_object() || !json.contains("values") || !json["values"].is_object()) return false;
  auto& r = run.result;
  bool good = true;
  const auto& values = json["values"];
  r.launchNs = measuredIn(values, "launchNs", kMostNs, good);
  r.bytesPerSec = measuredIn(values, "bandwidthBytesPerSec", kMostPerSec, good);
  r.flopPerSec = measuredIn(values, "flopPerSec", kMostPerSec, good);
  if (!good) return false;
  run.values = values;
  r.ownCeiling = numberIn(run.values, countsOperations(r) ? "ceilingFlopPerSec" : "ceilingBytesPerSec");
  for (const auto& notice : json.value("notices", Json::array()))
    if (notice.is_string() && run.reason.empty()) run.reason = harmless(notice.get<std::string>());
  run.status = run.values.empty() && !run.reason.empty() ? VariantRun::Status::notAvailable
                                                         : VariantRun::Status::measured;
  return true;
}

}  // namespace

Result<std::vector<fs::path>> kernelPrograms() {
  const auto folder = installation().kernels();
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  if (out.empty())
    return Error{ErrorKind::notFound,
                 fmt::format("no bundled programs in {}: this build was made without the CUDA toolkit",
                             folder.string())};
  return out;
}

Result<fs::path> kernelProgram(const std::string& name) {
  auto all = kernelPrograms();
  if (!all) return all.error();
  const auto it =
      std::find_if(all->begin(), all->end(), [&](const fs::path& p) { return p.filename() == name; });
  if (it != all->end()) return *it;
  std::vector<std::string> names;
  for (const auto& p : *all) names.push_back(p.filename());
  return Error{ErrorKind::usage,
               fmt::format("no bundled program named '{}'; there are: {}", name, fmt::join(names, ", "))};
}

Json describeProgram(const fs::path& program) {
  auto run = capture({program, "--describe", "--json"}, withoutInjection(), kDescribeMs);
  if (!run || !run->succeeded()) return nullptr;
  auto json = Json::parse(run->out, nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

std::string groupOf(const std::string& program) {
  static const auto groups = [] {
    std::map<std::string, std::string> out;
    std::ifstream in(installation().kernelGroups());
    for (std::string group, name; in >> group >> name;) out[name] = harmless(group);
    return out;
  }();
  const auto found = groups.find(program);
  return found == groups.end() ? "" : found->second;
}

std::string textIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? harmless(it->get<std::string>()) : "";
}

std::optional<double> numberIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number()) return std::nullopt;
  const double value = it->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool hasOption(const Json& description, const std::string& name) {
  const auto options = description.value("options", Json::array());
  return std::any_of(options.begin(), options.end(),
                     [&](const Json& o) { return textIn(o, "name") == name; });
}

std::string_view idOf(VariantRun::Status status) {
  constexpr std::array<std::string_view, 4> kIds{"measured", "not_available", "failed", "no_time"};
  return kIds[static_cast<std::size_t>(status)];
}

VariantRun variantOf(const Json& description, const Json& variant) {
  VariantRun run;
  run.result.program = textIn(description, "name");
  run.result.variant = textIn(variant, "name");
  run.result.bound = boundFromId(textIn(variant, "bound"));
  run.result.precision = textIn(variant, "precision");
  run.result.access = analyzer::accessFromId(textIn(variant, "access"));
  run.limiter = textIn(variant, "limiter");
  return run;
}

void measureVariant(VariantRun& run, const fs::path& program, const std::vector<std::string>& more,
                    int timeoutMs) {
  std::vector<std::string> command{program, "--variant", run.result.variant, "--json"};
  command.insert(command.end(), more.begin(), more.end());
  const auto begin = std::chrono::steady_clock::now();
  auto done = capture(command, withoutInjection(), timeoutMs);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.status = VariantRun::Status::failed;
  if (!done) {
    run.reason = harmless(done.error().message);
    return;
  }
  run.exitCode = done->exitCode();
  if (done->timedOut) {
    run.reason = fmt::format("did not end within {:.0f} s", timeoutMs / 1000.0);
  } else if (!done->succeeded()) {
    run.reason =
        fmt::format("exit code {}{}{}", run.exitCode, done->err.empty() ? "" : ": ", lastLine(done->err));
  } else if (!takeAnswer(run, done->out)) {
    run.reason = "an answer that cannot be understood";
  }
}

std::optional<double> timeNsOf(const VariantRun& run) {
  const auto timeIn = [&](const char* key) {
    const auto ns = numberIn(run.values, key);
    return ns && plausible(*ns, kMostNs) ? ns : std::nullopt;
  };
  for (const char* key : {"launchNs", "kernelNs", "laterLaunchNs", "elapsedNs"})
    if (const auto ns = timeIn(key)) return ns;
  if (run.values.is_object())
    for (const auto& [key, value] : run.values.items())
      if (const auto ns = key.ends_with("Ns") ? timeIn(key.c_str()) : std::nullopt) return ns;
  return std::nullopt;
}

std::string rateText(const VariantRun& run) {
  const auto& r = run.result;
  if (countsOperations(r)) return operationsText(*r.flopPerSec);
  return r.bytesPerSec ? analyzer::formatRate(*r.bytesPerSec) : "—";
}

ChosenGpu chooseGpu(std::optional<std::int64_t> wanted) {
  const auto probe = probeGpus();
  ChosenGpu out;
  if (probe.gpus.empty()) {
    out.noGpu = true;
    out.why = !probe.library                 ? "no GPU to run on: there is no NVIDIA driver (libcuda.so.1)"
              : !probe.initErrorText.empty() ? "no GPU to run on: " + harmless(probe.initErrorText)
                                             : "no GPU to run on";
    return out;
  }
  const auto index = static_cast<std::size_t>(wanted.value_or(0));
  if (index >= probe.gpus.size())
    out.why = fmt::format("--gpu {} does not exist, the last one is {}", index, probe.gpus.size() - 1);
  else
    out.gpu = probe.gpus[index];
  return out;
}

GpuInfo infoOf(const ProbedGpu& gpu) {
  GpuInfo info;
  info.id = gpu.index;
  info.name = gpu.name;
  info.uuid = gpu.uuid.starts_with("GPU-") ? gpu.uuid.substr(4) : gpu.uuid;
  info.computeMajor = gpu.computeMajor;
  info.computeMinor = gpu.computeMinor;
  info.smCount = gpu.smCount;
  return info;
}

}  // namespace warpmeter::cli
