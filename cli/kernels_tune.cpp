// SPDX-License-Identifier: Apache-2.0
// warpmeter kernels tune: one variant of a bundled program with every block size that it takes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/kernel_programs.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "warpmeter/analyzer/format.h"
#include "warpmeter/analyzer/kernel_summary.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;
using Status = VariantRun::Status;

constexpr int kWarp = 32, kMostThreads = 1024, kRunMs = 30'000, kRecordMs = 60'000;

struct Range {
  std::int64_t min = 0, max = 0, fallback = 0;
};

// Whatever a program says, within what a block can have.
std::int64_t threadsIn(const Json& option, const char* key, int fallback) {
  return static_cast<std::int64_t>(
      std::clamp(numberIn(option, key).value_or(fallback), 0.0, double{kMostThreads} + 1));
}

// Of the program's --block; nullopt: it has none.
std::optional<Range> blocksOf(const Json& program) {
  for (const auto& option : program.value("options", Json::array()))
    if (textIn(option, "name") == "--block")
      return Range{threadsIn(option, "min", 1), threadsIn(option, "max", kMostThreads),
                   threadsIn(option, "default", 0)};
  return std::nullopt;
}

struct Row {
  std::int64_t block = 0;
  VariantRun run;
  std::optional<analyzer::Occupancy> occupancy;
  std::string occupancyReason;  // one line why not
  int registers = 0;
};

// A file that is removed at the end.
class Scratch {
 public:
  Scratch() : path_((fs::temp_directory_path() / "warpmeter-tune-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path file() const { return fs::path(path_) / "tune.wm.sqlite"; }

 private:
  std::string path_;
};

// The kernel with most time of those that the program names, else of all.
const analyzer::DistinctSummary* mainKernel(const analyzer::KernelSummary& kernels, const Json& program) {
  const auto names = program.value("kernels", Json::array());
  for (const bool named : {true, false})
    for (const auto& f : kernels.functions)
      if (!f.distinct.empty() &&
          (!named || std::find(names.begin(), names.end(), Json(f.shortName)) != names.end()))
        return &f.distinct.front();
  return nullptr;
}

// Registers and shared memory of a kernel are known once it was launched: a short recording, apart from the
// run that is timed, which nothing disturbs.
void takeOccupancy(Row& row, const Json& program, std::vector<std::string> command) {
  const Scratch scratch;
  for (const auto& [option, value] : {std::pair{"--seconds", "0"}, std::pair{"--repetitions", "1"}})
    if (hasOption(program, option)) command.insert(command.end(), {option, value});
  std::vector<std::string> record{installation().self(), "record", "-q", "--counters", "none", "-o",
                                  scratch.file(),        "--"};
  record.insert(record.end(), command.begin(), command.end());
  auto done = capture(record, changedEnvironment({}), kRecordMs);
  row.occupancyReason = "its launches could not be recorded";
  if (!done || !done->succeeded()) return;
  auto reader = ProfileReader::open(scratch.file());
  if (!reader) return;
  auto view = analyzer::ProfileView::load({std::make_shared<const ProfileReader>(std::move(*reader))},
                                          {.tables = analyzer::Tables::kernels, .stop = {}, .progress = {}});
  if (!view) return;
  auto kernels = analyzer::summarizeKernels(*view);
  const auto* kernel = kernels ? mainKernel(*kernels, program) : nullptr;
  if (!kernel) return;
  row.occupancy = kernel->occupancy;
  row.occupancyReason = harmless(kernel->occupancyReason);
  row.registers = view->configs()[view->distinctKernels()[kernel->distinct].config].registers;
}

const Row* bestOf(const std::vector<Row>& rows) {
  const Row* best = nullptr;
  for (const auto& row : rows)
    if (const auto ns = row.run.status == Status::measured ? timeNsOf(row.run) : std::nullopt)
      if (!best || *ns < *timeNsOf(best->run)) best = &row;
  return best;
}

bool refused(const Row& row) { return row.run.status == Status::failed && row.run.exitCode == kBadInput; }

std::string refusedText(const std::vector<Row>& rows, const Style& style) {
  std::string sizes, why;
  for (const auto& row : rows)
    if (refused(row)) {
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(row.block);
      if (why.empty()) why = row.run.reason;
    }
  if (sizes.empty()) return "";
  const auto colon = why.find(": ");  // behind "exit code 2"
  return wrapped(fmt::format("not allowed: {} ({})", sizes,
                             colon == std::string::npos ? why : why.substr(colon + 2)),
                 style.width == 0 ? 100000 : style.width, 2) +
         "\n";
}

std::string tableText(const std::vector<Row>& rows, const Row* best, std::int64_t fallback,
                      const Style& style) {
  using Align = TextTable::Align;
  TextTable table(
      {Align::right, Align::right, Align::right, Align::right, Align::left, Align::right, Align::left});
  table.heading({"block", "time", "rate", "occupancy", "held by", "registers", ""});
  for (const auto& row : rows) {
    if (refused(row)) continue;
    if (row.run.status != Status::measured) {
      table.row({std::to_string(row.block), "—", "—", "—", "—", "—", "FAILED: " + row.run.reason});
      continue;
    }
    const auto ns = timeNsOf(row.run);
    std::string remark = &row == best ? "<- fastest" : "";
    if (row.block == fallback) remark += remark.empty() ? "the default" : ", the default";
    table.row({std::to_string(row.block), ns ? analyzer::formatTime(static_cast<std::int64_t>(*ns)) : "—",
               rateText(row.run), row.occupancy ? analyzer::formatPercent(row.occupancy->occupancyPct) : "—",
               row.occupancy ? analyzer::limiterText(*row.occupancy) : "—",
               row.occupancy ? std::to_string(row.registers) : "—", remark});
  }
  return table.empty() ? "" : table.render(style);
}

// Why the table has "—" for occupancy, once.
std::string unknownText(const std::vector<Row>& rows) {
  for (const auto& row : rows)
    if (row.run.status == Status::measured && !row.occupancy)
      return fmt::format(" occupancy —: {}\n", row.occupancyReason.empty()
                                                   ? "the recording does not describe the GPU"
                                                   : row.occupancyReason);
  return "";
}

Json rowJson(const Row& row, const Row* best) {
  Json limiters = Json::array();
  if (row.occupancy)
    for (const auto l : row.occupancy->limiters) limiters.push_back(analyzer::named(l).id);
  const auto ns = timeNsOf(row.run);
  return Json{{"block", row.block},
              {"status", refused(row) ? "not_allowed" : idOf(row.run.status)},
              {"reason", row.run.reason.empty() ? Json(nullptr) : Json(row.run.reason)},
              {"fastest", &row == best},
              {"timeNs", orNull(ns)},
              {"bytesPerSec", orNull(row.run.result.bytesPerSec)},
              {"flopPerSec", orNull(row.run.result.flopPerSec)},
              {"theoreticalOccupancyPct", row.occupancy ? Json(row.occupancy->occupancyPct) : Json(nullptr)},
              {"occupancyReason",
               row.occupancy || row.occupancyReason.empty() ? Json(nullptr) : Json(row.occupancyReason)},
              {"limiters", std::move(limiters)},
              {"registersPerThread", row.occupancy ? Json(row.registers) : Json(nullptr)}};
}

// The variant of that name, the first one for "".
Result<Json> chosenVariant(const Json& program, const std::string& name) {
  std::string names;
  for (const auto& variant : program.value("variants", Json::array())) {
    if (name.empty() || textIn(variant, "name") == name) return variant;
    names += (names.empty() ? "" : ", ") + textIn(variant, "name");
  }
  return Error{ErrorKind::usage,
               fmt::format("{} has no variant '{}', there is: {}", textIn(program, "name"), name, names)};
}

}  // namespace

int runKernelsTune(const Arguments& arguments) {
  auto path = kernelProgram(arguments.positionals.at(0));
  if (!path) return fail(path.error(), Verb::kernelsTune);
  const auto program = describeProgram(*path);
  const std::string name = path->filename();
  if (program.is_null())
    return fail({ErrorKind::unsupported, name + " does not describe itself"}, Verb::kernelsTune);
  const auto blocks = blocksOf(program);
  if (!blocks)
    return fail({ErrorKind::usage,
                 fmt::format("{} has no option --block: its block size is part of the lesson", name)},
                Verb::kernelsTune);
  auto variant = chosenVariant(program, arguments.text(Opt::variant));
  if (!variant) return fail(variant.error(), Verb::kernelsTune);
  const auto chosen = chooseGpu(arguments.whole(Opt::gpu));
  if (!chosen.gpu) {
    const int code = fail({ErrorKind::usage, chosen.why}, Verb::kernelsTune);
    return chosen.noGpu ? kImpossible : code;
  }

  std::vector<Row> rows;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto last = std::min<std::int64_t>(blocks->max, kMostThreads);
  for (std::int64_t block = (std::max<std::int64_t>(blocks->min, kWarp) + kWarp - 1) / kWarp * kWarp;
       block <= last; block += kWarp) {
    if (terminal)
      std::fprintf(stderr, "\r\x1b[Kblock %lld of at most %lld", static_cast<long long>(block),
                   static_cast<long long>(last));
    Row row{block, variantOf(program, *variant), std::nullopt, "", 0};
    std::vector<std::string> more{
        "--block", std::to_string(block), "--device", std::to_string(chosen.gpu->index), "--nvtx", "off"};
    std::vector<std::string> command{*path, "--variant", row.run.result.variant};
    command.insert(command.end(), more.begin(), more.end());
    if (hasOption(program, "--seconds")) more.insert(more.end(), {"--seconds", "0"});
    measureVariant(row.run, *path, more, kRunMs);
    if (row.run.status == Status::measured) takeOccupancy(row, program, std::move(command));
    rows.push_back(std::move(row));
  }
  if (terminal) std::fputs("\r\x1b[K", stderr);

  const Row* best = bestOf(rows);
  Json json = jsonFor("kernels_tune");
  json["program"] = name;
  json["variant"] = textIn(*variant, "name");
  json["gpu"] =
      Json{{"index", chosen.gpu->index}, {"uuid", infoOf(*chosen.gpu).uuid}, {"name", chosen.gpu->name}};
  json["blocks"] = Json::array();
  for (const auto& row : rows) json["blocks"].push_back(rowJson(row, best));
  const auto style = styleFor(STDOUT_FILENO);
  auto text = fmt::format("{}, {}, on GPU {} {}; occupancy: what is possible\n", style.heading(name),
                          textIn(*variant, "name"), chosen.gpu->index, harmless(chosen.gpu->name));
  text += tableText(rows, best, blocks->fallback, style) + unknownText(rows) + refusedText(rows, style);
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  if (std::any_of(rows.begin(), rows.end(),
                  [](const Row& r) { return r.run.status == Status::failed && !refused(r); }))
    return kFailed;
  return best ? kOk : fail({ErrorKind::usage, "no block size gave a time"}, Verb::kernelsTune);
}

}  // namespace warpmeter::cli
