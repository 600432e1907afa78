// SPDX-License-Identifier: Apache-2.0
// Lesson: kernels of different processes take turns on a GPU, however small they are; with NVIDIA's
// Multi-Process Service (MPS) they run beside one another.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"
#include "processes/child.h"
#include "processes/mps.h"

// A chain of dependent multiply-adds: long, and too small a grid to fill the GPU. Tends to 2 x.
__global__ void shareKernel(int steps, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float start = x[i];
  float value = start;
  for (int step = 0; step < steps; ++step) {
    value = 0.5f * value + start;
  }
  y[i] = value;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "many_processes",
    "the same small kernels from several processes: they take turns, or share the GPU through MPS",
    {"shareKernel"},
    // No bound: whose kernels the GPU's counters count changes all the time.
    {{"separate", "each process has the GPU for a slice of time", "grid", "", "fp32"},
     {"mps", "a daemon of MPS for this run alone puts them all into one context", "grid", "", "fp32"}},
    {{"processes", 4, 1, 48, "processes that work at the same time"},
     {"launches", 200, 1, 1'000'000, "kernels of each"},
     {"blocks", 16, 1, 65535, "blocks of each kernel"},
     {"block", 256, 1, 1024, "threads in a block"},
     {"steps", 20000, 1, 1'000'000'000, "dependent multiply-adds of each thread"}},
    {"--processes", "2", "--launches", "3", "--steps", "100"}};

std::int64_t sizeOf(const Arguments& arguments) { return arguments["blocks"] * arguments["block"]; }

void checkResult(const std::vector<float>& x, const std::vector<float>& y, std::int64_t steps) {
  const double left = steps < 60 ? std::ldexp(1.0, -static_cast<int>(steps)) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = (2 - left) * x[i];
    if (!(std::abs(y[i] - expected) <= 1e-6 * std::abs(expected))) {
      throw differs("y[" + std::to_string(i) + "]", y[i], expected);
    }
  }
}

// One process's part: says "ready"; for each "run" launches everything and says how many ns that took; after
// "end" checks the result and says "checked".
void work(Run& run) {
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const std::int64_t size = sizeOf(run.arguments);
  openDevice(run);
  requireDeviceMemory(2 * size * static_cast<std::int64_t>(sizeof(float)), "--blocks");
  requireBlock(shareKernel, block);
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  DeviceArray<float> deviceY(size);
  deviceX.upload(x, run.report);
  shareKernel<<<blocks, block>>>(steps, deviceX.get(), deviceY.get());
  checkLaunch("shareKernel");
  WARPMETER_CHECK(cudaDeviceSynchronize());
  writeLine(kChildLines, "ready");

  std::string line;
  while (readLine(kChildLines, line, -1) && line == "run") {
    Phase phase(run.nvtx, "work");
    HostTimer timer;
    for (std::int64_t i = 0; i < run.arguments["launches"]; ++i) {
      shareKernel<<<blocks, block>>>(steps, deviceX.get(), deviceY.get());
    }
    checkLaunch("shareKernel");
    WARPMETER_CHECK(cudaDeviceSynchronize());
    writeLine(kChildLines, std::to_string(timer.ns()));
  }
  if (line == "end") {
    checkResult(x, deviceY.download(run.report), steps);
    writeLine(kChildLines, "checked");
  }
}

// The program as one of its own children. argv: what follows the word "worker".
int runWorker(int argc, const char* const* argv) {
  Failure failure{kExitFailed, ""};
  try {
    const Arguments arguments = Arguments::parse(kProgram, argc, argv);
    Run run{kProgram, arguments, Nvtx(arguments.nvtx()), {}};
    work(run);
    return 0;
  } catch (const Failure& caught) {
    failure = caught;
  } catch (const std::exception& caught) {
    failure.message = caught.what();
  }
  writeLine(kChildLines, "failed " + std::to_string(failure.exitCode) + " " + failure.message);
  return failure.exitCode;
}

// A path that a recording can name the processes by, unlike /proc/self/exe.
std::string ownPath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "/proc/self/exe";
}

std::vector<std::string> workerWords(const Run& run, std::int64_t index) {
  std::vector<std::string> words{"worker", "--nvtx", run.arguments.nvtx() ? "on" : "off"};
  for (const char* option : {"launches", "blocks", "block", "steps", "device"}) {
    words.push_back(std::string("--") + option);
    words.push_back(std::to_string(run.arguments[option]));
  }
  words.push_back("--seed");
  words.push_back(std::to_string((run.arguments["seed"] + index) & INT64_MAX));
  return words;
}

void measureAndCheck(Run& run, const std::vector<Child>& children) {
  const auto processes = static_cast<std::int64_t>(children.size());
  const std::int64_t launches = run.arguments["launches"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  double aloneNs = 0;
  {
    Phase phase(run.nvtx, "alone");
    children.front().say("run");
    aloneNs = std::strtod(children.front().answer().c_str(), nullptr);
  }
  Phase phase(run.nvtx, "together");
  const HostTimer timer;
  double slowestNs = 0;
  for (const Child& child : children) {
    child.say("run");
  }
  for (const Child& child : children) {
    slowestNs = std::max(slowestNs, std::strtod(child.answer().c_str(), nullptr));
  }
  const double togetherNs = timer.ns();
  const auto bytes = sizeOf(run.arguments) * static_cast<std::int64_t>(sizeof(float));
  for (const Child& child : children) {
    child.say("end");
    child.answer();
    run.report.copy({"h2d", "pageable", bytes});
    run.report.copy({"d2h", "pageable", bytes});
  }
  run.report.launches.add({"shareKernel", blocks, block}, processes * (launches + 1) + launches);
  run.nvtx.mark("checked");
  run.report.checked(processes * sizeOf(run.arguments), "double precision");
  run.report.value("processes", "processes", static_cast<double>(processes), Unit::count);
  run.report.value("aloneNs", "one process alone", aloneNs, Unit::nanoseconds);
  run.report.value("togetherNs", "all at the same time", togetherNs, Unit::nanoseconds);
  run.report.value("slowestNs", "slowest of them", slowestNs, Unit::nanoseconds);
  run.report.value("sharingRatio", "processes' worth at a time",
                   static_cast<double>(processes) * aloneNs / togetherNs, Unit::ratio);
}

void manyProcesses(Run& run) {
  const bool mps = run.arguments.variant() == "mps";
  const std::int64_t processes = run.arguments["processes"];
  requireHostMemory(processes * 2 * sizeOf(run.arguments) * static_cast<std::int64_t>(sizeof(float)),
                    "--blocks");
  requireDevice(run);  // the processes make contexts, not this one
  cudaDeviceProp properties{};
  WARPMETER_CHECK(cudaGetDeviceProperties(&properties, static_cast<int>(run.arguments["device"])));
  run.report.device = properties.name;

  const auto unavailable = [&run](const std::string& why) {
    run.report.notice("MPS is not available here: " + why + "; nothing measured");
  };
  const PipeFolder folder;  // empty without a daemon: not even one that the user runs is used
  std::unique_ptr<MpsDaemon> daemon;
  if (mps) {
    daemon = std::make_unique<MpsDaemon>(folder);
    if (!daemon->obstacle().empty()) {
      unavailable(daemon->obstacle());
      return;
    }
  }
  // After the daemon, so that they end before it.
  std::vector<Child> children;
  const HostTimer timer;
  try {
    for (std::int64_t i = 0; i < processes; ++i) {
      children.emplace_back(ownPath(), workerWords(run, i), folder.path());
    }
    for (const Child& child : children) {
      child.answer();
    }
  } catch (const Failure& failure) {
    if (!mps || failure.exitCode == kExitUsage) {
      throw;
    }
    unavailable("its clients do not come up, " + failure.message);
    return;
  }
  if (mps && !daemon->hasServer()) {
    unavailable("its daemon has started no server");
    return;
  }
  run.report.value("startNs", "until all were ready", timer.ns(), Unit::nanoseconds);
  measureAndCheck(run, children);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    return runWorker(argc - 1, argv + 1);
  }
  return runProgram(kProgram, argc, argv, manyProcesses);
}
