// SPDX-License-Identifier: Apache-2.0
#include "proc_info.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace warpmeter::recorder {
namespace {

std::int64_t clockNs(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string baseName(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

bool isInterpreter(std::string_view name) {
  return name.starts_with("python") || name == "bash" || name == "sh" || name == "perl" || name == "ruby";
}

std::uint64_t limitIn(const std::string& path) {
  const std::string text = readSmallFile(path);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && value > 0 ? value : ~std::uint64_t{0};  // "max" and absent files: no limit
}

// The limits of all groups from this process' own up to the root: the smallest counts.
std::uint64_t cgroupLimit() {
  std::uint64_t limit = std::min(limitIn("/sys/fs/cgroup/memory.max"),
                                 limitIn("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  const std::string own = readSmallFile("/proc/self/cgroup");
  const auto at = own.find("0::/");
  if (at == own.npos) return limit;
  std::filesystem::path path = own.substr(at + 3, own.find('\n', at) - at - 3);
  for (; path != path.root_path() && !path.empty(); path = path.parent_path()) {
    limit = std::min(limit, limitIn("/sys/fs/cgroup" + path.string() + "/memory.max"));
  }
  return limit;
}

}  // namespace

std::string readSmallFile(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  text.resize(64 * 1024);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(fd, text.data() + size, text.size() - size);
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  close(fd);
  text.resize(size);
  return text;
}

std::optional<ProcStat> readProcStat(std::int64_t pid) {
  const std::string text = readSmallFile(fmt::format("/proc/{}/stat", pid));
  const auto paren = text.rfind(')');  // the name before it may hold blanks and parentheses
  if (paren == text.npos || paren + 2 >= text.size()) return std::nullopt;
  ProcStat stat;
  const char* at = text.c_str() + paren + 2;
  stat.state = *at++;
  for (int field = 4; field <= 22; ++field) {
    char* end = nullptr;
    const long long value = std::strtoll(at, &end, 10);
    if (end == at) return std::nullopt;
    if (field == 4) stat.parentPid = value;
    if (field == 5) stat.processGroup = value;
    if (field == 22) stat.startTicks = value;
    at = end;
  }
  return stat;
}

std::vector<std::string> readArgv(std::int64_t pid) {
  const std::string text = readSmallFile(fmt::format("/proc/{}/cmdline", pid));
  std::vector<std::string> argv;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\0', at), text.size());
    argv.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return argv;
}

std::string readThreadName(std::int64_t pid, std::int64_t tid) {
  std::string name = readSmallFile(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

std::string processName(const std::vector<std::string>& argv) {
  if (argv.empty()) return {};
  std::string name = baseName(argv[0]);
  if (!isInterpreter(name)) return name;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-c" || argv[i] == "-") break;
    if (argv[i] == "-m" && i + 1 < argv.size()) return argv[i + 1];
    if (!argv[i].empty() && argv[i][0] != '-') return baseName(argv[i]);
  }
  return name;
}

std::int64_t ticksPerSecond() { return sysconf(_SC_CLK_TCK); }

std::int64_t realtimeNs() { return clockNs(CLOCK_REALTIME); }

ClockRow readClocks() {
  return {clockNs(CLOCK_REALTIME), clockNs(CLOCK_MONOTONIC), clockNs(CLOCK_BOOTTIME)};
}

std::int64_t startRealtimeNs(std::int64_t startTicks, const ClockRow& now) {
  const std::int64_t perTick = 1'000'000'000 / ticksPerSecond();
  return now.realtimeNs - now.boottimeNs + startTicks * perTick;
}

std::uint64_t memoryLimitBytes() {
  const auto machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return std::min(machine, cgroupLimit());
}

std::string driverVersion() {
  std::string text = readSmallFile("/sys/module/nvidia/version");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (!text.empty()) return text;
  // Containers may hide /sys/module. "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release"
  text = readSmallFile("/proc/driver/nvidia/version");
  text = text.substr(0, text.find('\n'));
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word.find('.') != word.npos && std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isdigit(c) || c == '.';
        })) {
      return word;
    }
    at = end + 1;
  }
  return {};
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : std::string();
}

}  // namespace warpmeter::recorder
