// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "common/program.h"
#include "common/report.h"

namespace warpmeter::kernels {
namespace {

std::string runBody(const Program& program, const Arguments& arguments, void (*body)(Run&)) {
  Run run{program, arguments, Nvtx(arguments.nvtx()), {}};
  run.nvtx.pushPlain(program.name.c_str());
  const std::uint64_t whole = run.nvtx.start("run");
  body(run);
  run.nvtx.end(whole);
  run.nvtx.popPlain();
  const bool json = arguments.json() || arguments.printLaunches() || arguments.printEvents();
  return json ? run.report.json(program, arguments, run.nvtx) : run.report.text(program, arguments);
}

std::string output(const Program& program, int argc, const char* const* argv, void (*body)(Run&)) {
  const Arguments arguments = Arguments::parse(program, argc, argv);
  switch (arguments.action()) {
    case Arguments::Action::help:
      return helpText(program);
    case Arguments::Action::describe:
      return arguments.json() ? describeJson(program) : describeText(program);
    case Arguments::Action::run:
      break;
  }
  return runBody(program, arguments, body);
}

// MemAvailable of /proc/meminfo; unlimited where that cannot be read.
std::int64_t availableHostBytes() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  // Not a stream: a static libstdc++ brings all locales along with it, 2 MB a program.
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      long long kibibytes = 0;
      if (std::sscanf(line, "MemAvailable: %lld kB", &kibibytes) == 1) {
        available = kibibytes * 1024;
        break;
      }
    }
    std::fclose(file);
  }
  return available;
}

}  // namespace

int runProgram(const Program& program, int argc, const char* const* argv, void (*body)(Run&)) {
  Failure failure{kExitFailed, ""};
  try {
    const std::string text = output(program, argc, argv, body);
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
      return 0;
    }
    failure.message = "cannot write the result to stdout";
  } catch (const Failure& caught) {
    failure = caught;
  } catch (const std::bad_alloc&) {
    failure = {kExitUsage, "too large for this machine's memory, choose smaller sizes"};
  } catch (const std::length_error&) {
    failure = {kExitUsage, "too large for this machine's memory, choose smaller sizes"};
  }
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), failure.message.c_str());
  return failure.exitCode;
}

void requireHostMemory(std::int64_t bytes, std::string_view why) {
  const std::int64_t available = availableHostBytes();
  if (bytes > available) {
    throw Failure{kExitUsage, std::string(why) + " is too large: it needs " +
                                  scaled(static_cast<double>(bytes), "B") + " of host memory, " +
                                  scaled(static_cast<double>(available), "B") + " are available"};
  }
}

Failure differs(const std::string& what, double result, double expected) {
  return {kExitFailed, what + " is " + std::to_string(result) + ", not " + std::to_string(expected)};
}

std::string scaled(double value, std::string_view unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  const bool mayScale = unit.substr(0, 1) == "B" || unit.substr(0, 1) == "F";
  while (mayScale && value >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.*f%s%s%.*s",
                value < 10    ? 2
                : value < 100 ? 1
                              : 0,
                value, unit.empty() ? "" : " ", kPrefixes[prefix], static_cast<int>(unit.size()),
                unit.data());
  return text;
}

}  // namespace warpmeter::kernels
