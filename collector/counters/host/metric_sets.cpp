// SPDX-License-Identifier: Apache-2.0
#include "metric_sets.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "metric_wishes.h"

namespace warpmeter::sampler {
namespace {

void append(std::vector<MetricColumn>& columns, const Alternative& alternative) {
  for (std::size_t i = 0; i < alternative.count(); ++i) {
    const WishedMetric& m = alternative.metrics[i];
    const bool made = !m.rate.empty();
    const int factor = made ? static_cast<int>(columns.size()) - 1 : -1;
    if (std::ranges::any_of(columns, [&](const MetricColumn& c) { return c.name == m.name; })) continue;
    columns.push_back({std::string(m.name), std::string(made ? m.rate : m.name), factor});
  }
}

std::vector<MetricColumn> columnsOf(std::initializer_list<std::string_view> names) {
  std::vector<MetricColumn> columns;
  for (const std::string_view name : names) columns.push_back({std::string(name), std::string(name), -1});
  return columns;
}

bool startsWith(const MetricSet& set, std::initializer_list<std::string_view> base) {
  std::size_t i = 0;
  for (const std::string_view name : base) {
    if (i >= set.columns.size() || set.columns[i++].name != name) return false;
  }
  return true;
}

// Adds the wish to the group: to its set if that has this base and room for it, else as the set of an empty
// group. An unknown name fits nowhere.
bool place(MetricHost& host, MetricGroup& group, std::initializer_list<std::string_view> base,
           const Alternative& alternative, std::size_t most) {
  MetricGroup with = group;
  if (with.sets.empty()) with.sets.push_back({columnsOf(base)});
  MetricSet& set = with.sets.front();
  if (!startsWith(set, base)) return false;
  append(set.columns, alternative);
  if (set.columns.size() > most) return false;
  const std::vector<std::string> asked = with.asked();
  if (asked.size() > kGroupColumns || !host.fitsOnePass(asked)) return false;
  group = std::move(with);
  return true;
}

class Builder {
 public:
  Builder(MetricHost& host, bool links) : host_(host), links_(links) {}

  MetricGroup core() {
    MetricGroup group;
    for (const Wish& wish : wishes()) {
      if (!wish.core) continue;
      bool placed = false;
      for (const Alternative& alternative : wish.names) {
        placed = placed || place(host_, group, {kCyclesActive, kWarpsActive, kCyclesElapsed}, alternative,
                                 kCoreColumns);
      }
      if (group.sets.empty()) return {};
      if (!placed) left_.push_back(&wish);
    }
    group.fineWeight = group.coarseWeight = 4;
    group.minIntervalNs = kCoreIntervalNs;
    return group;
  }

  // Groups are filled one after the other: what fits into the first costs no change of the hardware's setup.
  // Inside a group names that go together with occupancy come before names that do not.
  void broad(std::vector<MetricGroup>& groups) {
    static constexpr std::array<std::initializer_list<std::string_view>, 3> kBases = {
        {{kCyclesActive, kWarpsActive, kCyclesElapsed}, {kCyclesActive, kCyclesElapsed}, {kCyclesActive}}};
    std::vector<MetricGroup> made;
    const auto add = [&](const Wish& wish) {
      made.emplace_back();
      for (std::size_t g = wish.apart ? made.size() - 1 : 0; g < made.size(); ++g) {
        // Groups of leftovers do without occupancy: more of them fit together.
        for (std::size_t base = g == 0 ? 0 : 1; base < kBases.size(); ++base) {
          for (const Alternative& alternative : wish.names) {
            if (!place(host_, made[g], kBases[base], alternative, kCoarseColumns)) continue;
            if (made.back().sets.empty()) made.pop_back();
            return;
          }
        }
      }
      made.pop_back();
    };
    for (const Wish* wish : left_) add(*wish);
    for (const Wish& wish : wishes()) {
      if (!wish.core && (links_ || wish.what != kNvlinkWish)) add(wish);
    }
    for (MetricGroup& group : made) {
      group.fineWeight = group.coarseWeight = groups.size() == 1 ? 3 : 1;
      group.minIntervalNs = kBroadIntervalNs;
      groups.push_back(std::move(group));
    }
  }

  // Small groups for intervals that the others cannot have.
  void fine(std::vector<MetricGroup>& groups) {
    std::vector<MetricGroup> made;
    for (const Wish& wish : wishes()) {
      if (!wish.fine) continue;
      bool placed = false;
      const auto tryAt = [&](MetricGroup& group) {
        for (const Alternative& alternative : wish.names) {
          placed =
              placed || (made.size() == 1
                             ? place(host_, group, {kCyclesActive, kWarpsActive}, alternative, kFineColumns)
                             : place(host_, group, {kCyclesActive}, alternative, kFineColumns));
        }
      };
      if (made.size() > 1) tryAt(made.back());
      if (placed) continue;
      made.emplace_back();
      tryAt(made.back());
      if (!placed) made.pop_back();
    }
    for (MetricGroup& group : made) {
      group.fineWeight = 1;
      group.minIntervalNs = kFineIntervalNs;
      groups.push_back(std::move(group));
    }
  }

 private:
  MetricHost& host_;
  const bool links_;
  std::vector<const Wish*> left_;  // core wishes that the core had no room for
};

}  // namespace

std::vector<std::string> MetricGroup::asked() const {
  std::vector<std::string> result;
  for (const MetricSet& set : sets) {
    for (const MetricColumn& c : set.columns) {
      if (std::ranges::find(result, c.asked) == result.end()) result.push_back(c.asked);
    }
  }
  return result;
}

MetricGroup buildCore(MetricHost& host) { return Builder(host, false).core(); }

std::vector<MetricGroup> buildGroups(MetricHost& host, bool links) {
  Builder builder(host, links);
  std::vector<MetricGroup> groups = {builder.core()};
  if (groups.front().sets.empty()) return {};
  builder.broad(groups);
  builder.fine(groups);
  return groups;
}

}  // namespace warpmeter::sampler
