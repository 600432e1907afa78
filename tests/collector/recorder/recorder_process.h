// SPDX-License-Identifier: Apache-2.0
// The real recorder in a child process, as `warpmeter record` runs it, and applications recorded by it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/inject/guest_process.h"
#include "warpmeter/profile/reader.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::test {

inline constexpr char kRun[] = "00112233445566778899aabbccddeeff";

struct RecorderCommand {
  std::vector<std::string> arguments;      // on top of what the CLI always gives
  std::vector<std::string> environment;    // NAME=VALUE
  std::string output;                      // empty: a new file in a folder of its own
  std::uint64_t fileSizeLimit = 0;
};

class RecorderProcess {
 public:
  explicit RecorderProcess(const RecorderCommand& command = {});
  ~RecorderProcess();
  RecorderProcess(const RecorderProcess&) = delete;
  RecorderProcess& operator=(const RecorderProcess&) = delete;

  bool ready() const { return first_.kind == wire::ControlKind::ready; }
  const wire::ControlMessage& firstMessage() const { return first_; }
  const std::string& socketPath() const { return socketPath_; }
  const std::string& output() const { return output_; }
  const std::string& folder() const { return folder_; }
  pid_t pid() const { return pid_; }

  // Runs fake_host with these arguments to its end and waits for the recorder's.
  GuestResult record(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  GuestCommand guest(std::vector<std::string> arguments, std::vector<std::string> environment = {}) const;
  void appStarted(pid_t pid);
  void appEnded(pid_t pid, int waitStatus);
  void closeControl();
  // Waits for the summary and for the recorder's end; nullopt: it died without one.
  std::optional<wire::Summary> finish();
  int waitStatus() const { return waitStatus_; }

 private:
  void send(wire::ControlKind kind, pid_t pid, int waitStatus);
  std::string folder_, socketPath_, output_;
  pid_t pid_ = -1;
  int control_ = -1;
  int waitStatus_ = -1;
  wire::ControlMessage first_{};
};

// What a file holds.
struct Recorded {
  explicit Recorded(const std::string& path);
  std::vector<KernelRow> kernels, untimed;
  std::vector<ApiRow> apis;
  std::vector<MemcpyRow> copies;
  std::vector<SyncRow> syncs;
  std::vector<NvtxRow> nvtx;
  std::vector<MarkRow> marks;
  std::vector<ThreadInfo> threads;
  std::vector<LossInfo> losses;
  std::vector<ProcessInfo> processes;
  std::vector<GpuInfo> gpus;
  std::vector<CudaDeviceInfo> devices;
  std::vector<ContextRow> contexts;
  std::vector<StreamRow> streams;
  std::vector<ClockRow> clocks;
  std::vector<SelfCostInfo> costs;
  SessionInfo session;
  bool unfinished = false;
  std::string error;                        // of opening, empty = none

  std::string text(std::int64_t id) const;
  std::set<std::int64_t> gridX() const;     // of all kernels, timed or not
  std::string lossText() const;             // "kind: why (count)" of all, for messages

 private:
  std::map<std::int64_t, std::string> strings_;
};

}  // namespace warpmeter::test
