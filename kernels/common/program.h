// SPDX-License-Identifier: Apache-2.0
// What each of these programs says about itself, and the command line that all of them share.
//
// Exit codes: 0 done and checked · 1 the result differs from the CPU's, or a CUDA call failed · 2 wrong
// arguments (also: too large for this machine's memory) · 4 no GPU or no driver that can run the program.
// Whatever is not 0 comes with one line on stderr.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpmeter::kernels {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoGpu = 4;

// Ends the program with this code and one line on stderr; caught in runProgram alone.
struct Failure {
  int exitCode;
  std::string message;
};

// limiter and bound are Warpmeter's names for what a recording should show; empty = nothing to expect.
// precision: fp64 fp32 tf32 bf16 fp16 int8 int32, of the arithmetic that decides. access: what the kernel
// does to memory most: read, write, mixed (neither is nine tenths of its traffic) or empty when memory does
// not matter. Both let `warpmeter kernels compare` find the reference that a user's kernel should be held
// against.
struct Variant {
  std::string name;
  std::string lesson;
  std::string limiter;
  std::string bound;
  std::string precision{};
  std::string access{};
};

// --name takes a whole number from min to max.
struct Option {
  std::string name;
  std::int64_t defaultValue;
  std::int64_t min;
  std::int64_t max;
  std::string help;
};

struct Program {
  std::string name;
  std::string lesson;
  std::vector<std::string> kernels;
  std::vector<Variant> variants;  // the first one is the default
  std::vector<Option> options;    // beside the common ones: --device, --seed
  std::vector<std::string>
      small{};  // arguments of a run of a moment, with ragged ends: every branch is taken
};

// Every program has these beside its own.
const std::vector<Option>& commonOptions();

class Arguments {
 public:
  enum class Action { run, help, describe };

  // Throws Failure{kExitUsage}.
  static Arguments parse(const Program& program, int argc, const char* const* argv);

  // The option must be one of the program's or a common one.
  std::int64_t operator[](std::string_view option) const;
  const std::string& variant() const { return variant_; }
  Action action() const { return action_; }
  bool json() const { return json_; }
  bool printLaunches() const { return printLaunches_; }
  bool printEvents() const { return printEvents_; }
  bool nvtx() const { return nvtx_; }

 private:
  class Parser;
  struct Number {
    std::string_view name;
    std::int64_t value;
  };
  std::vector<Number> numbers_;
  std::string variant_;
  Action action_ = Action::run;
  bool json_ = false;
  bool printLaunches_ = false;
  bool printEvents_ = false;
  bool nvtx_ = true;
};

std::string helpText(const Program& program);
std::string describeText(const Program& program);
std::string describeJson(const Program& program);

struct Run;

// Parses, calls body, prints what it reported. Returns the exit code.
int runProgram(const Program& program, int argc, const char* const* argv, void (*body)(Run&));

// Throws Failure{kExitUsage} when the machine cannot give that much host memory; asked before anything is
// allocated, because an overcommitting kernel would end the process instead. why names the option to make
// smaller.
void requireHostMemory(std::int64_t bytes, std::string_view why);

// What a program throws when a result is wrong: "y[3] is 1.5, not 2.5".
Failure differs(const std::string& what, double result, double expected);

// 12 300 000 -> "12.3 MB", with any unit.
std::string scaled(double value, std::string_view unit);

}  // namespace warpmeter::kernels
