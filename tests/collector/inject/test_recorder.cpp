// SPDX-License-Identifier: Apache-2.0
#include "test_recorder.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace warpmeter::test {
namespace {

void wake(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Guest::Guest(int memory, const wire::Hello& greeting) : hello(greeting) {
  seals = fcntl(memory, F_GET_SEALS);
  struct stat info {};
  fstat(memory, &info);
  base_ = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (base_ == MAP_FAILED) throw std::runtime_error("cannot map a guest's memory");
  plan_.ringOffset = header().ringOffset;
  plan_.slots[0] = header().slotCount;
}
Guest::~Guest() { munmap(base_, hello.totalBytes); }

std::string Guest::text(std::uint64_t reference) const {
  if ((reference & wire::kStringBit) == 0) return "(no reference)";
  const auto* entry = reinterpret_cast<const wire::StringEntry*>(
      static_cast<const char*>(base_) + header().strings.offset + (reference & ~wire::kStringBit) * 8);
  const std::uint32_t length = entry->lengthPlusOne.load();
  return length == 0 ? "(not written)" : std::string(reinterpret_cast<const char*>(entry + 1), length - 1);
}

std::map<std::uint64_t, std::string> Guest::announced(wire::StringKind kind) const {
  std::map<std::uint64_t, std::string> names;
  for (std::uint64_t at = 0; at < header().strings.used.load();) {
    const auto* entry = reinterpret_cast<const wire::StringEntry*>(
        static_cast<const char*>(base_) + header().strings.offset + at);
    const std::uint64_t length = entry->lengthPlusOne.load() - 1;
    if (entry->kind == static_cast<std::uint32_t>(kind)) names[entry->key] = text(wire::kStringBit | at / 8);
    at += (sizeof(wire::StringEntry) + length + 1 + 7) / 8 * 8;
  }
  return names;
}

void Guest::drain(bool giveBack) {
  wire::Slot* slots = wire::slotsOf(base_);
  for (;;) {
    const std::int64_t index = wire::takeCompleted(base_, plan_);
    if (index < 0) break;
    wire::Slot& slot = slots[index];
    auto* start = static_cast<std::uint8_t*>(base_) + slot.offset;
    const std::uint64_t valid = slot.validBytes.load();
    const bool own = slot.source.load() == static_cast<std::uint32_t>(wire::SlotSource::own);
    (own ? ownBuffers : cuptiBuffers).emplace_back(start, start + valid);
    if (!giveBack) continue;
    std::memset(start, 0, slot.bytes);
    slot.state.store(static_cast<std::uint32_t>(wire::SlotState::free), std::memory_order_release);
    wake(static_cast<wire::Header*>(base_)->recorderDoorbell);
  }
}

void Guest::answerExact(const RecorderOptions& options) {
  wire::ExactArea* area = exactArea();
  if (area == nullptr || area->state.load() != static_cast<std::uint32_t>(wire::ExactState::configurations) ||
      area->answer.load() != 0) {
    return;
  }
  if (!options.lease) area->lease.store(0);
  auto answer = wire::ExactAnswer::none;
  if (!options.configurations.empty()) {
    std::memcpy(wire::configurationsOf(area), options.configurations.data(), options.configurations.size());
    answer = wire::ExactAnswer::ready;
  } else if (!options.refusal.empty()) {
    std::strncpy(area->refusal, options.refusal.c_str(), sizeof area->refusal - 1);
    answer = wire::ExactAnswer::refused;
  }
  area->answer.store(static_cast<std::uint32_t>(answer));
}

void Guest::salvage() {
  wire::Slot* slots = wire::slotsOf(base_);
  for (std::uint32_t i = 0; i < plan_.slotCount(); ++i) {
    if (slots[i].state.load() != static_cast<std::uint32_t>(wire::SlotState::lent)) continue;
    auto* start = static_cast<std::uint8_t*>(base_) + slots[i].offset;
    if (slots[i].source.load() == static_cast<std::uint32_t>(wire::SlotSource::own)) {
      ownBuffers.emplace_back(start, start + slots[i].validBytes.load());
    } else {
      salvaged.emplace_back(start, start + slots[i].bytes);
    }
  }
}

TestRecorder::TestRecorder(RecorderOptions options) : options_(options) {
  char folder[] = "/tmp/warpmeter-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = folder;
  path_ = folder_ + "/socket";
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("bind");
  if (options_.listen) listen(listener_, wire::kBacklog);
  thread_ = std::thread([this] { run(); });
}

TestRecorder::~TestRecorder() {
  stop();
  close(listener_);
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

void TestRecorder::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::size_t TestRecorder::guestCount() {
  const std::lock_guard lock(mutex_);
  return guests_.size();
}
Guest& TestRecorder::guest(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return *guests_.at(index);
}

void TestRecorder::accept() {
  const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  wire::Hello hello{};
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ucred peer{};
  socklen_t peerBytes = sizeof peer;
  getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &peerBytes);
  if (recvmsg(connection, &message, 0) == static_cast<ssize_t>(sizeof hello) && message.msg_controllen != 0) {
    int memory = -1;
    std::memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
    auto guest = std::make_unique<Guest>(memory, hello);
    close(memory);
    guest->peerPid = peer.pid;
    auto* header = static_cast<wire::Header*>(guest->base_);
    header->allowedBytes.store(options_.allowedBytes);
    header->waitAtExit.store(options_.waitAtExit ? 1 : 0);
    header->recorderAlive.store(1);
    const std::lock_guard lock(mutex_);
    guests_.push_back(std::move(guest));
  }
  close(connection);
}

void TestRecorder::run() {
  for (bool last = false; !last;) {
    last = stopping_;
    pollfd waiting{listener_, POLLIN, 0};
    while (options_.listen && poll(&waiting, 1, last ? 0 : 2) == 1) accept();
    if (!options_.listen) usleep(2000);
    const std::lock_guard lock(mutex_);
    for (auto& guest : guests_) {
      auto* header = static_cast<wire::Header*>(guest->base_);
      const bool exiting = guest->status() == wire::GuestStatus::exiting;
      guest->answerExact(options_);
      if (options_.drain || last) guest->drain(options_.drain);
      if (exiting && options_.drain && header->committed.load() == 0) wake(header->committed);
    }
  }
}

}  // namespace warpmeter::test
