// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <algorithm>
#include <charconv>

namespace warpmeter::sampler {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::string_view kDashed = "00000000-0000-0000-0000-000000000000";

// Empty when it is no UUID. "GPU-" before it, as nvidia-smi prints it, is fine.
std::string normalUuid(std::string_view text) {
  if (text.starts_with("GPU-")) text.remove_prefix(4);
  std::string uuid(text);
  std::ranges::transform(uuid, uuid.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (uuid.size() != kDashed.size()) return {};
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const bool hex = (uuid[i] >= '0' && uuid[i] <= '9') || (uuid[i] >= 'a' && uuid[i] <= 'f');
    if (kDashed[i] == '-' ? uuid[i] != '-' : !hex) return {};
  }
  return uuid;
}

}  // namespace

Command parseCommand(std::string_view line) {
  Command c;
  c.line = line;
  const std::size_t blank = line.find(' ');
  const std::string_view verb = line.substr(0, blank);
  const std::string_view value = blank == line.npos ? std::string_view{} : line.substr(blank + 1);
  if (verb == "end" && value.empty()) {
    c.kind = Command::Kind::end;
  } else if (verb == "kernel") {
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), c.medianNs);
    const bool good = error == std::errc{} && stop == value.data() + value.size() && c.medianNs > 0;
    if (good) c.kind = Command::Kind::kernel;
  } else if (verb == "gpu" || verb == "pause" || verb == "resume") {
    c.uuid = normalUuid(value);
    if (!c.uuid.empty()) {
      c.kind = verb == "gpu"     ? Command::Kind::gpu
               : verb == "pause" ? Command::Kind::pause
                                 : Command::Kind::resume;
    }
  }
  return c;
}

std::vector<Command> CommandReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<Command> commands;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1) {
    commands.push_back(parseCommand(std::string_view(rest_).substr(begin, end - begin)));
  }
  rest_.erase(0, begin);
  if (rest_.size() > kLongestLine) rest_.clear();
  return commands;
}

}  // namespace warpmeter::sampler
