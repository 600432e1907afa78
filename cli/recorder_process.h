// SPDX-License-Identifier: Apache-2.0
// The recorder as seen by `warpmeter record`: started, told when the application begins and ends, asked for a
// summary.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "cli/arguments.h"
#include "cli/installation.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/profile/result.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::cli {

// Folder of the sockets: $XDG_RUNTIME_DIR/warpmeter, or /tmp/warpmeter-UID where that is unset or too long.
// Made with mode 0700; one that belongs to somebody else or is open to others is refused.
Result<std::filesystem::path> socketFolder();

std::string newRunId();  // 32 hexadecimal digits

class RecorderProcess {
 public:
  // Starts it for a recording with the options of `record` and waits until it is ready, that is until the
  // file exists and the socket listens. It writes the ceilings of GPUs that are used into the file. Errors: what the
  // recorder says; notFound when this build has none.
  static Result<RecorderProcess> start(const Installation& where, const Arguments& arguments,
                                       std::span<const analyzer::CalibratedGpu> ceilings,
                                       const std::filesystem::path& output);
  RecorderProcess(RecorderProcess&& other) noexcept;
  RecorderProcess& operator=(RecorderProcess&&) = delete;
  ~RecorderProcess();  // closes the control connection; does not wait

  const std::string& runId() const { return runId_; }
  const std::filesystem::path& socket() const { return socket_; }

  void applicationStarted(pid_t pid, const std::vector<std::string>& command);
  void applicationEnded(pid_t pid, int waitStatus);
  // Ends the recording although recorded processes still run.
  void stop();
  // Waits until the file is complete. While other recorded processes keep it waiting, says so once on stderr
  // (`tell`); SIGINT then ends the recording. nullopt: the recorder died.
  std::optional<wire::Summary> awaitSummary(bool tell);

 private:
  RecorderProcess() = default;
  Result<void> awaitReady();
  void send(const wire::ControlMessage& message);

  pid_t pid_ = -1;
  int control_ = -1;
  std::string runId_;
  std::filesystem::path socket_;
};

}  // namespace warpmeter::cli
