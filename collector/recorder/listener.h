// SPDX-License-Identifier: Apache-2.0
// The socket at which guests introduce themselves.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest_memory.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::recorder {

class Listener {
 public:
  static constexpr std::int64_t kHelloTimeoutNs = 2'000'000'000;

  struct Newcomer {
    std::int64_t pid = 0;
    int pidfd = -1;                          // -1: gone already
    std::shared_ptr<GuestMemory> memory;     // null: refused, `why` says it
    std::string why;
  };

  static Result<Listener> open(const std::string& path, const std::array<unsigned char, 16>& run);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();                               // removes the socket

  int fd() const { return fd_; }
  std::vector<int> waiting() const;          // connections whose hello has not come yet, for poll()
  // Accepts and reads what is there, without waiting.
  std::vector<Newcomer> poll(std::int64_t nowNs);

 private:
  Listener() = default;
  struct Connection {
    int fd;
    ucred peer;
    std::int64_t sinceNs;
  };
  std::optional<Newcomer> hello(const Connection& connection);

  std::string path_;
  std::array<unsigned char, 16> run_{};
  int fd_ = -1;
  std::vector<Connection> connections_;
};

}  // namespace warpmeter::recorder
