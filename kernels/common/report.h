// SPDX-License-Identifier: Apache-2.0
// What a run found out, and its own list of everything that it gave to the GPU: a recording can be compared
// with it row by row.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json_writer.h"
#include "common/phase.h"
#include "common/program.h"

namespace warpmeter::kernels {

// One kernel launch. stream: the program's own number, 0 = the default stream.
struct Launch {
  std::string_view kernel;  // the bare identifier; must outlive the report (a literal)
  dim3 grid;
  dim3 block;
  int stream = 0;
  std::int64_t dynamicShared = 0;  // bytes
  bool graph = false;              // a node of a graph
};

// Launches in issue order, equal neighbours and repeated sequences folded.
class LaunchLog {
 public:
  void add(const Launch& launch, std::int64_t repeat = 1);
  void addSequence(std::vector<Launch> sequence, std::int64_t repeat);
  std::int64_t total() const { return total_; }
  void write(JsonWriter& json) const;  // an array

 private:
  struct Entry {
    std::vector<Launch> sequence;
    std::int64_t repeat;
  };
  std::vector<Entry> entries_;
  std::int64_t total_ = 0;
};

// One copy or memset call. kind: h2d d2h d2d memset; memory: the host side, pageable or pinned (device for
// the others).
struct Copy {
  std::string_view kind;
  std::string_view memory;
  std::int64_t bytes;
  int stream = 0;
};

// Time between two CUDA events around consecutive launches of one kernel.
struct EventPair {
  std::string_view kernel;
  std::int64_t firstLaunch;  // its place in the list of launches, from 0
  std::int64_t launches;
  double elapsedNs;
};

enum class Unit { nanoseconds, bytes, bytesPerSec, flopPerSec, count, ratio, percent };

class Report {
 public:
  LaunchLog launches;
  std::string device;

  // key is the JSON name with its unit at the end, label what people read.
  void value(std::string key, std::string label, double number, Unit unit);
  void copy(const Copy& copy, std::int64_t repeat = 1);
  void events(const EventPair& pair) { events_.push_back(pair); }
  void checked(std::int64_t values, std::string against);
  // What the reader must know: why nothing was measured, whose launches are not in the list.
  void notice(std::string text) { notices_.push_back(std::move(text)); }

  std::string text(const Program& program, const Arguments& arguments) const;
  std::string json(const Program& program, const Arguments& arguments, const Nvtx& nvtx) const;

 private:
  struct Value {
    std::string key;
    std::string label;
    double number;
    Unit unit;
  };
  struct CopyEntry {
    Copy copy;
    std::int64_t repeat;
  };
  void writeResult(JsonWriter& json, const Nvtx& nvtx) const;
  void writeCopies(JsonWriter& json) const;
  void writeEvents(JsonWriter& json) const;

  std::vector<Value> values_;
  std::vector<CopyEntry> copies_;
  std::vector<EventPair> events_;
  std::vector<std::string> notices_;
  std::int64_t checkedValues_ = 0;
  std::string checkedAgainst_;
};

struct Run {
  const Program& program;
  Arguments arguments;
  Nvtx nvtx;
  Report report;
};

}  // namespace warpmeter::kernels
