// SPDX-License-Identifier: Apache-2.0
// A process of this run and the lines that go to and fro.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace warpmeter::kernels {

// The file descriptor of a child's end.
inline constexpr int kChildLines = 3;

// One line out of or into a file descriptor, without its newline. False at the end of the other side, or
// after waitMs without a whole line (-1: wait for ever).
bool readLine(int from, std::string& line, int waitMs);
bool writeLine(int to, const std::string& line);

// One thread.
class Child {
 public:
  // Starts program with these words and this process's environment, in which CUDA_MPS_PIPE_DIRECTORY is
  // mpsFolder. Its output goes nowhere; its lines come and go on kChildLines. Throws Failure{kExitFailed}.
  Child(const std::string& program, const std::vector<std::string>& words, const std::string& mpsFolder);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // closes its lines, and ends it if that does not

  void say(const std::string& line) const;
  // Its next line. Throws Failure when it is "failed CODE MESSAGE", or when none comes.
  std::string answer() const;

 private:
  pid_t process_ = -1;
  int lines_ = -1;
};

}  // namespace warpmeter::kernels
