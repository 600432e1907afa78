// SPDX-License-Identifier: Apache-2.0
// What `doctor` looks at; each check gives rows.
#pragma once

#include <string>
#include <vector>

#include "cli/gpu_probe.h"
#include "cli/installation.h"

namespace warpmeter::cli {

enum class Health { ok, warn, fail };
std::string_view idOf(Health health);  // "ok", "warn", "fail"

struct Row {
  Health health = Health::ok;
  std::string name;                 // "GPU 0", "counters"
  std::string text;                 // one line
  std::vector<std::string> remedy;  // lines
};

struct Diagnosis {
  std::vector<Row> rows;
  bool canRecord = false;  // a self-test recorded something, or nothing speaks against it
  bool countersPermitted = false;
};

// Records the bundled program `empty` with 1000 launches through `warpmeter record` and counts them in the
// file.
struct SelfTest {
  bool possible = false;  // the parts it needs are in this build
  bool recorded = false;  // the file holds launches
  std::int64_t launches = 0;
  std::int64_t durationNs = 0;
  std::string problem;  // one line; "" when all were there
  std::string cuptiPath;
  std::int64_t cuptiVersion = 0;
};
inline constexpr std::int64_t kSelfTestLaunches = 1000;
SelfTest runSelfTest(const Installation& where);

std::vector<Row> gpuRows(const GpuProbe& probe);
std::vector<Row> holderRows(const Installation& where);
Row hostRow();
Row outputRow();

bool onWsl();

}  // namespace warpmeter::cli
