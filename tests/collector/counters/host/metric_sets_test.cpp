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
  const auto sets = buildSets(chip);
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
  const auto sets = buildSets(chip);
  EXPECT_FALSE(anyHas(sets, "sm__pipe_fma_cycles_active.sum"));
  EXPECT_TRUE(anyHas(sets, "TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime.sum"));
}

TEST(MetricSets, WithoutOccupancyOnlyWhereTheChipCannot) {
  MadeUpChip chip;
  chip.exclusive = {{"sm__warps_active.sum", "l1tex__t_sectors.sum"}};
  for (const auto& set : buildSets(chip)) {
    EXPECT_EQ(set.columns.front().name, "sm__cycles_active.sum");
    EXPECT_EQ(has(set, "sm__warps_active.sum"), !has(set, "l1tex__t_sectors.sum"));
  }
}

TEST(MetricSets, HitsAreMadeOfARateWhereNobodyCountsThem) {
  MadeUpChip chip;
  chip.unknown = {"lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_hit_realtime.sum"};
  for (const auto& set : buildSets(chip)) {
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
  EXPECT_TRUE(buildFirstSet(chip).columns.empty());
  EXPECT_TRUE(buildSets(chip).empty());
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
  const auto sets = buildSets(host);
  ASSERT_GE(sets.size(), 10u);
  EXPECT_EQ(namesOf(sets.front()), namesOf(buildFirstSet(host)));
  std::set<std::vector<std::string>> different;
  int fine = 0, coarse = 0;
  for (const MetricSet& set : sets) {
    std::vector<std::string> asked;
    for (const MetricColumn& c : set.columns) asked.push_back(c.asked);
    EXPECT_TRUE(host.fitsOnePass(asked)) << asked.back();
    EXPECT_EQ(set.columns.front().name, "sm__cycles_active.sum");
    EXPECT_TRUE(different.insert(namesOf(set)).second);
    EXPECT_GT(set.fineWeight + set.coarseWeight, 0);
    EXPECT_LE(set.columns.size(), set.minIntervalNs < kManyColumnsNs ? kFineColumns : kCoarseColumns);
    EXPECT_TRUE(set.coarseWeight == 0 || has(set, "sm__cycles_elapsed.sum"));
    fine += set.minIntervalNs < kManyColumnsNs;
    coarse += set.coarseWeight > 0;
  }
  EXPECT_GE(fine, 6);
  EXPECT_GE(coarse, 5);
  // The most valuable coarse set: occupancy, coverage, instructions, DRAM both ways.
  const auto first = std::ranges::find_if(sets, [](const MetricSet& s) { return s.coarseWeight > 0; });
  ASSERT_NE(first, sets.end());
  const bool gb20x = std::string_view(GetParam()).starts_with("GB20");
  for (const char* name : {"sm__warps_active.sum", "sm__inst_executed.sum",
                           gb20x ? "dram__bytes_op_read.sum" : "dram__bytes_read.sum",
                           gb20x ? "dram__bytes_op_write.sum" : "dram__bytes_write.sum"}) {
    EXPECT_TRUE(has(*first, name)) << name;
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
