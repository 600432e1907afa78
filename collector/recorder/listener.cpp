// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proc_info.h"
#include "warpmeter/wire/handshake.h"
#include "warpmeter/wire/layout.h"

namespace warpmeter::recorder {
namespace {

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

constexpr rlim_t kFewFiles = 64;  // more are not used up by a program that only begins

Error io(const std::string& path, const char* what) {
  return {ErrorKind::io, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

// The kernel's own answer where it has one (6.5); else by number, which may have been given to another process since.
int openPidfd(int connection, std::int64_t pid, std::int64_t startTicks) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) return pidfd;
  pidfd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  const auto stat = readProcStat(pid);
  if (pidfd >= 0 && stat && stat->startTicks == startTicks) return pidfd;
  if (pidfd >= 0) close(pidfd);
  return -1;
}

// A guest that cannot make its shared memory connects and goes without a word: its limits say why. If it is gone
// already, ours are the same unless it changed them.
std::string whySilent(std::int64_t pid) {
  const auto limitOf = [pid](auto resource) {
    rlimit limit{};
    if (prlimit(static_cast<pid_t>(pid), resource, nullptr, &limit) != 0) getrlimit(resource, &limit);
    return limit.rlim_cur;
  };
  if (const auto bytes = limitOf(RLIMIT_FSIZE); bytes < wire::kMinimumBytes) {
    return fmt::format("its file size limit (ulimit -f) of {} KiB is below the {} KiB that its buffers need", bytes / 1024,
                       wire::kMinimumBytes / 1024);
  }
  if (const auto files = limitOf(RLIMIT_NOFILE); files <= kFewFiles) {
    return fmt::format("it did not introduce itself; its limit of {} open files (ulimit -n) may have left none for its buffers", files);
  }
  if (const auto bytes = limitOf(RLIMIT_AS); bytes != RLIM_INFINITY) {
    return fmt::format("it did not introduce itself; its address space limit (ulimit -v) of {} MiB may have left no room for its buffers", bytes >> 20);
  }
  return "it did not introduce itself";
}

}  // namespace

Result<Listener> Listener::open(const std::string& path, const std::array<unsigned char, 16>& run) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorKind::usage, fmt::format("{}: the path of the socket is longer than {} bytes", path,
                                               sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Listener listener;
  listener.run_ = run;
  listener.fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener.fd_ < 0) return io(path, "cannot make a socket");
  if (bind(listener.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return io(path, "cannot bind the socket");
  listener.path_ = path;
  if (listen(listener.fd_, wire::kBacklog) != 0) return io(path, "cannot listen");
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      run_(other.run_),
      fd_(std::exchange(other.fd_, -1)),
      connections_(std::exchange(other.connections_, {})) {}

Listener::~Listener() {
  for (const Connection& connection : connections_) close(connection.fd);
  if (fd_ >= 0) close(fd_);
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<int> Listener::waiting() const {
  std::vector<int> fds;
  for (const Connection& connection : connections_) fds.push_back(connection.fd);
  return fds;
}

std::vector<Listener::Newcomer> Listener::poll(std::int64_t nowNs) {
  while (true) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) break;
    Connection connection{fd, {}, nowNs};
    socklen_t size = sizeof connection.peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &connection.peer, &size) != 0 ||
        (connection.peer.uid != geteuid() && geteuid() != 0)) {
      close(fd);
      continue;
    }
    connections_.push_back(connection);
  }
  std::vector<Newcomer> result;
  std::erase_if(connections_, [&](const Connection& connection) {
    auto newcomer = hello(connection);
    const bool done = newcomer.has_value() || nowNs - connection.sinceNs > kHelloTimeoutNs;
    if (newcomer) result.push_back(std::move(*newcomer));
    if (done) close(connection.fd);
    return done;
  });
  return result;
}

std::optional<Listener::Newcomer> Listener::hello(const Connection& connection) {
  wire::Hello hello{};
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(connection.fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  int memfd = -1;
  if (const cmsghdr* c = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
      c != nullptr && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int))) {
    std::memcpy(&memfd, CMSG_DATA(c), sizeof memfd);
  }
  Newcomer newcomer;
  newcomer.pid = connection.peer.pid;
  const bool whole = n == static_cast<ssize_t>(sizeof hello) && hello.magic == wire::kHelloMagic && memfd >= 0;
  if (!whole || hello.wireVersion != wire::kWireVersion) {
    newcomer.why = whole ? "it was built for another version of the recorder" : whySilent(newcomer.pid);
  } else if (std::memcmp(hello.run, run_.data(), run_.size()) != 0) {
    newcomer.why = "it belongs to another run";
  } else if (newcomer.pid <= 0) {
    newcomer.why = "it is outside of this pid namespace";
  }
  if (!newcomer.why.empty()) {
    if (memfd >= 0) close(memfd);
    return newcomer;
  }
  auto memory = GuestMemory::attach(memfd);
  if (!memory) {
    newcomer.why = memory.error().message;
    return newcomer;
  }
  newcomer.memory = std::move(*memory);
  newcomer.pidfd = openPidfd(connection.fd, newcomer.pid, hello.startTicks);
  return newcomer;
}

}  // namespace warpmeter::recorder
