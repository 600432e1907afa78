// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "cli/doctor.h"
#include "cli/environment.h"
#include "cli/subprocess.h"
#include "warpmeter/profile/reader.h"

namespace warpmeter::cli {
namespace {

constexpr int kTimeoutMs = 90'000;

// A folder that is gone afterwards, whatever happened in between.
class Scratch {
 public:
  Scratch() {
    auto pattern = (std::filesystem::temp_directory_path() / "warpmeter-doctor-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string lastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// What the recording says about itself when launches are missing.
std::string explain(const ProfileReader& reader, const SelfTest& test) {
  if (auto processes = reader.processes())
    for (const auto& p : *processes)
      if (!p.status.empty() && p.status != "recorded") return p.status;
  if (auto losses = reader.losses(); losses && !losses->empty())
    return losses->front().kind + ": " + losses->front().why;
  return test.launches == 0 ? "the driver did not load the recording library" : "launches are missing";
}

void readRecording(const std::filesystem::path& file, SelfTest& test) {
  auto reader = ProfileReader::open(file);
  if (!reader) {
    test.problem = reader.error().message;
    return;
  }
  test.launches = reader->rowEnd<KernelRow>() > 0 ? reader->rowEnd<KernelRow>() - 1 : 0;
  std::int64_t untimed = 0;
  (void)reader->readUntimed({}, [&](std::span<const KernelRow> rows, std::span<const std::int64_t>) {
    untimed += static_cast<std::int64_t>(rows.size());
  });
  test.launches += untimed;
  test.recorded = test.launches > 0;
  if (auto processes = reader->processes())
    for (const auto& p : *processes)
      if (!p.cuptiPath.empty()) {
        test.cuptiPath = p.cuptiPath;
        test.cuptiVersion = isNull(p.cuptiVersion) ? 0 : p.cuptiVersion;
      }
  if (test.launches != kSelfTestLaunches) test.problem = explain(*reader, test);
}

}  // namespace

SelfTest runSelfTest(const Installation& where) {
  SelfTest test;
  const auto program = where.kernels() / "empty";
  for (const auto& part : {where.recorder(), where.injectLibrary(), program})
    if (access(part.c_str(), F_OK) != 0) {
      test.problem = fmt::format("not tried: {} is not in this build", part.filename().string());
      return test;
    }
  test.possible = true;
  const Scratch scratch;
  if (scratch.path().empty()) {
    test.problem =
        fmt::format("not tried: {} is not writable", std::filesystem::temp_directory_path().string());
    return test;
  }
  const auto file = scratch.path() / "selftest.wm.sqlite";
  // One launch of its warm-up comes on top of the repetitions.
  const std::vector<std::string> command{where.self(),
                                         "record",
                                         "--quiet",
                                         "--counters",
                                         "none",
                                         "-o",
                                         file,
                                         "--",
                                         program,
                                         "--repetitions",
                                         std::to_string(kSelfTestLaunches - 1)};
  const auto begin = std::chrono::steady_clock::now();
  auto run = capture(
      command,
      // A recording that doctor itself runs in is none of the self-test's.
      changedEnvironment({{"CUDA_INJECTION64_PATH", std::nullopt},
                          {"NVTX_INJECTION64_PATH", std::nullopt},
                          {"WARPMETER_SOCKET", std::nullopt}}),
      kTimeoutMs);
  test.durationNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (!run) {
    test.problem = run.error().message;
  } else if (run->timedOut) {
    test.problem = fmt::format("did not end within {} s", kTimeoutMs / 1000);
  } else if (!run->succeeded()) {
    const auto said = lastLine(run->err);
    test.problem = fmt::format("ended with {}{}{}", run->exitCode(), said.empty() ? "" : ": ", said);
  } else {
    readRecording(file, test);
  }
  return test;
}

}  // namespace warpmeter::cli
