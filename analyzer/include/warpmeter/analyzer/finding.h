// SPDX-License-Identifier: Apache-2.0
// Finding: something that costs time, with the numbers that show it and what to do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/names.h"

namespace warpmeter::analyzer {

enum class Confidence : std::uint8_t { sure, likely, maybe };
enum class Unit : std::uint8_t { none, count, ns, bytes, bytesPerSec, percent };
enum class SubjectKind : std::uint8_t { run, process, gpu, stream, thread, function, distinctKernel };

std::string_view idOf(Confidence c);  // "sure", "likely", "maybe"
std::string_view idOf(
    SubjectKind k);  // "run", "process", "gpu", "stream", "thread", "function", "distinct_kernel"

// name is a lowerCamel JSON key without unit suffix; the renderer adds Ns, Bytes, BytesPerSec, Pct by unit.
struct Evidence {
  std::string name;
  double value = 0;
  Unit unit = Unit::none;
};

// index: into processes(), gpus(), streams(), threads(), functions() or distinctKernels() of the view.
struct Subject {
  SubjectKind kind = SubjectKind::run;
  std::uint32_t index = 0;
  std::string text;
};

struct Finding {
  FindingId id{};
  Confidence confidence = Confidence::maybe;
  Subject subject;
  // Wall time that acting on it can save, at least and at most; both 0 = none. Savings of several findings
  // overlap and are not to be added.
  std::int64_t recoverableLowNs = 0, recoverableHighNs = 0;
  std::vector<Evidence> evidence;
  std::string text;    // what is the case, one line
  std::string advice;  // what to do, one line
};

using Findings = std::vector<Finding>;

// Highest recoverable time first (upper, then lower bound), then surer, then id.
void rank(Findings& findings);

}  // namespace warpmeter::analyzer
