// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/counters_probe.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

bool mpsRuns() {
  const auto folder = variable("CUDA_MPS_PIPE_DIRECTORY");
  return access(((folder.empty() ? "/tmp/nvidia-mps" : folder) + "/control").c_str(), F_OK) == 0;
}

std::string versionOfCuda(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Row cuptiRow(const SelfTest& test) {
  auto path = test.cuptiPath;
  long long version = test.cuptiVersion;
  if (path.empty()) {
    const auto probe = probeCupti(variable("WARPMETER_CUPTI"));
    path = probe.path;
    version = probe.version;
  }
  if (path.empty())
    return {Health::warn,
            "CUPTI",
            "no libcupti found outside applications",
            {"programs that bring their own (PyTorch) can be recorded; for others install the CUDA toolkit's "
             "CUPTI",
             "or name one: WARPMETER_CUPTI=/path/to/libcupti.so.13"}};
  const bool toolkit = path.find("cuda") != std::string::npos;
  Row row{Health::ok,
          "CUPTI",
          fmt::format("{} from {} ({})", cuptiVersionText(version),
                      toolkit ? "the CUDA toolkit" : "outside the toolkit", path),
          {}};
  // Before 12.4 (API 22) records are too small; 13.0 without update has a known fault.
  if (version == 130000 || version < 22) {
    row.health = Health::fail;
    row.remedy = {"this version is refused; install CUPTI 12.4 to 12.9, or 13.0 Update 1 and later"};
  }
  return row;
}

Row tracingRow(const SelfTest& test, const GpuProbe& probe) {
  Row row{Health::ok, "tracing", "", {}};
  if (!test.possible) {
    row.health = Health::warn;
    row.text = "self-test " + test.problem;
    row.remedy = {"a build with the CUDA toolkit has the parts that record"};
    return row;
  }
  if (probe.gpus.empty()) return {Health::fail, "tracing", "self-test not tried without a GPU", {}};
  row.text =
      fmt::format("self-test: {} of {} launches recorded, {}", analyzer::formatCount(test.launches).c_str(),
                  kSelfTestLaunches, analyzer::formatTime(test.durationNs));
  if (!test.problem.empty()) {
    row.health = test.recorded ? Health::warn : Health::fail;
    row.text += "; " + test.problem;
  }
  return row;
}

std::string verdict(const Diagnosis& d, int code, bool required) {
  const auto both = d.canRecord ? fmt::format("Tracing works, counters {}.",
                                              d.countersPermitted ? "are permitted" : "do not")
                                : std::string("Nothing can be recorded here.");
  const auto other = !required && d.canRecord && !d.countersPermitted ? " (4 with --require counters)" : "";
  return fmt::format("{} Exit code {}{}.", both, code, other);
}

void printRows(const std::vector<Row>& rows, const Style& style) {
  for (const auto& row : rows) {
    const auto state = fmt::format("{:<4}", idOf(row.health));
    const auto painted = row.health == Health::ok     ? style.good(state)
                         : row.health == Health::warn ? style.warn(state)
                                                      : style.bad(state);
    constexpr std::size_t kColumn = 16;  // of the text
    fmt::print("{}  {:<8}  {}\n", painted, row.name,
               wrapped(harmless(row.text), style.width - kColumn, kColumn));
    for (std::size_t i = 0; i < row.remedy.size(); ++i)
      fmt::print("{}\n",
                 style.line(fmt::format("      {:<8}  {}", i == 0 ? "remedy" : "", harmless(row.remedy[i]))));
  }
}

Json toJson(const Diagnosis& d, const GpuProbe& probe, const CountersProbe& counters, const SelfTest& test,
            int code) {
  Json json = jsonFor("doctor");
  json["exitCode"] = code;
  json["canRecord"] = d.canRecord;
  json["countersPermitted"] = d.countersPermitted;
  json["driver"] = Json{{"found", probe.library},
                        {"version", probe.driverVersion},
                        {"cudaVersion", probe.cudaVersion},
                        {"initError", probe.initError}};
  json["gpus"] = Json::array();
  for (const auto& g : probe.gpus)
    json["gpus"].push_back(Json{{"index", g.index},
                                {"name", g.name},
                                {"uuid", g.uuid},
                                {"computeMajor", g.computeMajor},
                                {"computeMinor", g.computeMinor},
                                {"smCount", g.smCount},
                                {"mig", g.mig}});
  json["counters"] = Json::array();
  for (const auto& c : counters.gpus)
    json["counters"].push_back(Json{{"uuid", c.uuid},
                                    {"chip", c.chip},
                                    {"available", c.available},
                                    {"reason", c.reason.empty() ? Json(nullptr) : Json(c.reason)},
                                    {"text", c.text},
                                    {"sets", c.sets}});
  json["selfTest"] = Json{{"possible", test.possible},        {"expectedLaunches", kSelfTestLaunches},
                          {"launches", test.launches},        {"durationNs", test.durationNs},
                          {"problem", test.problem},          {"cuptiPath", test.cuptiPath},
                          {"cuptiVersion", test.cuptiVersion}};
  json["checks"] = Json::array();
  for (const auto& row : d.rows)
    json["checks"].push_back(
        Json{{"state", idOf(row.health)}, {"name", row.name}, {"text", row.text}, {"remedy", row.remedy}});
  return json;
}

}  // namespace

std::string_view idOf(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warn:
      return "warn";
    case Health::fail:
      return "fail";
  }
  return "fail";
}

std::vector<Row> gpuRows(const GpuProbe& probe) {
  if (!probe.library)
    return {{Health::fail,
             "GPU",
             "no CUDA driver found (libcuda.so.1)",
             {"install NVIDIA's driver; container: start it with --gpus all"}}};
  if (probe.initError != 0)
    return {{Health::fail,
             "GPU",
             fmt::format("the CUDA driver does not start: {}",
                         probe.initError < 0 || probe.initErrorText.empty()
                             ? (probe.initErrorText.empty() ? fmt::format("error {}", probe.initError)
                                                            : probe.initErrorText)
                             : fmt::format("{} ({})", probe.initErrorText, probe.initError)),
             {"nvidia-smi says more; container: start it with --gpus all"}}};
  if (probe.gpus.empty()) {
    const auto visible = variable("CUDA_VISIBLE_DEVICES");
    return {{Health::fail,
             "GPU",
             "the driver shows no GPU" +
                 (visible.empty() ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES={})", visible)),
             {}}};
  }
  std::vector<Row> rows;
  const bool mps = mpsRuns();
  for (const auto& g : probe.gpus) {
    const auto driver = probe.driverVersion.empty() ? "" : fmt::format(" {}", probe.driverVersion);
    rows.push_back({Health::ok,
                    fmt::format("GPU {}", g.index),
                    fmt::format("{}, cc {}.{}, driver{} (CUDA {}); {}, {}",
                                g.name.empty() ? "a GPU without a name" : g.name, g.computeMajor,
                                g.computeMinor, driver, versionOfCuda(probe.cudaVersion),
                                g.mig ? "a MIG slice" : "no MIG", mps ? "MPS is running" : "no MPS"),
                    {}});
  }
  return rows;
}

int runDoctor(const Arguments& arguments) {
  const Installation where = installation();
  const auto probe = probeGpus();
  SelfTest test;
  if (!probe.gpus.empty())
    test = runSelfTest(where);
  else {
    test.possible = access(where.injectLibrary().c_str(), F_OK) == 0;
    test.problem = test.possible ? "not tried without a GPU" : "not tried: this build cannot record";
  }

  Diagnosis d;
  d.rows = gpuRows(probe);
  d.rows.push_back(cuptiRow(test));
  d.rows.push_back(tracingRow(test, probe));
  d.canRecord = test.recorded;
  CountersProbe counters;
  if (!probe.gpus.empty()) counters = probeCounters(where);
  auto counterRows = countersRows(counters);
  d.countersPermitted = std::all_of(counterRows.begin(), counterRows.end(),
                                    [](const Row& row) { return row.health == Health::ok; });
  for (auto& row : counterRows) d.rows.push_back(std::move(row));
  for (auto& row : holderRows(where)) d.rows.push_back(std::move(row));
  d.rows.push_back(hostRow());
  d.rows.push_back(outputRow());

  const bool required = arguments.text(Opt::require) == "counters";
  const int code = !d.canRecord || (required && !d.countersPermitted) ? kImpossible : kOk;
  if (arguments.has(Opt::json)) {
    std::fputs(printed(toJson(d, probe, counters, test, code)).c_str(), stdout);
  } else {
    printRows(d.rows, styleFor(STDOUT_FILENO));
    fmt::print("{}\n", verdict(d, code, required));
  }
  return code;
}

}  // namespace warpmeter::cli
