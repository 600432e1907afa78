// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/guest_simulator.h"

#include <cuda.h>
#include <cupti_activity.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "warpmeter/wire/handshake.h"

namespace warpmeter::recorder {
namespace {

std::int64_t realtimeNow() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t ownStartTicks() {
  char text[1024] = {};
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char* at = n > 0 ? std::strrchr(text, ')') : nullptr;
  long long value = 0;
  for (int field = 3; at != nullptr && field <= 22; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at != nullptr && field > 3) value = std::atoll(at + 1);
  }
  return value;
}

}  // namespace

GuestSimulator::GuestSimulator(std::uint64_t bytes) {
  const wire::Plan plan = wire::planFor(bytes);
  bytes_ = plan.totalBytes;
  memfd_ = memfd_create("warpmeter-simulated", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memfd_ < 0 || ftruncate(memfd_, static_cast<off_t>(bytes_)) != 0) std::abort();
  base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_, 0);
  if (base_ == MAP_FAILED) std::abort();
  fcntl(memfd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  wire::initialize(base_, plan);
  header().pid = getpid();
  header().startTicks = ownStartTicks();
  header().cuptiVersion = 130001;
  header().status.store(static_cast<std::uint32_t>(wire::GuestStatus::recording));
  header().dropCounterState.store(1);
  setRecordSizes();
}

GuestSimulator::~GuestSimulator() {
  munmap(base_, bytes_);
  if (memfd_ >= 0) close(memfd_);
}

void GuestSimulator::setRecordSizes(bool old) {
  auto& sizes = header().recordBytes;
  std::memset(sizes, 0, sizeof sizes);
  sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizes[CUPTI_ACTIVITY_KIND_KERNEL] = old ? 160 : sizeof(CUpti_ActivityKernel10);
  sizes[CUPTI_ACTIVITY_KIND_MEMCPY] = old ? 88 : sizeof(CUpti_ActivityMemcpy6);
  sizes[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(CUpti_ActivityMemcpyPtoP4);
  sizes[CUPTI_ACTIVITY_KIND_MEMSET] = old ? 80 : sizeof(CUpti_ActivityMemset4);
  sizes[CUPTI_ACTIVITY_KIND_RUNTIME] = sizes[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI);
  sizes[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = old ? 40 : sizeof(CUpti_ActivitySynchronization2);
  sizes[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = old ? 32 : sizeof(CUpti_ActivityCudaEvent2);
  sizes[CUPTI_ACTIVITY_KIND_OVERHEAD] = old ? 48 : sizeof(CUpti_ActivityOverhead3);
  sizes[CUPTI_ACTIVITY_KIND_MEMORY2] = old ? 120 : sizeof(CUpti_ActivityMemory4);
  sizes[CUPTI_ACTIVITY_KIND_JIT] = old ? 64 : sizeof(CUpti_ActivityJit2);
  sizes[CUPTI_ACTIVITY_KIND_DEVICE] = old ? 176 : sizeof(CUpti_ActivityDevice5);
  sizes[CUPTI_ACTIVITY_KIND_CONTEXT] = old ? 16 : sizeof(CUpti_ActivityContext3);
  sizes[CUPTI_ACTIVITY_KIND_STREAM] = sizeof(CUpti_ActivityStream);
  sizes[CUPTI_ACTIVITY_KIND_PCIE] = 1024;  // known to this CUPTI, not stored
}

std::uint64_t GuestSimulator::name(std::string_view text, wire::StringKind kind, std::uint64_t key) {
  return wire::appendString(base_, kind, key, text.data(), text.size());
}

std::int64_t GuestSimulator::lend(int classIndex, wire::SlotSource source, std::uint32_t tid) {
  for (std::uint32_t i = 0; i < header().slotCount; ++i) {
    wire::Slot& s = slot(i);
    if (s.classIndex != static_cast<std::uint32_t>(classIndex) || s.state.load(std::memory_order_acquire) != 0) continue;
    s.source.store(static_cast<std::uint32_t>(source));
    s.ownerTid.store(tid);
    s.lentNs.store(realtimeNow());
    s.validBytes.store(0);
    s.state.store(static_cast<std::uint32_t>(wire::SlotState::lent), std::memory_order_release);
    return i;
  }
  return -1;
}

void GuestSimulator::appendOwn(std::uint32_t index, const void* record, std::size_t size) {
  wire::Slot& s = slot(index);
  const std::uint64_t at = s.validBytes.load();
  std::memcpy(bytesOf(index) + at, record, size);
  s.validBytes.store(at + size, std::memory_order_release);
}

bool GuestSimulator::sayHello(const std::string& socketPath, const unsigned char (&run)[16]) {
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socketPath.c_str(), socketPath.size());
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(connection);
    return false;
  }
  wire::Hello hello{};
  hello.magic = wire::kHelloMagic;
  hello.wireVersion = wire::kWireVersion;
  std::memcpy(hello.run, run, sizeof run);
  hello.pid = header().pid;
  hello.startTicks = header().startTicks;
  hello.totalBytes = bytes_;
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &memfd_, sizeof memfd_);
  const bool sent = sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
  close(connection);
  return sent;
}

}  // namespace warpmeter::recorder
