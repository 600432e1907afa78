// SPDX-License-Identifier: Apache-2.0
// PC sampling on its way into the file: samples summed up per process, instruction and stall reason; images
// of code with line information kept in a nameless file until the lines are looked up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "process_context.h"
#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/result.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::recorder {

class PcIntake {
 public:
  static constexpr std::size_t kMaxInstructions = 2'000'000;  // times reasons; what is beyond counts as lost
  static constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 30;  // of all

  explicit PcIntake(std::string spoolPath) : spoolPath_(std::move(spoolPath)) {}
  ~PcIntake();
  PcIntake(const PcIntake&) = delete;
  PcIntake& operator=(const PcIntake&) = delete;

  // Both false: the record is none. stored: it was read inside of what the recording stores.
  bool takeBatch(ProcessContext& context, std::span<const std::byte> record, bool stored);
  bool takeImage(ProcessContext& context, std::span<const std::byte> record);

  // Runs `warpmeter-sampler --source-lines` on this file of requests, gives what it printed.
  using LookUp = std::function<Result<std::vector<std::byte>>(int requests)>;
  struct Rows {
    std::vector<PcSamples> samples;
    std::vector<PcRun> runs;
    std::string problem;  // why lines are missing
  };
  // Everything of the process since the last call.
  Rows takeRows(std::int64_t globalPid, const LookUp& lookUp);

  // Over the whole recording.
  struct Totals {
    std::int64_t samples = 0, inInstructions = 0, otherKernels = 0, dropped = 0, lines = 0;
    std::size_t functions = 0;
    std::int64_t periodCycles = kNull;  // the first that was said
    std::string reason, text;           // of the last process that could not go on
  };
  Totals totals() const;

  struct Costs {
    std::int64_t setupNs = 0, setups = 0, flushNs = 0, flushes = 0, readNs = 0, reads = 0, names = 0;
  };
  Costs takeCosts(std::int64_t globalPid);

 private:
  struct Key {
    std::uint64_t crc = 0, offset = 0;
    std::uint32_t function = 0, reason = 0;  // places in texts_
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Process {
    std::unordered_map<Key, std::int64_t, KeyHash> samples;
    std::unordered_map<std::uint64_t, std::uint32_t> texts;  // guest's reference -> place
    std::map<std::uint32_t, PcRun> runs;                     // by device
    Costs costs;
  };
  struct Image {
    std::int64_t owner = 0;  // the process that sends it
    std::uint64_t total = 0, received = 0;
    std::int64_t at = 0;  // in the spool
    bool complete() const { return total != 0 && received == total; }
  };
  using Line = std::pair<std::string, std::int64_t>;  // file, line
  using Lines =
      std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>, Line>;  // crc, function, offset

  std::uint32_t textOf(ProcessContext& context, Process& process, std::uint64_t reference);
  std::string findLines(const Process& process, const LookUp& lookUp, Lines& lines);
  bool writeRequest(int fd, std::uint64_t crc, std::span<const Key> keys);
  bool openSpool();

  std::string spoolPath_;
  int spool_ = -1;
  std::uint64_t spooled_ = 0;
  std::map<std::int64_t, Process> processes_;  // by globalPid
  std::map<std::uint64_t, Image> images_;      // by checksum
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<bool> isFunction_;  // by place
  std::size_t instructions_ = 0;
  Totals totals_;
};

}  // namespace warpmeter::recorder
