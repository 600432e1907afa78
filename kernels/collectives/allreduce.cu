// SPDX-License-Identifier: Apache-2.0
// Lesson: the sum of a vector over all GPUs, in a ring: every rank talks to its left neighbour only, and
// moves 2 (N - 1) / N of the vector however many ranks there are. What it costs is decided by the way between
// two.
#include <algorithm>
#include <cmath>

#include "collectives/nccl.h"
#include "collectives/ring.h"
#include "common/host_clock.h"
#include "common/random.h"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "allreduce",
    "the sum of a vector over all GPUs (or over streams of one): a ring by hand, and NCCL beside it",
    {"addKernel", "takeKernel"},
    // No bound: with one GPU the ranks' kernels run beside one another, with several the link decides.
    {{"peer", "kernels read the left neighbour's memory themselves", "registers", "", "fp32", "mixed"},
     {"copies", "cudaMemcpyPeerAsync into a buffer, then a kernel adds it", "registers", "", "fp32", "mixed"},
     {"host", "each piece goes through pinned host memory", "registers", "", "fp32", "mixed"},
     {"nccl", "NCCL, one rank for each GPU", "", "", "fp32", "mixed"}},
    {{"n", 1 << 24, 1, 1LL << 40, "values of each rank"},
     {"ranks", 0, 0, 64, "ranks; 0: as many as there are GPUs from --device on, 4 on a single one"},
     {"repetitions", 10, 1, 1'000'000, "measured sums"},
     {"block", 256, 32, 1024, "threads in a block"}},
    {"--n", "100003", "--repetitions", "2"}};

// Returns whether every rank can read its left neighbour's memory, and makes that so.
bool connect(const std::vector<int>& devices) {
  bool all = true;
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const int device = devices[r];
    const int left = devices[(r + devices.size() - 1) % devices.size()];
    int can = 1;
    if (device != left) {
      WARPMETER_CHECK(cudaDeviceCanAccessPeer(&can, device, left));
    }
    if (can != 0 && device != left) {
      useDevice(device);
      const cudaError_t status = cudaDeviceEnablePeerAccess(left, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
      } else {
        WARPMETER_CHECK(status);
      }
    }
    all = all && can != 0;
  }
  return all;
}

std::vector<int> devicesOfRanks(const Run& run, int gpus) {
  const auto first = static_cast<int>(run.arguments["device"]);
  const int usable = gpus - first;
  const bool nccl = run.arguments.variant() == "nccl";
  auto count = static_cast<int>(run.arguments["ranks"]);
  if (nccl && count > usable) {
    throw Failure{kExitUsage, "--ranks " + std::to_string(count) +
                                  " is not allowed, NCCL needs a GPU for each, " + std::to_string(usable) +
                                  " are there from --device on"};
  }
  if (count == 0) {
    count = usable > 1 || nccl ? usable : 4;
  }
  std::vector<int> devices;
  for (int r = 0; r < count; ++r) {
    devices.push_back(first + r % usable);
  }
  return devices;
}

void requireMemory(const std::vector<int>& devices, std::int64_t bytes, const std::string& variant,
                   const std::string& option) {
  const auto ranks = static_cast<std::int64_t>(devices.size());
  requireHostMemory((variant == "host" ? ranks + 4 : 4) * bytes, option);
  for (const int device : devices) {
    useDevice(device);
    const auto here = static_cast<std::int64_t>(std::count(devices.begin(), devices.end(), device));
    requireDeviceMemory((variant == "copies" || variant == "host" ? 3 : 2) * here * bytes, option);
  }
}

void checkSums(const std::vector<double>& expected, const Ranks& ranks, Report& report) {
  const auto count = static_cast<double>(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<float> sum = ranks[r]->work.download(report);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (!(std::abs(sum[i] - expected[i]) <= count * count * 0x1p-24)) {  // N roundings of values below N
        throw differs("rank " + std::to_string(r) + "'s sum[" + std::to_string(i) + "]", sum[i], expected[i]);
      }
    }
  }
}

void allreduce(Run& run) {
  const std::string& variant = run.arguments.variant();
  const std::int64_t n = run.arguments["n"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(float));
  if (run.arguments["ranks"] == 1 && variant != "nccl") {
    throw Failure{kExitUsage, "--ranks 1 is not allowed, a ring needs two"};
  }
  requireHostMemory(4 * bytes, option);

  const std::vector<int> devices = devicesOfRanks(run, requireDevice(run));
  openDevice(run);
  requireMemory(devices, bytes, variant, option);
  Nccl nccl;
  if (variant == "nccl") {
    if (!nccl.library()) {
      nccl.library().reportAbsence(run);
      return;
    }
    nccl.open(devices);
    run.report.notice(devices.size() == 1 ? "one GPU: NCCL has nobody to talk to, this is a copy"
                                          : "NCCL's own kernels are not in the list of launches");
  } else {
    const bool connected = connect(devices);
    if (!connected && variant == "peer") {
      run.report.notice("these GPUs cannot read one another's memory: nothing measured");
      return;
    }
    run.report.value("peerAccess", "peer access", connected ? 1 : 0, Unit::count);
  }

  Ranks ranks;
  std::vector<double> expected(static_cast<std::size_t>(n));
  Random random(run.arguments["seed"]);
  for (std::size_t r = 0; r < devices.size(); ++r) {
    useDevice(devices[r]);
    requireRingBlock(run.arguments["block"]);
    ranks.push_back(std::make_unique<Rank>(devices[r], static_cast<int>(r), n, variant));
    const std::vector<float> input = random.vector(n);
    ranks[r]->input.upload(input, run.report);
    WARPMETER_CHECK(cudaDeviceSynchronize());  // the streams do not wait for copies in the default stream
    std::transform(input.begin(), input.end(), expected.begin(), expected.begin(),
                   [](float value, double sum) { return sum + value; });
  }
  Ring ring(run, ranks, n);
  const auto sumAll = [&] {
    if (variant != "nccl") {
      ring.sum();
      return;
    }
    nccl.groupStart();
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      nccl.sum(r, ranks[r]->input.get(), ranks[r]->work.get(), static_cast<std::size_t>(n), ranks[r]->stream);
    }
    nccl.groupEnd();
  };
  const auto waitForAll = [&] {
    for (const auto& rank : ranks) {
      rank->stream.synchronize();
    }
  };

  double elapsedNs = 0;
  {
    Phase phase(run.nvtx, "warm-up");
    sumAll();
    waitForAll();
  }
  {
    Phase phase(run.nvtx, "measure");
    HostTimer timer;
    for (std::int64_t i = 0; i < repetitions; ++i) {
      sumAll();
    }
    waitForAll();
    elapsedNs = timer.ns();
  }
  {
    Phase phase(run.nvtx, "check");  // after many sums in a row: each starts from the same input
    checkSums(expected, ranks, run.report);
    run.nvtx.mark("checked");
    run.report.checked(n * static_cast<std::int64_t>(ranks.size()), "double precision");
  }
  const auto count = static_cast<double>(ranks.size());
  const double sumNs = elapsedNs / static_cast<double>(repetitions);
  run.report.value("ranks", "ranks", count, Unit::count);
  run.report.value("allreduceNs", "one sum", sumNs, Unit::nanoseconds);
  run.report.value("algorithmBytesPerSec", "vector / time", 1e9 * static_cast<double>(bytes) / sumNs,
                   Unit::bytesPerSec);
  run.report.value("busBytesPerSec", "x 2 (N - 1) / N",
                   1e9 * static_cast<double>(bytes) / sumNs * 2 * (count - 1) / count, Unit::bytesPerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, allreduce); }
