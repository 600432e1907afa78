// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "cli/app_process.h"
#include "cli/ceilings_file.h"
#include "cli/counters_option.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/outer_recording.h"
#include "cli/output_name.h"
#include "cli/record_summary.h"
#include "cli/recorder_process.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {
namespace {

void say(const Arguments& arguments, const std::string& line) {
  // Not fmt::print: it throws where stderr is closed or full.
  if (!arguments.has(Opt::quiet)) std::fputs(fmt::format("warpmeter: {}\n", line).c_str(), stderr);
}

// Our own failure is said even with --quiet: the application did not run.
int refuse(const Error& error) { return fail(error, Verb::record); }

Result<std::filesystem::path> outputOf(const Arguments& arguments) {
  if (!arguments.has(Opt::output)) return freeOutput(applicationName(arguments.command));
  const std::filesystem::path output = arguments.text(Opt::output);
  struct stat s {};
  if (lstat(output.c_str(), &s) != 0) return output;
  if (S_ISDIR(s.st_mode))
    return Error{ErrorKind::isDirectory,
                 fmt::format("{} is a directory; name a file in it", output.string())};
  if (!S_ISREG(s.st_mode) && !S_ISLNK(s.st_mode))
    return Error{ErrorKind::exists,
                 fmt::format("{} is a device or a pipe; name a regular file", output.string())};
  if (!arguments.has(Opt::force))
    return Error{ErrorKind::exists,
                 fmt::format("{} exists; choose another name or add --force", output.string())};
  return output;
}

void sayWhoIsReplaced(const Arguments& arguments, const Installation& where) {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (name[0] == 'N' && arguments.has(Opt::noNvtx)) continue;
    const std::string value = variable(name);
    if (value.empty() || value == where.injectLibrary()) continue;
    const std::string owner = ownerOf(value);
    say(arguments, fmt::format("{} belongs to {}; replaced for this run{}", name, harmless(owner),
                               owner == value ? "" : fmt::format(" (was {})", harmless(value))));
  }
}

std::int64_t launchesPerKernel(const Arguments& arguments) {
  return arguments.whole(Opt::launchesPerKernel).value_or(3);
}

// Options that mean nothing together, or "".
std::string contradiction(const Arguments& arguments) {
  if (launchesPerKernel(arguments) > kMostLaunchesPerKernel)
    return fmt::format("--launches-per-kernel takes at most {}", kMostLaunchesPerKernel);
  if (const auto period = arguments.whole(Opt::pcPeriod)) {
    if (*period < kLeastPcPeriod || *period > kMostPcPeriod)
      return fmt::format("--pc-period takes {} to {}: a sample every 2^N cycles", kLeastPcPeriod, kMostPcPeriod);
    if (arguments.text(Opt::counters) != "pc") return "--pc-period needs --counters pc";
  }
  for (const Opt option : {Opt::delay, Opt::duration})
    if (arguments.has(option) && arguments.has(Opt::captureRange))
      return fmt::format("{} and --capture-range exclude each other: keep a time or a range", specOf(option).name);
  if (wantsExact(arguments.text(Opt::counters))) return "";
  for (const Opt option : {Opt::launchesPerKernel, Opt::metrics})
    if (arguments.has(option)) return fmt::format("{} needs --counters exact or sample,exact", specOf(option).name);
  return "";
}

std::vector<std::string> environmentFor(const Arguments& arguments, const Installation& where,
                                        const RecorderProcess& recorder) {
  std::map<std::string, std::optional<std::string>> changes{
      {"CUDA_INJECTION64_PATH", where.injectLibrary()},
      {wire::kEnvSocket, recorder.socket()},
      {wire::kEnvRun, recorder.runId()},
      {wire::kEnvLaunchLatency, std::nullopt},
      {wire::kEnvExact, std::nullopt},
      {wire::kEnvPc, std::nullopt},
  };
  if (!arguments.has(Opt::noNvtx))
    changes["NVTX_INJECTION64_PATH"] = where.injectLibrary();
  else if (variable("NVTX_INJECTION64_PATH") == where.injectLibrary())
    changes["NVTX_INJECTION64_PATH"] = std::nullopt;
  if (arguments.has(Opt::launchLatency))
    changes[wire::kEnvLaunchLatency] = arguments.text(Opt::launchLatency) == "force" ? "force" : "1";
  if (wantsExact(arguments.text(Opt::counters))) changes[wire::kEnvExact] = std::to_string(launchesPerKernel(arguments));
  if (arguments.text(Opt::counters) == "pc")
    changes[wire::kEnvPc] = arguments.has(Opt::pcPeriod) ? arguments.text(Opt::pcPeriod) : "auto";
  if (arguments.has(Opt::api)) changes[wire::kEnvApi] = arguments.text(Opt::api);
  if (arguments.has(Opt::flushMs)) changes[wire::kEnvFlushMs] = arguments.text(Opt::flushMs);
  if (arguments.has(Opt::cupti)) changes[wire::kEnvCuptiPath] = arguments.text(Opt::cupti);
  return changedEnvironment(changes);
}

bool driverMissing() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr; }

int startFailure(const Error& error) {
  const int code = error.kind == ErrorKind::notFound ? kProgramNotFound
                   : error.kind == ErrorKind::noPermission || error.kind == ErrorKind::isDirectory
                       ? kNotExecutable
                       : kNotStarted;
  (void)refuse(error);
  return code;
}

}  // namespace

namespace {

// A file of calibrate that cannot be understood costs the recording its ceilings, nothing else.
std::vector<analyzer::CalibratedGpu> keptCeilings(const Arguments& arguments) {
  auto kept = readCalibrations(ceilingsFile());
  if (kept) return calibratedGpus(*kept);
  say(arguments, harmless(kept.error().message));
  return {};
}

// Two recordings started at once may find the same free default name: the loser takes the next one.
Result<RecorderProcess> startRecorder(const Installation& where, const Arguments& arguments,
                                      std::filesystem::path& output) {
  const auto ceilings = keptCeilings(arguments);
  for (int more = 100;; --more) {
    auto recorder = RecorderProcess::start(where, arguments, ceilings, output);
    if (recorder || more == 0 || arguments.has(Opt::output)) return recorder;
    auto next = outputOf(arguments);
    if (!next || *next == output) return recorder;
    output = *next;
  }
}

}  // namespace

int runRecord(const Arguments& arguments) {
  if (const auto wrong = contradiction(arguments); !wrong.empty()) return refuse(Error{ErrorKind::usage, wrong});
  if (const auto outer = outerRecording()) return refuse(refusalInside(*outer));
  // Everything that can be wrong beforehand is found out before a file is made.
  auto program = findProgram(arguments.command.at(0));
  if (!program) return startFailure(program.error());
  auto output = outputOf(arguments);
  if (!output) return refuse(output.error());
  const Installation where = installation();
  auto recorder = startRecorder(where, arguments, *output);
  if (!recorder) return refuse(recorder.error());
  sayWhoIsReplaced(arguments, where);
  if (wantsExact(arguments.text(Opt::counters)))
    say(arguments, exactCost(arguments.has(Opt::metrics) ? arguments.text(Opt::metrics) : "basic", launchesPerKernel(arguments)));

  std::fflush(nullptr);
  auto end = runApplication(*program, arguments.command, environmentFor(arguments, where, *recorder),
                            [&](pid_t pid) { recorder->applicationStarted(pid, arguments.command); });
  if (!end) {
    recorder->stop();
    (void)recorder->awaitSummary(false);
    std::error_code ignored;  // an empty recording of a program that never ran helps nobody
    std::filesystem::remove(*output, ignored);
    return startFailure(end.error());
  }
  recorder->applicationEnded(end->pid, end->waitStatus);

  RecordedRun run{applicationTitle(arguments.command), *end,
                  recorder->awaitSummary(!arguments.has(Opt::quiet)), *output};
  if (!arguments.has(Opt::quiet)) {
    run.driverMissing = run.summary && run.summary->processesRecorded == 0 && driverMissing();
    for (const auto& line : summaryLines(run)) say(arguments, line);
  }
  const int code = end->exitCode();
  return code == 0 && arguments.has(Opt::strict) && !isComplete(run) ? kIncomplete : code;
}

}  // namespace warpmeter::cli
