// SPDX-License-Identifier: Apache-2.0
// Exact mode's configurations: the packing on an invented chip, and what CUPTI's host library says for real
// ones.
#include "range_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

#include "cupti_library.h"
#include "range_host.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::sampler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A chip that counts `room` metrics in a pass, fma cycles only beside at most one other, and lacks some
// names.
class InventedChip : public PassCounter {
 public:
  explicit InventedChip(std::size_t room, std::set<std::string> missing = {})
      : room_(room), missing_(std::move(missing)) {}
  bool fitsOnePass(const std::vector<std::string>& metrics) override {
    ++questions;
    bool fma = false;
    for (const std::string& name : metrics) {
      if (missing_.contains(name)) return false;
      fma = fma || name == "sm__pipe_fma_cycles_active.sum";
    }
    return metrics.size() <= (fma ? 2 : room_);
  }
  int questions = 0;

 private:
  std::size_t room_;
  std::set<std::string> missing_;
};

std::size_t count(const std::vector<std::vector<std::string>>& sets, const std::string& name) {
  std::size_t n = 0;
  for (const auto& set : sets) n += static_cast<std::size_t>(std::ranges::count(set, name));
  return n;
}

TEST(RangeConfigurations, PacksInTheOrderOfValue) {
  InventedChip chip(8);
  const auto sets = rangeConfigurations(MetricChoice::basic, chip);
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0][0], "sm__cycles_active.sum");
  EXPECT_EQ(sets[0][1], "sm__warps_active.sum");
  EXPECT_THAT(sets[0], Contains("dram__bytes_write.sum"));
  EXPECT_THAT(sets[0], Contains("sm__pipe_tensor_cycles_active.sum"));
  // Its better name has a configuration of its own although the other name would have fitted into the first.
  EXPECT_THAT(sets[1], ElementsAre("sm__cycles_active.sum", "sm__pipe_fma_cycles_active.sum"));
  EXPECT_EQ(count(sets, "sm__inst_executed_pipe_fma.sum"), 0u);
  for (const auto& set : sets) {
    EXPECT_EQ(std::set<std::string>(set.begin(), set.end()).size(), set.size());
    EXPECT_TRUE(chip.fitsOnePass(set));
  }
}

TEST(RangeConfigurations, WhatTheChipLacksIsReplacedOrLeftOut) {
  InventedChip chip(30, {"dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__t_sectors.sum"});
  const auto sets = rangeConfigurations(MetricChoice::basic, chip);
  EXPECT_THAT(sets[0], Contains("dram__bytes_op_read.sum"));
  EXPECT_THAT(sets[0], Contains("dram__bytes_op_write.sum"));
  EXPECT_EQ(count(sets, "l1tex__t_sectors.sum"), 0u);
  EXPECT_EQ(count(sets, "l1tex__t_sectors_lookup_hit.sum"), 1u);
}

TEST(RangeConfigurations, NothingWithoutActiveWarps) {
  InventedChip lacking(30, {"sm__warps_active.sum"});
  EXPECT_THAT(rangeConfigurations(MetricChoice::basic, lacking), IsEmpty());
  InventedChip narrow(1);
  EXPECT_THAT(rangeConfigurations(MetricChoice::full, narrow), IsEmpty());
}

TEST(RangeConfigurations, FullAddsConfigurationsAndKeepsTheFirstOnes) {
  InventedChip a(8), b(8);
  const auto basic = rangeConfigurations(MetricChoice::basic, a),
             full = rangeConfigurations(MetricChoice::full, b);
  EXPECT_GT(full.size(), basic.size());
  EXPECT_LE(full.size(), wire::kMaxConfigurations);
  for (const auto& set : basic) {
    for (const std::string& name : set) EXPECT_GE(count(full, name), 1u) << name;
  }
  EXPECT_EQ(count(full, "smsp__warps_issue_stalled_long_scoreboard.sum"), 1u);
  EXPECT_LT(b.questions, 400);
}

class RealRangeChip : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "CUPTI opens libnvperf_host with RTLD_DEEPBIND, which the address sanitizer refuses";
#endif
    static const Cupti* const kCupti = new Cupti(loadCupti(""));
    cupti_ = kCupti;
    if (!cupti_->problem.empty()) GTEST_SKIP() << cupti_->problem;
  }
  const Cupti* cupti_ = nullptr;
};

class Passes : public PassCounter {
 public:
  Passes(const Cupti& cupti, std::string chip) : cupti_(cupti), chip_(std::move(chip)) {}
  bool fitsOnePass(const std::vector<std::string>& metrics) override {
    RangeHost host(cupti_);
    std::vector<std::uint8_t> image;
    std::size_t passes = 0;
    return host.create(chip_, metrics) == 0 && host.image(image) == 0 && host.passes(image, passes) == 0 &&
           passes == 1;
  }

 private:
  const Cupti& cupti_;
  std::string chip_;
};

TEST_P(RealRangeChip, BasicHoldsEverythingInThreeConfigurations) {
  Passes passes(*cupti_, GetParam());
  const auto sets = rangeConfigurations(MetricChoice::basic, passes);
  ASSERT_GE(sets.size(), 1u);
  EXPECT_LE(sets.size(), kBasicConfigurations);
  for (const auto& set : sets) EXPECT_TRUE(passes.fitsOnePass(set));
  const auto any = [&](std::initializer_list<const char*> names) {
    std::size_t n = 0;
    for (const char* name : names) n += count(sets, name);
    return n > 0;
  };
  EXPECT_TRUE(any({"dram__bytes_read.sum", "dram__bytes_op_read.sum"}));
  EXPECT_TRUE(any({"dram__bytes_write.sum", "dram__bytes_op_write.sum"}));
  EXPECT_TRUE(any({"sm__inst_executed.sum"}));
  EXPECT_TRUE(any({"sm__pipe_tensor_cycles_active.sum", "sm__inst_executed_pipe_tensor.sum"}));
  EXPECT_TRUE(any({"sm__pipe_fma_cycles_active.sum", "sm__inst_executed_pipe_fma.sum"}));
  EXPECT_TRUE(any({"sm__pipe_fp64_cycles_active.sum", "sm__inst_executed_pipe_fp64.sum"}));
  EXPECT_TRUE(any({"sm__pipe_alu_cycles_active.sum", "sm__inst_executed_pipe_alu.sum"}));
  EXPECT_TRUE(any({"sm__issue_active.sum", "smsp__issue_active.sum"}));
  for (const char* name : {"lts__t_sectors.sum", "lts__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum",
                           "l1tex__t_sectors_lookup_hit.sum"}) {
    EXPECT_EQ(count(sets, name), 1u) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Chips, RealRangeChip,
                         testing::Values("GH100", "GB100", "GB202", "AD102", "GA102", "GA100", "TU102"),
                         [](const auto& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace warpmeter::sampler
