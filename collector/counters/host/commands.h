// SPDX-License-Identifier: Apache-2.0
// The lines that the recorder writes (warpmeter/wire/sampler.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpmeter::sampler {

struct Command {
  enum class Kind { gpu, kernel, pause, resume, end, unknown } kind = Kind::unknown;
  std::string uuid;           // gpu, pause, resume: 32 lower-case hexadecimal digits with dashes
  std::int64_t medianNs = 0;  // kernel
  std::string line;           // unknown: as it came
};

Command parseCommand(std::string_view line);

// Cuts what was read into lines; keeps an unfinished one for later. A line without end is cut off, not kept
// forever.
class CommandReader {
 public:
  std::vector<Command> feed(std::string_view bytes);

 private:
  std::string rest_;
};

}  // namespace warpmeter::sampler
