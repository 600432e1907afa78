// SPDX-License-Identifier: Apache-2.0
// The counter sampler (warpmeter-sampler), a child of the recorder: a driver that hangs or crashes takes only the child
// along. Started after the first guest has initialized CUDA, like gpu_query.h and for the same reason.
//
// A thread of its own reads what the child says, so that nothing else ever waits for it; everything else belongs to the
// thread that listens to guests.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "sampler_frames.h"

namespace warpmeter::recorder {

class SamplerProcess {
 public:
  static constexpr std::int64_t kEndTimeoutNs = 3'000'000'000;  // for what it has left to send

  struct Command {
    std::string program;
    double cores = 0.5;        // CPU budget
    std::string cupti;         // the guest's libcupti; empty = not known
  };
  // How it ended.
  struct End {
    std::string failure;       // empty: it ended as it was told to; else a line about what happened
    std::int64_t cpuNs = -1;   // -1 = not known
  };

  SamplerProcess() = default;
  SamplerProcess(const SamplerProcess&) = delete;
  SamplerProcess& operator=(const SamplerProcess&) = delete;
  ~SamplerProcess();           // kills it

  // Once; later calls do nothing. take is called on the reading thread, and must not wait.
  void start(const Command& command, SamplerFrames::Take take);
  bool started() const { return started_; }
  bool running() const { return started_ && !ended_; }

  // Lines as in wire/sampler.h, without the newline. Dropped when the child does not read.
  void say(std::string_view line);
  void sayEnd();               // `end`; from here on it may exit

  // How it ended, once, as soon as it has. Clock: CLOCK_MONOTONIC.
  std::optional<End> poll(std::int64_t nowNs);
  // Its time is over: kills it, by its pid, if it still runs.
  End stop();

 private:
  static constexpr std::int64_t kGoneTimeoutNs = 1'000'000'000;  // from the end of its output to its own
  void readAll(const SamplerFrames::Take& take);
  bool reap();
  End conclude();

  bool started_ = false, ended_ = false, told_ = false, killed_ = false;
  std::int64_t silentSinceNs_ = 0;  // the end of its output was seen
  pid_t child_ = -1;
  int in_ = -1, out_ = -1, wake_ = -1;
  int waitStatus_ = 0;
  std::int64_t cpuNs_ = -1;
  std::string failure_;
  std::thread reader_;
  std::atomic<bool> readerDone_{false};
  std::string protocolError_;  // the reading thread's, read after it is done
};

// Beside the running recorder.
std::string samplerPath();

}  // namespace warpmeter::recorder
