// SPDX-License-Identifier: Apache-2.0
#include "left_running.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "proc_info.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kLongestLookNs = 50'000'000;
constexpr std::size_t kNamed = 4;

// The environment may be larger than what readSmallFile() reads. A zombie has none.
bool startedWith(std::int64_t pid, const std::string& variable) {
  std::ifstream in(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');) {
    if (entry == variable) return true;
  }
  return false;
}

std::string nameOf(std::int64_t pid) {
  const std::string name = processName(readArgv(pid));
  return name.empty() ? readThreadName(pid, pid) : name;
}

}  // namespace

LeftRunning findLeftRunning(std::string_view socketPath, const std::set<std::int64_t>& known) {
  const std::string variable = fmt::format("{}={}", wire::kEnvSocket, socketPath);
  const std::int64_t begin = readClocks().monotonicNs;
  LeftRunning left;
  std::set<std::int64_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    if (readClocks().monotonicNs - begin > kLongestLookNs) {
      left.all = false;
      break;
    }
    const std::string name = at->path().filename();
    std::int64_t pid = 0;
    const auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || rest != name.data() + name.size() || pid == getpid() || known.contains(pid)) continue;
    struct stat status {};
    if (stat(at->path().c_str(), &status) != 0 || status.st_uid != geteuid()) continue;
    if (startedWith(pid, variable)) found.insert(pid);
  }
  for (const std::int64_t pid : found) left.processes.push_back(fmt::format("{} {}", pid, nameOf(pid)));
  return left;
}

std::string leftRunningText(const LeftRunning& left) {
  const auto& all = left.processes;
  if (all.empty()) return "";
  std::string names = fmt::format("{}", fmt::join(all.begin(), all.begin() + std::min(kNamed, all.size()), ", "));
  if (all.size() > kNamed) names += fmt::format(" and {} more", all.size() - kNamed);
  return fmt::format("{}{} process{} still ran when the recording ended ({}): what {} later is not recorded",
                     left.all ? "" : "at least ", all.size(), all.size() == 1 ? "" : "es", names,
                     all.size() == 1 ? "it does" : "they do");
}

}  // namespace warpmeter::recorder
