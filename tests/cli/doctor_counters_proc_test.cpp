// SPDX-License-Identifier: Apache-2.0
// doctor's line about counters, with programs that answer in place of the sampler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/counters_probe.h"
#include "program.h"

namespace warpmeter::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DoctorCounters : public ::testing::Test {
 protected:
  CountersProbe answered(const std::string& script) {
    const Installation where{program_.tree()};
    std::ofstream(where.sampler()) << "#!/bin/sh\n[ \"$1\" = --probe ] || exit 9\n" << script;
    std::filesystem::permissions(where.sampler(), std::filesystem::perms::owner_all);
    return probeCounters(where);
  }
  testing::Program program_;
};

// One answer of the sampler as a line of a shell script; quotes of JSON are written as ^.
std::string line(std::string json) {
  std::replace(json.begin(), json.end(), '^', '"');
  return "echo '" + json + "'\n";
}
const std::string kGood = line(
    "{^uuid^:^u1^,^chip^:^GH100^,^available^:true,^reason^:null,^text^:null,^sets^:[[^a.sum^],[^b.sum^]]}");
const std::string kForbidden = line(
    "{^uuid^:^u2^,^chip^:^GH100^,^available^:false,^reason^:^no_permission^,^text^:^not permitted for this "
    "user (CUPTI "
    "35): run as root, or on the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
    "/etc/modprobe.d/nvidia.conf, then reload the driver; container: --cap-add SYS_ADMIN^,^sets^:[]}");

TEST_F(DoctorCounters, PermittedOnEveryGpuIsOneGoodLine) {
  const auto rows = countersRows(answered(kGood + kGood));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].health, Health::ok);
  EXPECT_EQ(rows[0].text, "permitted, occupancy and bound are measured (2 sets of metrics on GH100)");
  EXPECT_TRUE(rows[0].remedy.empty());
}

TEST_F(DoctorCounters, NotPermittedNamesTheConsequenceAndTheRemedy) {
  const auto rows = countersRows(answered(kForbidden));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].health, Health::warn);
  EXPECT_EQ(rows[0].text,
            "not permitted for this user (CUPTI 35): occupancy and bound will be \"not measured\"");
  EXPECT_THAT(rows[0].remedy, ElementsAre(HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"),
                                          HasSubstr("--cap-add SYS_ADMIN")));
}

TEST_F(DoctorCounters, GpusThatDifferGetALineEach) {
  const auto rows = countersRows(answered(kGood + kForbidden + kForbidden));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].text, HasSubstr("1 of 3 GPUs: permitted"));
  EXPECT_THAT(rows[1].text, HasSubstr("2 of 3 GPUs: not permitted"));
}

TEST_F(DoctorCounters, AReasonWithoutATextIsNamed) {
  const auto rows = countersRows(answered(line("{^uuid^:^u^,^available^:false,^reason^:^counters_busy^}")));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].text, HasSubstr("another tool holds the counters"));
}

TEST_F(DoctorCounters, ASamplerThatFailsIsAWarningAndNoVerdict) {
  const auto crashed = countersRows(answered("echo 'libcuda is broken' >&2\nkill -9 $$\n"));
  ASSERT_EQ(crashed.size(), 1u);
  EXPECT_EQ(crashed[0].health, Health::warn);
  EXPECT_THAT(crashed[0].text, HasSubstr("ended with 137: libcuda is broken"));
  const auto nonsense = countersRows(answered("echo 'all fine'\n"));
  EXPECT_EQ(nonsense.at(0).health, Health::warn);
  const auto half = countersRows(answered(line("{^uuid^:^u^,^available^:^yes^}")));
  EXPECT_EQ(half.at(0).health, Health::warn) << "only true is true";
}

TEST_F(DoctorCounters, WithoutASamplerNothingIsPromised) {
  const auto rows = countersRows(probeCounters(Installation{program_.tree()}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].health, Health::warn);
  EXPECT_THAT(rows[0].text, HasSubstr("no counter sampler"));
}

}  // namespace
}  // namespace warpmeter::cli
