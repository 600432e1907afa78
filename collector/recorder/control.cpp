// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace warpmeter::recorder {

Control::Control(int fd) : fd_(fd), open_(fd >= 0) {
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void Control::send(const void* bytes, std::size_t size) {
  if (open_ && ::send(fd_, bytes, size, MSG_NOSIGNAL) < 0) open_ = false;
}

void Control::ready() {
  wire::ControlMessage message{};
  message.kind = wire::ControlKind::ready;
  send(&message, sizeof message);
}

void Control::failed(const std::string& why, int exitCode) {
  wire::ControlMessage message{};
  message.kind = wire::ControlKind::failed;
  message.exitCode = exitCode;
  std::memcpy(message.text, why.data(), std::min(why.size(), sizeof message.text - 1));
  send(&message, sizeof message);
}

void Control::summary(const wire::Summary& summary) { send(&summary, sizeof summary); }

std::vector<wire::ControlMessage> Control::read() {
  std::vector<wire::ControlMessage> messages;
  while (open_) {
    wire::ControlMessage message{};
    const ssize_t n = recv(fd_, &message, sizeof message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n <= 0) {
      open_ = false;
      break;
    }
    message.text[sizeof message.text - 1] = 0;
    if (n == static_cast<ssize_t>(sizeof message)) messages.push_back(message);
  }
  return messages;
}

std::string describeWaitStatus(int status) {
  if (WIFEXITED(status)) return fmt::format("exited({})", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return fmt::format("killed({})", WTERMSIG(status));
  return "unknown";
}

}  // namespace warpmeter::recorder
