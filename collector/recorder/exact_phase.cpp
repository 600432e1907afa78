// SPDX-License-Identifier: Apache-2.0
#include "exact_phase.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "warpmeter/wire/exact.h"

namespace warpmeter::recorder {
namespace {

wire::ExactState stateOf(const wire::ExactArea& area) {
  return static_cast<wire::ExactState>(area.state.load(std::memory_order_seq_cst));
}

void answer(wire::ExactArea& area, wire::ExactAnswer value) {
  area.answer.store(static_cast<std::uint32_t>(value), std::memory_order_release);
}

void refuse(wire::ExactArea& area, const std::string& why) {
  std::snprintf(area.refusal, sizeof area.refusal, "%s", why.c_str());
  answer(area, wire::ExactAnswer::refused);
}

// The guest's word: cut at the field's end, and only what a chip's name may consist of (it goes into a
// command line).
std::string chipOf(const wire::ExactArea& area) {
  std::string name(area.chip, strnlen(area.chip, sizeof area.chip));
  const bool plain =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return plain && name.size() < sizeof area.chip ? name : std::string();
}

}  // namespace

void ExactPhase::start(Chip& chip, const std::string& name, const std::string& cupti, std::int64_t nowNs) {
  std::vector<std::string> words = {command_.program, "--range-configs", command_.metrics, "--chip", name};
  if (cupti.starts_with('/')) words.insert(words.end(), {"--cupti", cupti});
  chip.startedNs = nowNs;
  chip.helper = std::make_unique<HelperProcess>();
  if (!chip.helper->start(std::move(words), -1)) chip.refusal = "not_recorded " + chip.helper->problem();
}

void ExactPhase::poll(Chip& chip, const std::string& name, std::int64_t nowNs) {
  if (chip.decided()) return;
  if (!chip.helper->ended()) {
    if (nowNs - chip.startedNs < kHelperTimeoutNs) return;
    chip.helper->wait(0);
  }
  if (!chip.helper->succeeded()) {
    chip.refusal = chip.helper->problem();
    if (chip.refusal.find('_') >= chip.refusal.find(' ')) chip.refusal = "not_recorded " + chip.refusal;
    return;
  }
  std::vector<std::byte> bytes = chip.helper->output();
  if (!wire::soundConfigurations(bytes.data(), bytes.size()) ||
      name != reinterpret_cast<const wire::Configurations*>(bytes.data())->chip) {
    chip.refusal = "not_recorded the helper's configurations are not sound";
    return;
  }
  chip.configurations = std::move(bytes);
  ready_(chip.configurations);
}

void ExactPhase::watch(const std::vector<std::unique_ptr<Guest>>& guests, std::int64_t nowNs) {
  for (const auto& guest : guests) {
    wire::ExactArea* area = guest->memory().exactArea();
    if (area == nullptr || stateOf(*area) != wire::ExactState::configurations ||
        area->answer.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(wire::ExactAnswer::none)) {
      continue;
    }
    const std::string name = chipOf(*area);
    if (!requested() || name.empty()) {
      refuse(*area, requested() ? "not_recorded the chip's name is not one"
                                : "not_requested this recording has no exact mode");
      continue;
    }
    const auto [at, fresh] = chips_.try_emplace(name);
    Chip& chip = at->second;
    if (fresh) start(chip, name, guest->memory().cuptiPath(), nowNs);
    poll(chip, name, nowNs);
    if (!chip.refusal.empty()) {
      refuse(*area, chip.refusal);
    } else if (chip.decided()) {
      std::memcpy(reinterpret_cast<std::byte*>(area) + wire::kConfigurationsOffset,
                  chip.configurations.data(), chip.configurations.size());
      answer(*area, wire::ExactAnswer::ready);
    }
  }
}

void ExactPhase::guestGone(const Guest&) { measured_ = true; }

bool ExactPhase::takeCounters(const std::vector<std::unique_ptr<Guest>>& guests) {
  if (taken_ || !requested()) return true;
  std::vector<wire::ExactArea*> areas;
  for (const auto& guest : guests) {
    if (wire::ExactArea* area = guest->memory().exactArea()) areas.push_back(area);
  }
  const auto free = [&] {
    bool busy = false;
    for (const wire::ExactArea* area : areas) {
      const auto state = stateOf(*area);
      measured_ = measured_ || state == wire::ExactState::quiet || state == wire::ExactState::ended;
      busy = busy || state == wire::ExactState::configurations || state == wire::ExactState::measuring;
    }
    return measured_ && !busy;
  };
  if (!free()) return false;
  // A guest says that it measures before it looks at its lease, so one of the two sees the other.
  for (wire::ExactArea* area : areas) area->lease.store(0, std::memory_order_seq_cst);
  taken_ = free();
  if (!taken_) {
    for (wire::ExactArea* area : areas) area->lease.store(1, std::memory_order_seq_cst);
  }
  return taken_;
}

}  // namespace warpmeter::recorder
