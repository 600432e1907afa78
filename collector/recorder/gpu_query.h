// SPDX-License-Identifier: Apache-2.0
// Asks the driver for the limits of all GPUs, in a child process of its own: a driver that hangs or crashes takes
// only the child along, and the answer is then simply absent. Started after the first guest has initialized CUDA, since
// an earlier cuInit would warm the driver and flatter the guest's cold start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/profile/info.h"

namespace warpmeter::recorder {

// Main of the child (--query-gpus): writes one "gpu", then one "key value" line for each attribute, per GPU.
int queryGpusMain();

// Reads such lines; what is not understood is skipped.
std::vector<GpuInfo> parseGpuLines(std::string_view text);

// The environment for the child: this process' own without everything that would inject a library or hide a GPU.
std::vector<std::string> childEnvironment();

class GpuQuery {
 public:
  static constexpr std::int64_t kTimeoutNs = 10'000'000'000;
  ~GpuQuery();

  void start(std::int64_t nowNs);          // once; later calls do nothing
  bool running() const { return fd_ >= 0; }
  int fd() const { return fd_; }           // becomes readable; -1 when not running
  // Reads what is there; true once the answer is complete (or will never be): result() then has it.
  bool poll(std::int64_t nowNs);
  const std::vector<GpuInfo>& result() const { return result_; }

 private:
  void stop();
  bool started_ = false;
  int fd_ = -1;
  pid_t child_ = -1;
  std::int64_t startedNs_ = 0;
  std::string text_;
  std::vector<GpuInfo> result_;
};

}  // namespace warpmeter::recorder
