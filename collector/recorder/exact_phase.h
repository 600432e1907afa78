// SPDX-License-Identifier: Apache-2.0
// Exact mode as the thread sees it that talks to guests: gives each guest the configurations of its chip, and
// knows when nobody needs the counters any more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "guest.h"
#include "helper_process.h"

namespace warpmeter::recorder {

class ExactPhase {
 public:
  static constexpr std::int64_t kHelperTimeoutNs = 20'000'000'000;

  struct Command {
    std::string metrics;  // basic, full; empty: exact mode was not asked for
    std::string program;  // warpmeter-sampler
  };
  // ready: called once for each chip's configurations.
  ExactPhase(Command command, std::function<void(std::vector<std::byte>)> ready)
      : command_(std::move(command)), ready_(std::move(ready)) {}

  bool requested() const { return !command_.metrics.empty(); }
  void watch(const std::vector<std::unique_ptr<Guest>>& guests, std::int64_t nowNs);
  // Some guest has measured, and none needs the counters now. From the first true on no guest may begin
  // again: the sampler can have them.
  bool takeCounters(const std::vector<std::unique_ptr<Guest>>& guests);
  void guestGone(const Guest& guest);  // it counts as having measured

 private:
  struct Chip {
    std::unique_ptr<HelperProcess> helper;
    std::int64_t startedNs = 0;
    std::vector<std::byte> configurations;
    std::string refusal;  // "REASON_ID text"
    bool decided() const { return !configurations.empty() || !refusal.empty(); }
  };
  void start(Chip& chip, const std::string& name, const std::string& cupti, std::int64_t nowNs);
  void poll(Chip& chip, const std::string& name, std::int64_t nowNs);

  Command command_;
  std::function<void(std::vector<std::byte>)> ready_;
  std::map<std::string, Chip> chips_;
  bool measured_ = false, taken_ = false;
};

}  // namespace warpmeter::recorder
