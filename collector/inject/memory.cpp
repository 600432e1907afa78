// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace warpmeter::inject {
namespace {

// strtoull() of new C libraries would tie us to their version.
std::uint64_t number(const char* digits) {
  std::uint64_t value = 0;
  for (; *digits >= '0' && *digits <= '9'; ++digits) value = value * 10 + static_cast<unsigned>(*digits - '0');
  return value;
}

}  // namespace

std::uint64_t allowedMappingBytes(std::uint64_t usedAddressBytes) noexcept {
  std::uint64_t allowed = wire::kPoolBytes;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < allowed) {
    allowed = limit.rlim_cur;
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t left = limit.rlim_cur > usedAddressBytes ? limit.rlim_cur - usedAddressBytes : 0;
    if (left / 4 < allowed) allowed = left / 4;
  }
  return allowed;
}

bool createSharedMemory(SharedMemory& memory, std::uint64_t limitBytes) noexcept {
  memory.plan = wire::planFor(limitBytes);
  if (memory.plan.totalBytes == 0) return false;
  memory.descriptor = memfd_create("warpmeter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.descriptor < 0) return false;
  const auto bytes = memory.plan.totalBytes;
  if (ftruncate(memory.descriptor, static_cast<off_t>(bytes)) == 0 &&
      fcntl(memory.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory.descriptor, 0);
    if (base != MAP_FAILED) {
      // Core dumps of the host shall not grow by our pool.
      madvise(base, bytes, MADV_DONTDUMP);
      wire::initialize(base, memory.plan);
      memory.base = base;
      return true;
    }
  }
  close(memory.descriptor);
  memory.descriptor = -1;
  return false;
}

void destroySharedMemory(SharedMemory& memory) noexcept {
  if (memory.base != nullptr) munmap(memory.base, memory.plan.totalBytes);
  if (memory.descriptor >= 0) close(memory.descriptor);
  memory = SharedMemory{};
}

bool replaceByPrivateMemory(void* base, std::uint64_t bytes) noexcept {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(base, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) != MAP_FAILED) return true;
  // Strict overcommit counts private writable pages; unreachable ones are not counted. The child has no business here.
  return mmap(base, bytes, PROT_NONE, kFlags, -1, 0) != MAP_FAILED;
}

ProcessStat readProcessStat() noexcept {
  ProcessStat stat;
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return stat;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) return stat;
  text[bytes] = 0;
  // Field 2 is the program's name in parentheses and may hold spaces and parentheses: count from the last one.
  const char* at = nullptr;
  for (const char* c = text; *c != 0; ++c) {
    if (*c == ')') at = c;
  }
  int field = 2;
  while (at != nullptr && *at != 0) {
    if (*at++ != ' ') continue;
    ++field;
    if (field == 22) stat.startTicks = static_cast<std::int64_t>(number(at));
    if (field == 23) {
      stat.addressBytes = number(at);
      break;
    }
  }
  return stat;
}

}  // namespace warpmeter::inject
