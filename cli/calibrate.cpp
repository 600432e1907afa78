// SPDX-License-Identifier: Apache-2.0
// warpmeter calibrate: what the GPUs of this machine can reach, measured and kept.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/ceilings_file.h"
#include "cli/data_folder.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/installation.h"
#include "cli/report_text.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

constexpr int kTimeoutMs = 60'000;  // measuring takes about a second; a cold driver some more

// One GPU could not be measured: what to say, and whether there is none at all.
struct Trouble {
  std::string text;
  bool noGpu = false;
};

// The program's answer to `argument`, parsed; "" asks how many GPUs there are.
std::optional<Json> ask(const Installation& where, const std::string& argument, Trouble& trouble) {
  std::vector<std::string> command{where.calibrate()};
  if (!argument.empty()) command.push_back(argument);
  auto run = capture(
      command,
      changedEnvironment({{"CUDA_INJECTION64_PATH", std::nullopt}, {"NVTX_INJECTION64_PATH", std::nullopt}}),
      kTimeoutMs);
  if (!run) {
    trouble.text = run.error().kind == ErrorKind::notFound
                       ? "cannot calibrate: this build was made without the CUDA toolkit"
                       : run.error().message;
    trouble.noGpu = run.error().kind == ErrorKind::notFound;
    return std::nullopt;
  }
  if (run->succeeded()) {
    auto json = Json::parse(run->out, nullptr, false);
    if (json.is_object()) return json;
  }
  while (run->err.ends_with('\n')) run->err.pop_back();
  trouble.noGpu = run->exitCode() == kImpossible;
  trouble.text = run->timedOut      ? fmt::format("calibration did not end within {} s", kTimeoutMs / 1000)
                 : run->err.empty() ? fmt::format("calibration ended with {}", run->exitCode())
                                    : run->err.substr(run->err.rfind('\n') + 1);
  return std::nullopt;
}

}  // namespace

int runCalibrate(const Arguments& arguments) {
  const Installation where = installation();
  Trouble trouble;
  std::vector<std::string> wanted{arguments.text(Opt::gpu)};
  if (!arguments.has(Opt::gpu)) {
    const auto answer = ask(where, "", trouble);
    wanted.clear();
    for (int i = 0; answer && i < answer->value("gpus", 0); ++i) wanted.push_back(std::to_string(i));
  }
  std::vector<Calibration> measured;
  for (const auto& gpu : wanted) {
    const auto answer = ask(where, gpu, trouble);
    if (!answer) break;
    auto calibration = calibrationFrom(*answer);
    if (!calibration) {
      trouble.text = fmt::format("GPU {}: an answer that cannot be understood", gpu);
      break;
    }
    calibration->measured = utcNow();
    measured.push_back(std::move(*calibration));
  }
  if (measured.size() < wanted.size() || wanted.empty()) {
    const int code = fail({ErrorKind::usage, trouble.text}, Verb::calibrate);
    return trouble.noGpu ? kImpossible : code;
  }
  const auto file = ceilingsFile();
  if (auto kept = keepCalibrations(file, measured); !kept) return fail(kept.error(), Verb::calibrate);

  Json json = jsonFor("calibrate");
  json["file"] = file.string();
  json["gpus"] = Json::array();
  std::string text;
  for (const auto& c : measured) {
    json["gpus"].push_back(toJson(c));
    text += fmt::format("GPU {}  {}: {}\n", c.gpu, harmless(c.name),
                        ceilingsText(*analyzer::ceilingsFrom({}, calibratedGpus({c})[0].values)));
  }
  text += fmt::format("kept in {}; reports of recordings made on these GPUs use it\n", file.string());
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  return kOk;
}

}  // namespace warpmeter::cli
