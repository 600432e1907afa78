// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace warpmeter::sampler {
namespace {

Error usage(std::string message) { return {ErrorKind::usage, "warpmeter-sampler: " + std::move(message)}; }

template <class Number>
bool numberIn(std::string_view text, Number least, Number most, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
}

// What is wrong with the value; empty = taken.
std::string assign(Options& o, std::string_view name, std::string_view value) {
  if (name == "--cupti") {
    o.cupti = value;
    return value.empty() ? "--cupti needs a path" : "";
  }
  if (name == "--list-sets") {
    o.listSets = value;
    return value.empty() ? "--list-sets needs a chip, for example GH100" : "";
  }
  if (name == "--cpu") {
    if (numberIn(value, kLeastCores, kMostCores, o.cores)) return {};
    return fmt::format("--cpu {}: a number of cores from {} to {} is needed", value, kLeastCores, kMostCores);
  }
  if (numberIn(value, 0, 19, o.nice)) return {};
  return fmt::format("--nice {}: a number from 0 to 19 is needed", value);
}

}  // namespace

Result<Options> parseOptions(int argc, const char* const* argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--verbose" || name == "--probe" || name == "--measure" || name == "--help") {
      (name == "--verbose"   ? o.verbose
       : name == "--probe"   ? o.probe
       : name == "--measure" ? o.measure
                             : o.help) = true;
      continue;
    }
    std::optional<std::string_view> value;
    if (const auto equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    if (name != "--cupti" && name != "--cpu" && name != "--nice" && name != "--list-sets") {
      return usage(fmt::format("unknown argument '{}'; see --help", argv[i]));
    }
    if (!value) {
      if (++i == argc) return usage(fmt::format("{} needs a value", name));
      value = argv[i];
    }
    if (std::string problem = assign(o, name, *value); !problem.empty()) return usage(std::move(problem));
  }
  return o;
}

std::string usageText() {
  return fmt::format(
      "usage: warpmeter-sampler [--cupti PATH] [--cpu CORES] [--nice N] [--verbose] [--probe | --measure | "
      "--list-sets CHIP]\n"
      "Samples the counters of GPUs for warpmeter-recorder, which starts it; messages on standard output, "
      "see\n"
      "collector/wire/include/warpmeter/wire/sampler.h.\n"
      "  --cupti PATH       this libcupti; default: where the toolkit is\n"
      "  --cpu CORES        CPU time that may be used for each GPU, {} to {}; default 0.5\n"
      "  --nice N           priority, 0 to 19; default 10\n"
      "  --verbose          on standard error: sets, costs, peaks, failures\n"
      "  --probe            one line of JSON per GPU: can its counters be sampled, and if not, why\n"
      "  --measure          what CUPTI's calls cost on the first GPU, 15 s; put work on it meanwhile\n"
      "  --list-sets CHIP   the sets of a chip such as GH100; needs no GPU\n",
      kLeastCores, kMostCores);
}

}  // namespace warpmeter::sampler
