// SPDX-License-Identifier: Apache-2.0
// The recorder's end of the socket pair with `warpmeter record`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmeter/wire/handshake.h"

namespace warpmeter::recorder {

class Control {
 public:
  explicit Control(int fd);               // -1: started without a CLI
  int fd() const { return open_ ? fd_ : -1; }
  bool open() const { return open_; }
  bool existed() const { return fd_ >= 0; }

  void ready();
  void failed(const std::string& why, int exitCode);
  void summary(const wire::Summary& summary);
  std::vector<wire::ControlMessage> read();  // what is there; closes itself when the CLI is gone

 private:
  void send(const void* bytes, std::size_t size);
  int fd_;
  bool open_;
};

// "exited(0)", "killed(9)" of a status as waitpid() gives it.
std::string describeWaitStatus(int status);

}  // namespace warpmeter::recorder
