// SPDX-License-Identifier: Apache-2.0
// Which counters go together: by rule with a made-up chip, and for the chips that this machine's CUPTI knows.
#include "metric_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cupti_library.h"
#include "cupti_pm_device.h"
#include "host_object.h"

namespace warpmeter::sampler {
namespace {

std::vector<std::string> namesOf(const MetricSet& set) {
  std::vector<std::string> names;
  for (const MetricColumn& c : set.columns) names.push_back(c.name);
  return names;
}
bool has(const MetricSet& set, std::string_view name) {
  return std::ranges::any_of(set.columns, [&](const MetricColumn& c) { return c.name == name; });
}
bool anyHas(const std::vector<MetricSet>& sets, std::string_view name) {
  return std::ranges::any_of(sets, [&](const MetricSet& s) { return has(s, name); });
}

std::vector<MetricSet> allSets(MetricHost& host) {
  std::vector<MetricSet> sets;
  for (const MetricGroup& group : buildGroups(host)) {
    sets.insert(sets.end(), group.sets.begin(), group.sets.end());
  }
  return sets;
}

// A chip that knows some names and cannot count some pairs at once.
class MadeUpChip : public MetricHost {
 public:
  std::set<std::string> unknown;
  std::vector<std::pair<std::string, std::string>> exclusive;
  bool fitsOnePass(const std::vector<std::string>& asked) override {
    const auto in = [&](const std::string& name) { return std::ranges::find(asked, name) != asked.end(); };
    if (std::ranges::any_of(asked, [&](const std::string& name) { return unknown.contains(name); }))
      return false;
    return std::ranges::none_of(exclusive,
                                [&](const auto& pair) { return in(pair.first) && in(pair.second); });
  }
};

TEST(MetricSets, UnknownMetricCostsOnlyItself) {
  MadeUpChip chip;
  chip.unknown = {"sm__pipe_tensor_cycles_active.sum",
                  "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum",
                  "sm__inst_executed_pipe_tensor.sum", "nvlrx__bytes.sum"};
  const auto sets = allSets(chip);
  EXPECT_FALSE(anyHas(sets, "nvltx__bytes.sum"));
  for (const auto& set : sets) {
    for (const auto& name : namesOf(set)) EXPECT_EQ(name.find("tensor"), name.npos);
  }
  EXPECT_TRUE(anyHas(sets, "sm__pipe_fp64_cycles_active.sum"));
  EXPECT_TRUE(anyHas(sets, "pcie__read_bytes.sum"));
}

TEST(MetricSets, SecondNameIsTakenWhereTheFirstDoesNotGoWithOccupancy) {
  MadeUpChip chip;
  chip.exclusive = {{"sm__cycles_active.sum", "sm__pipe_fma_cycles_active.sum"}};
  const auto sets = allSets(chip);
  EXPECT_FALSE(anyHas(sets, "sm__pipe_fma_cycles_active.sum"));
  EXPECT_TRUE(anyHas(sets, "TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime.sum"));
}

TEST(MetricSets, WhatDoesNotGoWithOccupancyHasAGroupOfItsOwn) {
  MadeUpChip chip;
  chip.exclusive = {{"sm__warps_active.sum", "l1tex__t_sectors.sum"}};
  const auto groups = buildGroups(chip);
  int with = 0;
  for (const auto& group : groups) {
    for (const auto& set : group.sets) {
      EXPECT_EQ(set.columns.front().name, "sm__cycles_active.sum");
      if (has(set, "l1tex__t_sectors.sum")) {
        EXPECT_FALSE(
            std::ranges::any_of(group.sets, [](const auto& s) { return has(s, "sm__warps_active.sum"); }));
        ++with;
      }
    }
  }
  EXPECT_EQ(with, 1);
}

TEST(MetricSets, CoreTakesWhatFitsAndLeavesTheRestToTheOthers) {
  MadeUpChip chip;
  chip.unknown = {"dram__bytes_op_write.sum"};
  chip.exclusive = {{"dram__bytes_read.sum", "dram__bytes_write.sum"}};
  const auto groups = buildGroups(chip);
  ASSERT_GE(groups.size(), 2u);
  ASSERT_EQ(groups[0].sets.size(), 1u);
  EXPECT_TRUE(has(groups[0].sets[0], "dram__bytes_read.sum"));
  EXPECT_FALSE(has(groups[0].sets[0], "dram__bytes_write.sum"));
  EXPECT_TRUE(anyHas(groups[1].sets, "dram__bytes_write.sum"));
}

TEST(MetricSets, HitsAreMadeOfARateWhereNobodyCountsThem) {
  MadeUpChip chip;
  chip.unknown = {"lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_hit_realtime.sum"};
  for (const auto& set : allSets(chip)) {
    const auto hit = std::ranges::find(set.columns, "lts__t_sectors_lookup_hit.sum", &MetricColumn::name);
    if (hit == set.columns.end()) continue;
    EXPECT_EQ(hit->asked, "lts__average_t_sector_hit_rate_realtime.pct");
    ASSERT_GE(hit->factor, 0);
    EXPECT_EQ(set.columns[static_cast<std::size_t>(hit->factor)].name, "lts__t_sectors.sum");
    return;
  }
  FAIL() << "no set with hits";
}

TEST(MetricSets, NothingWithoutOccupancy) {
  MadeUpChip chip;
  chip.unknown = {"sm__warps_active.sum"};
  EXPECT_TRUE(buildCore(chip).sets.empty());
  EXPECT_TRUE(allSets(chip).empty());
}

class RealCupti : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "CUPTI opens libnvperf_host with RTLD_DEEPBIND, which the address sanitizer refuses";
#endif
    static const Cupti* const cupti = new Cupti(loadCupti({}));
    if (!cupti->problem.empty()) GTEST_SKIP() << cupti->problem;
    cupti_ = cupti;
  }
  const Cupti* cupti_ = nullptr;
};

class RealChip : public RealCupti, public testing::WithParamInterface<const char*> {};

TEST_P(RealChip, SetsFitOnePassAndHoldWhatTheyMust) {
  CuptiMetricHost host(*cupti_, GetParam());
  ASSERT_TRUE(host.check().ok());
  const auto groups = buildGroups(host);
  ASSERT_GE(groups.size(), 6u);
  ASSERT_EQ(groups[0].sets.size(), 1u);
  EXPECT_EQ(namesOf(groups[0].sets[0]), namesOf(buildCore(host).sets[0]));
  std::set<std::vector<std::string>> different;
  std::vector<MetricSet> sets;
  int fine = 0, coarse = 0;
  for (const MetricGroup& group : groups) {
    const std::vector<std::string> asked = group.asked();
    EXPECT_TRUE(host.fitsOnePass(asked)) << asked.back();
    EXPECT_GT(group.fineWeight + group.coarseWeight, 0);
    EXPECT_LE(group.coarseWeight, groups[0].coarseWeight);
    EXPECT_LE(asked.size(), group.minIntervalNs < kCoreIntervalNs    ? kFineColumns
                            : group.minIntervalNs < kBroadIntervalNs ? kCoreColumns
                                                                     : kGroupColumns);
    fine += group.minIntervalNs < kCoreIntervalNs;
    coarse += group.coarseWeight > 0;
    for (const MetricSet& set : group.sets) {
      EXPECT_EQ(set.columns.front().name, "sm__cycles_active.sum");
      EXPECT_TRUE(different.insert(namesOf(set)).second);
      EXPECT_GT(set.weight, 0);
      EXPECT_LE(set.columns.size(), kCoarseColumns);
      EXPECT_TRUE(group.coarseWeight == 0 || has(set, "sm__cycles_elapsed.sum"));
      sets.push_back(set);
    }
  }
  EXPECT_GE(fine, 4);
  EXPECT_GE(coarse, 4);
  EXPECT_TRUE(has(groups[1].sets[0], "sm__warps_active.sum"));
  // What every recording begins with: occupancy, coverage, instructions, DRAM both ways.
  const MetricSet& first = groups[0].sets[0];
  const bool gb20x = std::string_view(GetParam()).starts_with("GB20");
  for (const char* name : {"sm__warps_active.sum", "sm__inst_executed.sum",
                           gb20x ? "dram__bytes_op_read.sum" : "dram__bytes_read.sum",
                           gb20x ? "dram__bytes_op_write.sum" : "dram__bytes_write.sum"}) {
    EXPECT_TRUE(has(first, name)) << name;
  }
  for (const char* name : {"lts__t_sectors.sum", "l1tex__t_sectors.sum", "l1tex__t_sectors_lookup_hit.sum",
                           "sm__issue_active.sum"}) {
    EXPECT_TRUE(anyHas(sets, name)) << name;
  }
  for (const char* pipe : {"fma", "fp64", "alu"}) {
    if (gb20x && pipe == std::string_view("alu")) continue;  // takes two passes there, even alone
    EXPECT_TRUE(std::ranges::any_of(sets, [&](const MetricSet& s) {
      return std::ranges::any_of(s.columns,
                                 [&](const MetricColumn& c) { return c.name.find(pipe) != c.name.npos; });
    })) << pipe;
  }
}
INSTANTIATE_TEST_SUITE_P(Chips, RealChip,
                         testing::Values("GH100", "GB100", "GB202", "AD102", "GA102", "GA100", "TU102"),
                         [](const auto& chip) { return std::string(chip.param); });

// Pipes, L2 and L1 without another change of the hardware's setup.
TEST_F(RealCupti, SecondGroupOfH200HoldsPipesAndCaches) {
  CuptiMetricHost host(*cupti_, "GH100");
  const auto groups = buildGroups(host);
  ASSERT_GE(groups.size(), 2u);
  for (const char* part : {"pipe_tensor", "pipe_fma", "pipe_fp64", "pipe_alu", "lts__t_sectors_lookup_hit",
                           "l1tex__data_pipe"}) {
    EXPECT_TRUE(std::ranges::any_of(groups[1].sets, [&](const MetricSet& s) {
      return std::ranges::any_of(s.columns,
                                 [&](const MetricColumn& c) { return c.name.find(part) != c.name.npos; });
    })) << part;
  }
}

// They silence what is counted with them.
TEST_F(RealCupti, LinksAreCountedApartAndNvlinkOnlyWhereThereIsOne) {
  CuptiMetricHost host(*cupti_, "GH100");
  const auto counts = [](const MetricGroup& group, const char* part) {
    return std::ranges::any_of(group.asked(),
                               [&](const std::string& name) { return name.find(part) != name.npos; });
  };
  int groups = 0;
  for (const MetricGroup& group : buildGroups(host)) {
    if (!counts(group, "nvlrx__bytes") && !counts(group, "pcie__read_bytes")) continue;
    ++groups;
    EXPECT_EQ(group.sets.size(), 1u);
    for (const char* other : {"inst_", "pipe_", "lts__", "l1tex__", "issue_"})
      EXPECT_FALSE(counts(group, other)) << testing::PrintToString(group.asked());
  }
  EXPECT_EQ(groups, 2);
  for (const MetricGroup& group : buildGroups(host, false)) EXPECT_FALSE(counts(group, "nvl"));
}

TEST_F(RealCupti, UnknownMetricDoesNotSpoilTheNextQuestion) {
  CuptiMetricHost host(*cupti_, "GH100");
  EXPECT_FALSE(host.fitsOnePass({"sm__cycles_active.sum", "sm__no_such_thing.sum"}));
  EXPECT_TRUE(host.fitsOnePass({"sm__cycles_active.sum", "sm__warps_active.sum"}));
  EXPECT_FALSE(host.fitsOnePass(
      {"sm__cycles_active.sum", "sm__warps_active.sum", "l1tex__t_sectors.sum"}));  // two passes
}
TEST_F(RealCupti, UnknownChipsAreToldApart) {
  EXPECT_EQ(CuptiMetricHost(*cupti_, "XX999").check().code, 46);
  EXPECT_EQ(CuptiMetricHost(*cupti_, "GV100").check().code, 27);
}

TEST(Trigger, SystemClockOnlyWhereThereIsNoOther) {
  for (const char* chip : {"TU102", "TU117", "GA100"}) EXPECT_TRUE(usesSysclkTrigger(chip)) << chip;
  for (const char* chip : {"GA102", "GA107", "AD102", "GH100", "GB100", "GB202"})
    EXPECT_FALSE(usesSysclkTrigger(chip)) << chip;
}

}  // namespace
}  // namespace warpmeter::sampler
