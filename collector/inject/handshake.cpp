// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "warpmeter/wire/handshake.h"

namespace warpmeter::inject {

int connectRecorder(const char* socketPath) noexcept {
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == sizeof Options::socketPath);
  std::memcpy(address.sun_path, socketPath, sizeof address.sun_path);
  // Unix sockets connect at once or not at all; a full backlog is EAGAIN.
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

bool sendHello(int connection, SharedMemory& memory, const Options& options) noexcept {
  const auto* header = wire::headerOf(memory.base);
  wire::Hello hello{};
  hello.magic = wire::kHelloMagic;
  hello.wireVersion = wire::kWireVersion;
  std::memcpy(hello.run, options.run, sizeof hello.run);
  hello.pid = header->pid;
  hello.startTicks = header->startTicks;
  hello.totalBytes = header->totalBytes;

  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &memory.descriptor, sizeof(int));
  const bool sent = sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof hello);
  close(connection);
  close(memory.descriptor);
  memory.descriptor = -1;
  return sent;
}

}  // namespace warpmeter::inject
