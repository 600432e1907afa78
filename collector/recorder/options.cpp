// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/recorder/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

template <class Number>
bool number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

bool runId(std::string_view text, std::array<unsigned char, 16>& run) {
  if (text.size() != 2 * run.size()) return false;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto pair = text.substr(2 * i, 2);
    const auto [end, error] = std::from_chars(pair.data(), pair.data() + 2, run[i], 16);
    if (error != std::errc{} || end != pair.data() + 2) return false;
  }
  return true;
}

bool milliseconds(std::string_view text, std::int64_t& ns) {
  std::int64_t ms = 0;
  if (!number(text, ms) || ms < 0 || ms > std::int64_t{1} << 40) return false;
  ns = ms * 1'000'000;
  return true;
}

bool captureRange(std::string_view text, CaptureOptions& capture) {
  if (text == "cudaProfilerApi") {
    capture.profilerApi = true;
    return true;
  }
  if (!text.starts_with("nvtx:") || text.size() == 5) return false;
  capture.nvtxRange = text.substr(5);
  return true;
}

bool apiMode(std::string_view text, ApiMode& mode) {
  for (const ApiMode m : {ApiMode::work, ApiMode::all, ApiMode::none}) {
    if (text != nameOf(m)) continue;
    mode = m;
    return true;
  }
  return false;
}

// none, pc, or what is wanted of sample and exact, comma-separated.
bool counters(std::string_view text, Options& o) {
  o.sampleCounters = o.exactCounters = false;
  o.pcCounters = text == "pc";
  if (text == "none" || text == "pc") return true;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    bool& wanted = word == "sample" ? o.sampleCounters : o.exactCounters;
    if ((word != "sample" && word != "exact") || std::exchange(wanted, true)) return false;
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

// UUID:kind=value,kind=value,...
bool ceilings(std::string_view text, std::vector<KnownCeiling>& all) {
  const auto colon = text.find(':');
  if (colon == text.npos || colon == 0) return false;
  const std::string uuid(text.substr(0, colon));
  text.remove_prefix(colon);
  while (!text.empty()) {
    text.remove_prefix(1);
    const auto one = text.substr(0, text.find(','));
    const auto equals = one.find('=');
    CeilingInfo c;
    if (equals == one.npos || equals == 0 || !number(one.substr(equals + 1), c.value)) return false;
    if (!std::isfinite(c.value) || c.value <= 0) return false;
    c.kind = one.substr(0, equals);
    c.source = "calibrated";
    all.push_back({uuid, std::move(c)});
    text.remove_prefix(one.size());
  }
  return true;
}

// Takes the value of `name`; false: it is not a value of that option.
bool assign(Options& o, std::string_view name, std::string_view value) {
  if (name == "--run") return runId(value, o.run);
  if (name == "--socket") return (o.socketPath = value, !value.empty());
  if (name == "--output") return (o.output = value, !value.empty());
  if (name == "--control-fd") return number(value, o.controlFd) && o.controlFd >= 0;
  if (name == "--delay-ms") return milliseconds(value, o.capture.delayNs);
  if (name == "--duration-ms") {
    std::int64_t ns = 0;
    if (!milliseconds(value, ns)) return false;
    o.capture.durationNs = ns;
    return true;
  }
  if (name == "--capture-range") return captureRange(value, o.capture);
  if (name == "--api") return apiMode(value, o.api);
  if (name == "--flush-ms") return number(value, o.flushMs) && o.flushMs > 0;
  if (name == "--max-memory") return number(value, o.maxMemoryBytes);
  if (name == "--max-size") return number(value, o.maxSizeBytes);
  if (name == "--counters") return counters(value, o);
  if (name == "--metrics") return (o.exactMetrics = value, value == "basic" || value == "full");
  if (name == "--sampler-cpu") return number(value, o.samplerCores) && o.samplerCores >= 0.05 && o.samplerCores <= 8;
  if (name == "--sampler") return (o.sampler = value, !value.empty());
  if (name == "--ceilings") return ceilings(value, o.ceilings);
  if (name == "--version") return (o.version = value, true);
  return false;
}

bool takesValue(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "--run", "--socket", "--output", "--control-fd", "--delay-ms", "--duration-ms", "--capture-range",
      "--api", "--flush-ms", "--max-memory", "--max-size", "--counters", "--metrics", "--sampler-cpu", "--sampler",
      "--ceilings", "--version"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool flag(Options& o, std::string_view name) {
  if (name == "--force") return o.force = true;
  if (name == "--nvtx-requested") return o.nvtxRequested = true;
  if (name == "--query-gpus") return o.queryGpus = true;
  return false;
}

Error usage(std::string message) { return {ErrorKind::usage, "warpmeter-recorder: " + std::move(message)}; }

}  // namespace

const char* nameOf(ApiMode mode) {
  switch (mode) {
    case ApiMode::work: return "work";
    case ApiMode::all: return "all";
    case ApiMode::none: return "none";
  }
  return "work";
}

Result<Options> parseOptions(int argc, const char* const* argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (flag(o, name)) continue;
    std::optional<std::string_view> value;
    if (const auto equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    if (!takesValue(name)) return usage(fmt::format("unknown argument '{}'", argv[i]));
    if (!value) {
      if (++i == argc) return usage(fmt::format("{} needs a value", name));
      value = argv[i];
    }
    if (!assign(o, name, *value)) return usage(fmt::format("'{}' is not a value of {}", *value, name));
  }
  if (o.queryGpus) return o;
  if (o.socketPath.empty() || o.output.empty()) return usage("--socket and --output are needed");
  return o;
}

std::uint64_t defaultMaxMemoryBytes() {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  return std::clamp<std::uint64_t>(memoryLimitBytes() / 8, std::uint64_t{16} << 20, kGiB);
}

}  // namespace warpmeter::recorder
