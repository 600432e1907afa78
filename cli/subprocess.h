// SPDX-License-Identifier: Apache-2.0
// Short-lived helpers of our own: run, capture, give up after a while.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

struct Captured {
  int waitStatus = 0;      // as from waitpid()
  bool timedOut = false;   // killed after timeoutMs
  std::string out, err;    // at most 1 MiB each
  bool succeeded() const;  // exited with 0 in time
  int exitCode() const;    // 128 + n after signal n
};

// Runs a program with no input. Errors: notFound, noPermission, io.
Result<Captured> capture(const std::vector<std::string>& command, std::vector<std::string> environment,
                         int timeoutMs);

// Runs `work` in a forked child, for libraries that may crash, hang or change this process. Its text is
// `out`.
Result<Captured> captureInChild(const std::function<std::string()>& work, int timeoutMs);

}  // namespace warpmeter::cli
