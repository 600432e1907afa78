// SPDX-License-Identifier: Apache-2.0
// What every variant of the bundled programs says of itself (--describe) against recordings of it, made on an
// H200: tests/data/kernels/PROGRAM.VARIANT.wm.sqlite (scripts/gpu/record_references.py) and
// tests/data/counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/bound_profile.h"
#include "support/recordings.h"
#include "support/view_of.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/kernel_summary.h"

namespace warpmeter::analyzer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using support::must;
using ::testing::HasSubstr;

constexpr std::string_view kSuffix = ".wm.sqlite";
constexpr std::uintmax_t kMostBytes = 6'000'000;  // of all files together

struct Recorded {
  std::string program, variant;
  fs::path file;
};
void PrintTo(const Recorded& r, std::ostream* out) { *out << r.program << "." << r.variant; }

Recorded recordedIn(const fs::path& file, const std::string& name) {
  const auto dot = name.find('.');
  return {name.substr(0, dot), name.substr(dot + 1), file};
}

std::vector<Recorded> referenceRecordings() {
  std::vector<Recorded> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(tests::recordingsFolder() / "../kernels", none)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kSuffix))
      out.push_back(recordedIn(entry.path(), name.substr(0, name.size() - kSuffix.size())));
  }
  std::ranges::sort(out, {}, &Recorded::file);
  return out;
}

// What the program of this build says of itself; null: it is not there.
Json description(const std::string& program) {
  const auto path = fs::path(WARPMETER_KERNELS_FOLDER) / program;
  if (!fs::exists(path)) return nullptr;
  std::FILE* pipe = popen(("'" + path.string() + "' --describe --json").c_str(), "r");
  if (!pipe) return nullptr;
  std::string text;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  return pclose(pipe) == 0 ? Json::parse(text, nullptr, false) : Json(nullptr);
}

std::string textIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

// The longest running kernel of those that the program names; of all where it names none of them (a
// library's).
const DistinctSummary* mainKernel(const KernelSummary& kernels, const Json& program) {
  const auto names = program["kernels"].get<std::set<std::string>>();
  for (const bool named : {true, false})
    for (const FunctionSummary& f : kernels.functions)
      if (!f.distinct.empty() && (!named || names.contains(f.shortName))) return &f.distinct.front();
  return nullptr;
}

enum class Check { limiterAndBound, limiter };

// Where the recording shows something else than the program says; one line each.
std::string complaints(const ProfileView& view, const Json& program, const std::string& variantName,
                       Check check = Check::limiterAndBound) {
  const auto& variants = program["variants"];
  const auto variant =
      std::ranges::find_if(variants, [&](const Json& v) { return textIn(v, "name") == variantName; });
  if (variant == variants.end()) return "the program has no variant " + variantName + "\n";
  const auto limiter = textIn(*variant, "limiter"), bound = textIn(*variant, "bound");
  const KernelSummary kernels = must(summarizeKernels(view));
  const CounterSummary counters = must(summarizeCounters(view));
  const BoundSummary bounds = boundsOf(view, kernels, counters);
  const DistinctSummary* kernel = mainKernel(kernels, program);
  if (!kernel) return limiter.empty() && bound.empty() ? "" : "the recording holds no kernel\n";
  std::string out;
  if (!limiter.empty()) {
    std::string found;
    bool holds = false;
    if (kernel->occupancy)
      for (const Limiter l : kernel->occupancy->limiters) {
        found += " " + std::string(named(l).id);
        holds = holds || named(l).id == limiter;
      }
    if (!holds) out += "limiter: says " + limiter + ", is" + (found.empty() ? " not known" : found) + "\n";
  }
  if (bound.empty()) {
    std::printf("%s: no bound to expect\n", variantName.c_str());
  } else if (check == Check::limiterAndBound) {
    const auto at = std::ranges::find(counters.kernels, kernel->distinct, &KernelCounters::distinct);
    const KernelBound found = at == counters.kernels.end()
                                  ? KernelBound{}
                                  : bounds.kernels[static_cast<std::size_t>(at - counters.kernels.begin())];
    if (named(found.bound).id != bound)
      out += "bound: says " + bound + ", is " + std::string(named(found.bound).id) + " (" + found.why + ")\n";
  }
  return out;
}

#define SKIP_WITHOUT_KERNELS() \
  if (!WARPMETER_HAS_KERNELS) GTEST_SKIP() << "this build has no bundled programs that could be asked"

class EveryVariant : public testing::TestWithParam<Recorded> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryVariant);

TEST_P(EveryVariant, ShowsTheLimiterAndTheBoundThatItSays) {
  SKIP_WITHOUT_KERNELS();
  const Json program = description(GetParam().program);
  ASSERT_TRUE(program.is_object()) << "no program " << GetParam().program << " in "
                                   << WARPMETER_KERNELS_FOLDER;
  EXPECT_EQ(complaints(support::viewOfFile(GetParam().file), program, GetParam().variant), "");
}
INSTANTIATE_TEST_SUITE_P(Recorded, EveryVariant, testing::ValuesIn(referenceRecordings()),
                         [](const auto& test) {
                           std::string name = test.param.program + "_" + test.param.variant;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return name;
                         });

TEST(ReferenceRecordings, AreSmall) {
  std::uintmax_t bytes = 0;
  for (const Recorded& r : referenceRecordings()) bytes += fs::file_size(r.file);
  EXPECT_LE(bytes, kMostBytes);
}

// The older recordings: of one second each, in which the pipes were hardly sampled. Bounds are held against
// those that such a run can prove, limiters against all.
TEST(ReferenceRecordings, OldOnesShowWhatTheProgramsSay) {
  SKIP_WITHOUT_KERNELS();
  const std::set<std::string> proven = {"copy.vector",          "small_grid.small",
                                        "latency.one-warp",     "exact.transpose.padded",
                                        "exact.reduce.shuffle", "exact.fma.fp64"};
  std::size_t checked = 0;
  for (const auto& entry : fs::directory_iterator(tests::recordingsFolder() / "../counters")) {
    const std::string packed = entry.path().filename();
    const auto end = packed.find(kSuffix);
    const std::string recording = packed.substr(0, end);
    if (end == std::string::npos || recording == "shared") continue;
    SCOPED_TRACE(recording);
    const auto r = recordedIn({}, recording.starts_with("exact.") ? recording.substr(6) : recording);
    const Json program = description(r.program);
    ASSERT_TRUE(program.is_object()) << "no program " << r.program << " in " << WARPMETER_KERNELS_FOLDER;
    const tests::UnpackedRecording file("../counters/" + recording);
    const auto check = proven.contains(recording) ? Check::limiterAndBound : Check::limiter;
    EXPECT_EQ(complaints(file.view(), program, r.variant, check), "");
    ++checked;
  }
  EXPECT_EQ(checked, 11u);
}

// The check itself: a recording that shows something else is one.
TEST(ReferenceRecordings, AWrongDescriptionIsFound) {
  const auto view = support::viewOf(support::dramBoundProfile("saxpyKernel"));
  const auto says = [](const char* limiter, const char* bound) {
    return Json{{"kernels", {"saxpyKernel"}},
                {"variants", {{{"name", "element"}, {"limiter", limiter}, {"bound", bound}}}}};
  };
  EXPECT_EQ(complaints(view, says("registers", "dram"), "element"), "");
  EXPECT_EQ(complaints(view, says("", ""), "element"), "") << "nothing to expect";
  EXPECT_THAT(complaints(view, says("registers", "fp32"), "element"), HasSubstr("bound: says fp32, is dram"));
  EXPECT_THAT(complaints(view, says("grid", "dram"), "element"),
              HasSubstr("limiter: says grid, is registers"));
  EXPECT_THAT(complaints(view, says("registers", "dram"), "other"), HasSubstr("no variant other"));
  const auto empty = support::viewOf("gpu 0 name=\"NVIDIA H200\" cc=9.0 sms=132\n");
  EXPECT_THAT(complaints(empty, says("registers", "dram"), "element"), HasSubstr("holds no kernel"));
  const auto uncounted = support::viewOf(
      "gpu 0 name=\"NVIDIA H200\" cc=9.0 sms=132\nkernel 1 saxpyKernel 0..40us grid=65536 block=256 "
      "regs=64\n");
  EXPECT_THAT(complaints(uncounted, says("registers", "dram"), "element"),
              HasSubstr("bound: says dram, is not_measured"));
}

// Another kernel may run longer: a check against the CPU, a library's.
TEST(ReferenceRecordings, TheProgramsOwnKernelIsTheOneThatCounts) {
  auto text = support::dramBoundProfile("saxpyKernel") +
              "kernel 1 other 100ms..900ms corr=9 grid=1 block=32 regs=16\n";
  const auto view = support::viewOf(text);
  const Json program{{"kernels", {"saxpyKernel"}},
                     {"variants", {{{"name", "element"}, {"limiter", "registers"}, {"bound", "dram"}}}}};
  EXPECT_EQ(complaints(view, program, "element"), "");
}

}  // namespace
}  // namespace warpmeter::analyzer
