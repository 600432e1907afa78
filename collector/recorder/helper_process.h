// SPDX-License-Identifier: Apache-2.0
// A short-lived child (warpmeter-sampler in one of its modes without a GPU) whose output is a whole: it
// writes into memory files, so nobody has to read along. A child that hangs is killed, by its pid.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace warpmeter::recorder {

class HelperProcess {
 public:
  HelperProcess() = default;
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess();  // kills it

  // input -1: /dev/null. False: it could not be started; problem() says why.
  bool start(std::vector<std::string> words, int input);
  // True once it has ended (or never ran).
  bool ended();
  // Waits; false: it took longer and was killed.
  bool wait(std::int64_t timeoutNs);

  // After its end.
  bool succeeded() const { return exitCode_ == 0; }
  std::vector<std::byte> output() const;
  std::string problem() const;  // its line on standard error, or what became of it

 private:
  pid_t child_ = -1;
  int out_ = -1, err_ = -1;
  int exitCode_ = -1;
  std::string failure_;
};

}  // namespace warpmeter::recorder
