// SPDX-License-Identifier: Apache-2.0
// A daemon of NVIDIA's Multi-Process Service for this run alone: its pipes lie in a folder of its own, so
// that one that the user runs is neither used nor disturbed.
#pragma once

#include <sys/types.h>

#include <string>

namespace warpmeter::kernels {

// Below /tmp; removed, with what lies in it, at the end.
class PipeFolder {
 public:
  PipeFolder();  // Throws Failure{kExitFailed}
  PipeFolder(const PipeFolder&) = delete;
  PipeFolder& operator=(const PipeFolder&) = delete;
  ~PipeFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One thread. Not available is an outcome, not an error.
class MpsDaemon {
 public:
  // Starts nvidia-cuda-mps-control of PATH, and waits until it takes commands.
  explicit MpsDaemon(const PipeFolder& folder);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  ~MpsDaemon();  // ends it, and waits for that

  // Empty when it runs; otherwise why not.
  const std::string& obstacle() const { return obstacle_; }
  // Whether a server of it runs: it starts one for its first client.
  bool hasServer() const;

 private:
  std::string ask(const char* command) const;
  bool ended(int waitMs);

  std::string program_;
  std::string folder_;
  std::string obstacle_;
  pid_t process_ = -1;
  int status_ = 0;
};

}  // namespace warpmeter::kernels
