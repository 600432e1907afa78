// SPDX-License-Identifier: Apache-2.0
#include "metric_sets.h"

#include <algorithm>
#include <array>
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

bool fits(MetricHost& host, const std::vector<MetricColumn>& columns) {
  std::vector<std::string> asked;
  for (const MetricColumn& column : columns) asked.push_back(column.asked);
  return host.fitsOnePass(asked);
}

std::vector<MetricColumn> columnsOf(std::initializer_list<std::string_view> names) {
  std::vector<MetricColumn> columns;
  for (const std::string_view name : names) columns.push_back({std::string(name), std::string(name), -1});
  return columns;
}

class Builder {
 public:
  explicit Builder(MetricHost& host) : host_(host) {}

  // A small set for one wish beside occupancy; empty when the chip cannot.
  MetricSet fineSet(const Wish& wish) {
    MetricSet set;
    set.fineWeight = wish.fineWeight;
    set.minIntervalNs = kFineIntervalNs;
    for (const Alternative& alternative : known(wish)) {
      std::vector<MetricColumn> columns = columnsOf({kCyclesActive, kWarpsActive});
      append(columns, alternative);
      if (columns.size() > kFineColumns || !fits(host_, columns)) continue;
      set.columns = std::move(columns);
      break;
    }
    return set;
  }

  // Puts the wish into the smallest coarse set that has room, or opens one. Names that go together with
  // occupancy come before names that do not.
  void place(const Wish& wish) {
    static constexpr std::array<std::initializer_list<std::string_view>, 3> kBases = {
        {{kCyclesActive, kWarpsActive, kCyclesElapsed}, {kCyclesActive, kCyclesElapsed}, {kCyclesActive}}};
    const std::vector<Alternative> names = known(wish);
    for (const auto& base : kBases) {
      for (const Alternative& alternative : names) {
        if (placeBeside(base, alternative)) return;
      }
    }
  }

  std::vector<MetricSet>& coarse() { return coarse_; }

 private:
  // Names that this chip has; an unknown one spoils every question it takes part in.
  std::vector<Alternative> known(const Wish& wish) {
    std::vector<Alternative> result;
    for (const Alternative& alternative : wish.names) {
      std::vector<MetricColumn> alone;
      append(alone, alternative);
      if (fits(host_, alone)) result.push_back(alternative);
    }
    return result;
  }

  bool placeBeside(std::initializer_list<std::string_view> base, const Alternative& alternative) {
    std::vector<MetricSet*> bySize;
    for (MetricSet& set : coarse_) {
      if (startsWith(set, base)) bySize.push_back(&set);
    }
    std::ranges::stable_sort(bySize, {}, [](const MetricSet* set) { return set->columns.size(); });
    for (MetricSet* set : bySize) {
      std::vector<MetricColumn> columns = set->columns;
      append(columns, alternative);
      if (columns.size() > kCoarseColumns || !fits(host_, columns)) continue;
      set->columns = std::move(columns);
      return true;
    }
    std::vector<MetricColumn> columns = columnsOf(base);
    append(columns, alternative);
    if (!fits(host_, columns)) return false;
    MetricSet set;
    set.columns = std::move(columns);
    set.minIntervalNs = kManyColumnsNs;
    coarse_.push_back(std::move(set));
    return true;
  }

  static bool startsWith(const MetricSet& set, std::initializer_list<std::string_view> base) {
    std::size_t i = 0;
    for (const std::string_view name : base) {
      if (i >= set.columns.size() || set.columns[i++].name != name) return false;
    }
    return true;
  }

  MetricHost& host_;
  std::vector<MetricSet> coarse_;
};

// The first coarse set holds DRAM traffic and instructions, the second the tensor pipe: what bounds most
// kernels.
void weigh(std::vector<MetricSet>& coarse) {
  static constexpr int kWeights[] = {4, 2};
  for (std::size_t i = 0; i < coarse.size(); ++i) {
    coarse[i].coarseWeight = i < std::size(kWeights) ? kWeights[i] : 1;
    // Short kernels have small sets for the first wishes; the rest (caches, issue) comes from here, more
    // coarsely.
    coarse[i].fineWeight = i == 0 ? 0 : 1;
  }
}

}  // namespace

MetricSet buildFirstSet(MetricHost& host) { return Builder(host).fineSet(wishes().front()); }

std::vector<MetricSet> buildSets(MetricHost& host) {
  Builder builder(host);
  std::vector<MetricSet> sets;
  for (const Wish& wish : wishes()) {
    if (wish.fineWeight > 0) {
      MetricSet set = builder.fineSet(wish);
      if (!set.columns.empty()) {
        sets.push_back(std::move(set));
      } else if (sets.empty()) {
        return {};
      }
    }
    if (wish.names.front().metrics[0].name != kCyclesElapsed) builder.place(wish);
  }
  weigh(builder.coarse());
  for (MetricSet& set : builder.coarse()) sets.push_back(std::move(set));
  return sets;
}

}  // namespace warpmeter::sampler
