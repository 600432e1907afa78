// SPDX-License-Identifier: Apache-2.0
// Runs the application as if we were not there: same input and output, same process group, same signals.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

struct AppEnd {
  pid_t pid = 0;
  int waitStatus = 0;
  std::int64_t durationNs = 0;
  int exitCode() const;     // its own, or 128 + n after signal n
  std::string how() const;  // "exited 0", "was killed by SIGKILL (9)"
};

// Starts `command` with `environment` and waits for its end. Meanwhile SIGINT and SIGQUIT are ignored here
// (the terminal sends them to the application as well) and SIGTERM and SIGHUP are forwarded; the application
// itself gets the signal dispositions and mask that we were started with. started(pid) is called right after
// the start. Errors: notFound (exit 127), noPermission (126), io.
Result<AppEnd> runApplication(const std::string& program, const std::vector<std::string>& command,
                              std::vector<std::string> environment,
                              const std::function<void(pid_t)>& started);

}  // namespace warpmeter::cli
