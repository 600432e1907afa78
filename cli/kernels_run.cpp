// SPDX-License-Identifier: Apache-2.0
// warpmeter kernels run without a NAME: every variant of every program, as references for this GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <tuple>

#include "cli/ceilings_file.h"
#include "cli/data_folder.h"
#include "cli/exit_codes.h"
#include "cli/references_file.h"
#include "cli/report_text.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Status = VariantRun::Status;

constexpr std::int64_t kLimitS = 60;  // all of them
constexpr double kEachS = 10;         // one of them
constexpr double kWorthS = 1;         // less is left: no other one is begun

struct Job {
  std::filesystem::path program;
  bool seconds = false;  // has that option: 0 means one round of launches
  VariantRun run;
};

std::vector<Job> jobsOf(const std::vector<std::filesystem::path>& programs) {
  std::vector<Job> jobs;
  for (const auto& path : programs) {
    const auto program = describeProgram(path);
    if (program.is_null()) {
      Job& broken = jobs.emplace_back();
      broken.program = path;
      broken.run.result.program = path.filename();
      broken.run.status = Status::failed;
      broken.run.reason = "does not say what it is (--describe --json)";
      continue;
    }
    for (const auto& variant : program.value("variants", Json::array()))
      jobs.push_back({path, hasOption(program, "--seconds"), variantOf(program, variant)});
  }
  return jobs;
}

// What a comparison can use comes first: the time may not be enough for all.
int rankOf(const Job& job) {
  using enum analyzer::Bound;
  switch (job.run.result.bound) {
    case dram:
    case fp32:
    case fp64:
    case tensor:
      return 0;
    case notMeasured:
      return 2;
    default:
      return 1;
  }
}

// By rank; within one, the first of each program, then the second: every lesson gets its turn before the time
// is over.
std::vector<Job*> inOrder(std::vector<Job>& jobs) {
  struct Place {
    int rank, turn;
    Job* job;
  };
  std::map<std::pair<std::filesystem::path, int>, int> turns;
  std::vector<Place> places;
  for (auto& job : jobs) places.push_back({rankOf(job), turns[{job.program, rankOf(job)}]++, &job});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.rank, a.turn) < std::tie(b.rank, b.turn);
  });
  std::vector<Job*> order;
  for (const auto& place : places) order.push_back(place.job);
  return order;
}

void measureAll(std::vector<Job>& jobs, int gpu, double limitS) {
  const auto order = inOrder(jobs);
  const auto begin = Clock::now();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& job = *order[i];
    if (job.run.status == Status::failed) continue;  // it did not even describe itself
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (limitS - passed < kWorthS) {
      job.run.reason = fmt::format("did not fit into {:.0f} s", limitS);
      continue;
    }
    if (terminal)
      std::fprintf(stderr, "\r\x1b[K%s",
                   fmt::format("{} of {}: {} {}, {:.0f} s of at most {:.0f}", i + 1, order.size(),
                               job.run.result.program, job.run.result.variant, passed, limitS)
                       .c_str());
    std::vector<std::string> more{"--device", std::to_string(gpu), "--nvtx", "off"};
    if (job.seconds) more.insert(more.end(), {"--seconds", "0"});
    measureVariant(job.run, job.program, more, static_cast<int>(1000 * std::min(kEachS, limitS - passed)));
  }
  if (terminal) std::fputs("\r\x1b[K", stderr);
}

std::string shareText(const VariantRun& run, const std::optional<analyzer::Ceilings>& ceilings) {
  const auto share = analyzer::shareOf(run.result, ceilings);
  if (!share) return "—";
  const bool own = !ceilings || share->source != ceilings->source;
  return fmt::format("{:.1f} % of {}{}", share->pct, share->of, own ? " (theoretical)" : "");
}

std::string boundText(const VariantRun& run) {
  return run.result.bound == analyzer::Bound::notMeasured ? "-"
                                                          : std::string(analyzer::named(run.result.bound).id);
}

std::string tableText(const std::vector<Job>& jobs, const std::optional<analyzer::Ceilings>& ceilings,
                      const Style& style) {
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::left, Align::right, Align::right, Align::left, Align::left});
  table.heading({"program", "variant", "time", "rate", "bound", "share of the ceiling"});
  for (const auto& [program, seconds, run] : jobs) {
    std::vector<std::string> cells{run.result.program, run.result.variant, "—", "—", boundText(run)};
    if (run.status == Status::measured) {
      if (const auto ns = timeNsOf(run)) cells[2] = analyzer::formatTime(static_cast<std::int64_t>(*ns));
      cells[3] = rateText(run);
      cells.push_back(shareText(run, ceilings));
    } else {
      const char* what = run.status == Status::failed         ? "FAILED: "
                         : run.status == Status::notAvailable ? "not available: "
                                                              : "not run: ";
      cells.push_back(what + run.reason);
    }
    table.row(std::move(cells));
  }
  return table.render(style);
}

Json resultJson(const VariantRun& run, const std::optional<analyzer::Ceilings>& ceilings) {
  const auto& r = run.result;
  const auto share = analyzer::shareOf(r, ceilings);
  const auto ns = timeNsOf(run);
  return Json{
      {"program", r.program},
      {"variant", r.variant},
      {"status", idOf(run.status)},
      {"reason", run.reason.empty() ? Json(nullptr) : Json(run.reason)},
      {"limiter", run.limiter.empty() ? Json(nullptr) : Json(run.limiter)},
      {"bound", r.bound == analyzer::Bound::notMeasured ? Json(nullptr) : Json(analyzer::named(r.bound).id)},
      {"precision", r.precision.empty() ? Json(nullptr) : Json(r.precision)},
      {"access", r.access ? Json(analyzer::idOf(*r.access)) : Json(nullptr)},
      {"timeNs", orNull(ns)},
      {"bytesPerSec", orNull(r.bytesPerSec)},
      {"flopPerSec", orNull(r.flopPerSec)},
      {"sharePct", share ? Json(share->pct) : Json(nullptr)},
      {"shareOf", share ? Json(share->of) : Json(nullptr)},
      {"ceilingSource", share ? Json(idOf(share->source)) : Json(nullptr)},
      {"wallSeconds", run.seconds},
      {"values", run.values.is_object() ? run.values : Json::object()}};
}

std::size_t countOf(const std::vector<Job>& jobs, Status status) {
  return static_cast<std::size_t>(
      std::count_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.run.status == status; }));
}

std::string summaryText(const std::vector<Job>& jobs, double elapsedS, double limitS) {
  auto text =
      fmt::format("{} measured in {:.0f} s",
                  counted(static_cast<std::int64_t>(countOf(jobs, Status::measured)), "variant"), elapsedS);
  if (const auto n = countOf(jobs, Status::failed)) text += fmt::format(", {} failed", n);
  if (const auto n = countOf(jobs, Status::notAvailable)) text += fmt::format(", {} not available here", n);
  if (const auto n = countOf(jobs, Status::noTime))
    text += fmt::format(", {} did not fit into {:.0f} s (--limit gives more)", n, limitS);
  return text;
}

// What calibrate kept, for shares; a file that cannot be read is said and does not end the run.
std::vector<CeilingInfo> calibratedCeilings(const std::string& uuid) {
  auto kept = readCalibrations(ceilingsFile());
  if (!kept) {
    std::fprintf(stderr, "warpmeter: %s\n", harmless(kept.error().message).c_str());
    return {};
  }
  for (const auto& gpu : calibratedGpus(*kept))
    if (gpu.uuid == uuid) return gpu.values;
  return {};
}

}  // namespace

int runKernelsSet(const Arguments& arguments) {
  auto programs = kernelPrograms();
  if (!programs) return fail(programs.error(), Verb::kernelsRun);
  const auto chosen = chooseGpu(arguments.whole(Opt::gpu));
  if (!chosen.gpu) {
    const int code = fail({ErrorKind::usage, chosen.why}, Verb::kernelsRun);
    return chosen.noGpu ? kImpossible : code;
  }
  const GpuInfo info = infoOf(*chosen.gpu);
  const auto file = referencesFile();
  // Before a minute is spent: whether the result can be kept.
  const auto before = readReferences(file);
  if (!before) return fail(before.error(), Verb::kernelsRun);
  const auto ceilings = analyzer::ceilingsFrom(info, calibratedCeilings(info.uuid));
  const double limitS = static_cast<double>(arguments.whole(Opt::limit).value_or(kLimitS));

  const auto begin = Clock::now();
  auto jobs = jobsOf(*programs);
  measureAll(jobs, chosen.gpu->index, limitS);
  const double elapsedS = std::chrono::duration<double>(Clock::now() - begin).count();

  GpuReferences references{info.uuid, info.name, utcNow(), {}};
  std::vector<std::string> names;
  for (const auto& job : jobs) {
    const auto& r = job.run.result;
    names.push_back(r.program + " " + r.variant);
    for (const auto& gpu : *before)  // of a program that is broken now, all that it had
      for (const auto& old : gpu.results)
        if (r.variant.empty() && old.program == r.program) names.push_back(old.program + " " + old.variant);
    if (job.run.status == Status::measured && r.launchNs && (r.bytesPerSec || r.flopPerSec))
      references.results.push_back(r);
  }
  std::optional<Error> notKept;
  if (info.uuid.empty())
    notKept =
        Error{ErrorKind::unsupported, "the driver does not name the GPU's UUID: the results were not kept"};
  else if (auto kept = keepReferences(file, references, names); !kept)
    notKept = kept.error();

  Json json = jsonFor("kernels_run");
  json["file"] = notKept ? Json(nullptr) : Json(file.string());
  json["gpu"] = Json{{"index", chosen.gpu->index}, {"uuid", info.uuid}, {"name", info.name}};
  json["ceilings"] =
      ceilings ? Json{{"source", idOf(ceilings->source)}, {"from", ceilings->from}} : Json(nullptr);
  json["limitSeconds"] = limitS;
  json["wallSeconds"] = elapsedS;
  json["results"] = Json::array();
  for (const auto& job : jobs) json["results"].push_back(resultJson(job.run, ceilings));

  const auto style = styleFor(STDOUT_FILENO);
  auto text = fmt::format("GPU {} {}; ceilings {}\n", info.id, harmless(info.name),
                          ceilings ? fmt::format("{}: {}", ceilings->from, ceilingsText(*ceilings))
                                   : "are the programs' own, from clocks and widths");
  text += tableText(jobs, ceilings, style) + "\n" + summaryText(jobs, elapsedS, limitS) + "\n";
  if (!notKept)
    text += fmt::format("kept in {}; `warpmeter kernels compare FILE` and reports of this GPU use it\n",
                        file.string());
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  if (notKept) return fail(*notKept, Verb::kernelsRun);
  return countOf(jobs, Status::failed) > 0 ? kFailed : kOk;
}

}  // namespace warpmeter::cli
