// SPDX-License-Identifier: Apache-2.0
#include "cli/outer_recording.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "cli/environment.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

// The recorder would count a connection without a greeting as a process that it could not record. Connecting
// with another socket type tells the same: EPROTOTYPE where somebody listens, ECONNREFUSED where nobody does
// any more.
bool isAlive(const std::string& socketPath) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socketPath.empty() || socketPath.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socketPath.c_str(), socketPath.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  const bool alive = !refused || errno == EPROTOTYPE;
  close(fd);
  return alive;
}

std::vector<std::string> wordsOf(const fs::path& commandLine) {
  std::ifstream in(commandLine, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

std::string valueAfter(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == option) return words[i + 1];
  return "";
}

}  // namespace

std::optional<OuterRecording> outerRecording() {
  const std::string socketPath = variable(wire::kEnvSocket);
  if (!isAlive(socketPath)) return std::nullopt;
  OuterRecording outer;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto words = wordsOf(at->path() / "cmdline");
    if (valueAfter(words, "--socket") != socketPath) continue;
    outer.recorder = std::stoi(name);
    const fs::path file = valueAfter(words, "--output");
    std::error_code hidden;
    const auto folder = fs::read_symlink(at->path() / "cwd", hidden);
    outer.file = hidden ? file : (folder / file).lexically_normal();
    break;
  }
  return outer;
}

Error refusalInside(const OuterRecording& outer) {
  return Error{
      ErrorKind::busy,
      fmt::format(
          "this already runs inside a recording{}{}, which also takes what it starts: leave this "
          "'warpmeter record' out, or begin it with 'env -u {}' for a file of its own, whose work the "
          "outer one then lacks",
          outer.file.empty() ? "" : fmt::format(" ({})", outer.file.string()),
          outer.recorder == 0 ? "" : fmt::format(" by process {}", outer.recorder), wire::kEnvSocket)};
}

}  // namespace warpmeter::cli
