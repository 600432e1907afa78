// SPDX-License-Identifier: Apache-2.0
// The one table of verbs, options and environment variables. Parsing, --help, docs/cli.md and the bash
// completion are made from it; nothing else names an option.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace warpmeter::cli {

enum class Verb : std::uint8_t { record, report, occupancy, doctor, calibrate, kernelsList, kernelsRun, kernelsCompare, kernelsTune, count };

enum class Opt : std::uint8_t {
  output,
  force,
  delay,
  duration,
  captureRange,
  api,
  flushMs,
  maxMemory,
  maxSize,
  launchLatency,
  counters,
  samplerCpu,
  launchesPerKernel,
  metrics,
  pcPeriod,
  noNvtx,
  cupti,
  quiet,
  strict,
  json,
  top,
  kernel,
  nvtx,
  all,
  wide,
  fullNames,
  cc,
  registers,
  block,
  sharedStatic,
  sharedDynamic,
  grid,
  cluster,
  carveout,
  sms,
  require,
  gpu,
  variant,
  recordRun,
  limit,
  help,
  count
};

enum class ValueKind : std::uint8_t {
  flag,            // no value
  text,            // anything but empty
  whole,           // an integer >= 1
  index,           // an integer >= 0
  bytes,           // 4096, 48K, 1.5G: powers of 1024
  seconds,         // 2, 0.5
  cores,           // 0.05-8
  percent,         // 0-100
  capability,      // 9.0
  extent,          // 528, 16x16 or 16x16x1
  choice,          // one of `choices`
  optionalChoice,  // --name, or --name=one of `choices`
  captureRange,    // cudaProfilerApi or nvtx:NAME
};

constexpr std::uint32_t verbBit(Verb v) { return 1u << static_cast<unsigned>(v); }

struct OptionSpec {
  Opt id;
  std::string_view name;  // "--output"
  char letter;            // 'o'; 0 = none
  ValueKind kind;
  std::string_view value;     // placeholder in help
  std::string_view choices;   // "work|all|none"
  std::string_view env;       // variable that gives the value when the option is absent
  std::string_view fallback;  // what holds without either, for people
  std::string_view help;
  std::uint32_t verbs;  // verbBit() of each verb that takes it
};

struct Example {
  std::string_view command, what;
};

struct VerbSpec {
  Verb id;
  std::string_view name;       // "record", "kernels list"
  std::string_view arguments;  // "-- APP [ARGS]" after the options; empty = none
  std::string_view summary;    // one line for the overview
  std::string_view text;       // a paragraph for its own help
  std::string_view exitCodes;  // one line
  std::span<const Example> examples;
  int minPositionals, maxPositionals;
  bool takesCommand;  // everything after "--" belongs to a program
};

// Variables that have no option: set by us for the application, or honoured from elsewhere.
struct EnvironmentSpec {
  std::string_view name, help;
};

std::span<const OptionSpec> optionTable();
std::span<const VerbSpec> verbTable();
std::span<const EnvironmentSpec> environmentTable();

const VerbSpec& specOf(Verb verb);
const OptionSpec& specOf(Opt option);
constexpr bool takes(const OptionSpec& option, Verb verb) { return (option.verbs & verbBit(verb)) != 0; }

}  // namespace warpmeter::cli
