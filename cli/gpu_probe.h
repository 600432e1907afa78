// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver says about this machine, asked in a child process without anything injected.
#pragma once

#include <string>
#include <vector>

namespace warpmeter::cli {

struct ProbedGpu {
  int index = 0;
  std::string name, uuid;
  int computeMajor = 0, computeMinor = 0, smCount = 0;
  bool mig = false;  // a slice of a GPU
};

struct GpuProbe {
  bool library = false;  // libcuda.so.1 is there
  std::string libraryPath;
  int initError = 0;  // of cuInit; -1 = the driver crashed or hung
  std::string initErrorText;
  int cudaVersion = 0;        // 13000: the newest CUDA that the driver runs
  std::string driverVersion;  // "580.159"; "" = not known
  std::vector<ProbedGpu> gpus;
};

GpuProbe probeGpus();

// A libcupti that can be found without an application: its path and cuptiGetVersion(); empty path = none.
struct CuptiProbe {
  std::string path;
  int version = 0;
};
CuptiProbe probeCupti(const std::string& preferred);

// 130001 -> "13.0.1"; the numbers before CUDA 13 are CUPTI's own: 24 -> "12.6".
std::string cuptiVersionText(long long version);

}  // namespace warpmeter::cli
