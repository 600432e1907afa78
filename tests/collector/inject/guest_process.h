// SPDX-License-Identifier: Apache-2.0
// Runs fake_host (tests/fake_cupti/README.md) under the injected library.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpmeter::test {

struct GuestCommand {
  std::string program = "fake_host";
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE, on top of what injection needs
  std::string socketPath;                // empty: nobody records
  std::uint64_t fileSizeLimit = 0;       // RLIMIT_FSIZE, 0 = none
};

struct GuestResult {
  int waitStatus = -1;
  std::string output;
  bool exited(int code) const;
  std::int64_t value(const std::string& key) const;  // -1 = not printed
  bool has(const std::string& key) const;
};

class GuestProcess {
 public:
  explicit GuestProcess(const GuestCommand& command);
  pid_t pid() const { return pid_; }
  void waitForLine(const std::string& text);  // on its output
  GuestResult wait();

 private:
  bool readMore();
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
};

GuestResult runGuest(const GuestCommand& command);
std::string injectLibrary();
std::string fakeFolder();

}  // namespace warpmeter::test
