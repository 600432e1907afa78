// SPDX-License-Identifier: Apache-2.0
// The real recorder with a sampler that behaves or does not: the recording is whole in any case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "collector/recorder/recorder_process.h"
#include "profile/scratch.h"

namespace warpmeter::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A program that runs for a second or so, recorded with counters.
class Sampled {
 public:
  explicit Sampled(const std::string& what, std::vector<std::string> more = {}, std::vector<std::string> environment = {},
                   std::uint64_t fileSizeLimit = 0)
      : recorder_(command(what, std::move(more), std::move(environment), fileSizeLimit)) {}
  void runUntilTold() { runUntil("told kernel"); }
  void runUntilStarted() { runUntil("environment"); }

  RecorderProcess& recorder() { return recorder_; }

  // The program runs until the sampler's log has a line that begins so, and a little longer.
  void runUntil(const std::string& begin, bool untilGone = false) {
    GuestProcess guest(recorder_.guest({"storm", "--pause-us", "2000"}));
    recorder_.appStarted(guest.pid());
    guest.waitForLine("ready 1");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto lines = log();
      if (std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); })) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (untilGone) awaitSamplersEnd(deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    kill(guest.pid(), SIGKILL);
    const GuestResult app = guest.wait();
    recorder_.appEnded(guest.pid(), app.waitStatus);
    finish();
  }
  void finish() {
    summary_ = recorder_.finish();
    ASSERT_TRUE(summary_.has_value());
    file_ = std::make_unique<Recorded>(recorder_.output());
    ASSERT_EQ(file_->error, "");
    auto reader = ProfileReader::open(recorder_.output());
    ASSERT_TRUE(reader.ok());
    const auto read = reader->readSamples([this](const SampleBatch& batch) { batches_.push_back(batch); });
    ASSERT_TRUE(read.ok()) << read.error().message;
    if (auto sets = reader->sampleSets()) sets_ = *sets;
    if (auto names = reader->gpuMetrics()) names_ = *names;
    ASSERT_TRUE(reader->read(RowRange{}, ProfileReader::Visit<GpuMetricRow>([this](auto rows, auto) {
                  rows_.insert(rows_.end(), rows.begin(), rows.end());
                })).ok());
  }

  const wire::Summary& summary() const { return *summary_; }
  const Recorded& file() const { return *file_; }
  const std::vector<SampleBatch>& batches() const { return batches_; }
  const std::vector<SampleSetInfo>& sets() const { return sets_; }
  const std::vector<GpuMetricInfo>& names() const { return names_; }
  const std::vector<GpuMetricRow>& rows() const { return rows_; }
  std::int64_t samples() const {
    std::int64_t n = 0;
    for (const SampleBatch& batch : batches_) n += static_cast<std::int64_t>(batch.samples());
    return n;
  }
  std::vector<std::string> log() const {
    std::ifstream in(logPath_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  std::string losses() const {
    std::string text;
    for (const LossInfo& loss : file_->losses) {
      if (loss.kind == "samples") text += loss.why + " (" + std::to_string(loss.count) + ")\n";
    }
    return text;
  }
  // Until the recorder has buried it.
  void awaitSamplersEnd(std::chrono::steady_clock::time_point deadline) const {
    pid_t pid = 0;
    for (const std::string& line : log()) {
      if (line.starts_with("pid ")) pid = static_cast<pid_t>(std::stol(line.substr(4)));
    }
    ASSERT_GT(pid, 0);
    while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  // What must hold whatever the sampler does.
  void expectTheRecordingIsWhole() const {
    EXPECT_GT(file_->kernels.size(), 50u);
    EXPECT_FALSE(file_->unfinished);
    for (const LossInfo& loss : file_->losses) EXPECT_THAT(loss.kind, testing::AnyOf("samples", "in_flight")) << loss.why;
  }

 private:
  RecorderCommand command(const std::string& what, std::vector<std::string> more, std::vector<std::string> environment,
                          std::uint64_t fileSizeLimit) const {
    RecorderCommand result;
    result.arguments = {"--counters", "sample", "--sampler", WARPMETER_FAKE_SAMPLER};
    result.arguments.insert(result.arguments.end(), more.begin(), more.end());
    result.environment = std::move(environment);
    result.environment.push_back("FAKE_SAMPLER=" + what);
    result.environment.push_back("FAKE_SAMPLER_LOG=" + logPath_.string());
    result.fileSizeLimit = fileSizeLimit;
    return result;
  }

  Scratch scratch_;
  std::filesystem::path logPath_ = scratch_ / "sampler.log";
  RecorderProcess recorder_;
  std::optional<wire::Summary> summary_;
  std::unique_ptr<Recorded> file_;
  std::vector<SampleBatch> batches_;
  std::vector<SampleSetInfo> sets_;
  std::vector<GpuMetricInfo> names_;
  std::vector<GpuMetricRow> rows_;
};

TEST(SamplerProcess, samplesComeIntoTheFile) {
  Sampled run("normal", {"--sampler-cpu", "0.25"}, {"CUDA_INJECTION64_PATH=/x.so", "CUDA_VISIBLE_DEVICES=1", "LD_PRELOAD="});
  run.runUntilTold();
  run.expectTheRecordingIsWhole();
  EXPECT_EQ(run.losses(), "");
  EXPECT_EQ(run.file().session.counters, "sampled");
  EXPECT_EQ(run.file().session.countersText, "");
  EXPECT_STREQ(run.summary().counters, "sampled");
  EXPECT_EQ(run.summary().samples, run.samples());
  ASSERT_EQ(run.sets().size(), 1u);
  EXPECT_EQ(run.sets()[0].gpuId, 0);
  EXPECT_EQ(run.sets()[0].chip, "GH100");
  EXPECT_THAT(run.sets()[0].metrics,
              testing::ElementsAre("sm__cycles_active.sum", "sm__cycles_elapsed.sum", "sm__warps_active.sum"));
  ASSERT_GE(run.batches().size(), 3u);
  // The clock of the file is that of the kernels.
  const auto& kernels = run.file().kernels;
  const auto [first, last] = std::minmax_element(kernels.begin(), kernels.end(),
                                                 [](const auto& a, const auto& b) { return a.start < b.start; });
  EXPECT_GT(run.batches().front().startNs, first->start);
  EXPECT_GT(run.batches().back().endNs.back(), last->start);
  for (const SampleBatch& batch : run.batches()) {
    ASSERT_EQ(batch.samples(), 100u);
    EXPECT_EQ(batch.intervalNs, 10'000);
    EXPECT_EQ(batch.values[1].front(), 20'000);
    EXPECT_EQ(batch.endNs.back() - batch.startNs, 1'000'000);
  }
  // What it was told, and how it was started.
  const auto log = run.log();
  EXPECT_THAT(log, Contains("argument --cpu"));
  EXPECT_THAT(log, Contains("argument 0.25"));
  EXPECT_THAT(log, Contains("argument --cupti"));
  EXPECT_THAT(log, Contains(HasSubstr("/lib/libcupti.so.13")));
  EXPECT_THAT(log, Contains("told gpu " + run.file().gpus.at(0).uuid));
  EXPECT_THAT(log, Contains("told kernel 2000"));  // fake_host's launches take 2 us
  EXPECT_EQ(log.back(), "told end");
  for (const std::string& line : log) {
    for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_VISIBLE_DEVICES", "WARPMETER_", "LD_PRELOAD"}) {
      EXPECT_THAT(line, Not(StartsWith(std::string("environment ") + name)));
    }
  }
  std::int64_t cost = -1;
  for (const SelfCostInfo& c : run.file().costs) cost = c.what == "sampler.cpu" ? c.ns : cost;
  EXPECT_GT(cost, 0);
}

TEST(SamplerProcess, otherReadersGetThinnedPercentages) {
  Sampled run("normal");
  run.runUntilTold();
  // No warps: how many an SM of the fake GPU can hold is known; no DRAM: it is not in the set.
  std::map<std::string, std::int64_t> ids;
  for (const GpuMetricInfo& name : run.names()) {
    EXPECT_EQ(name.typeId & 0xff, run.file().gpus.at(0).id);
    ids[name.metricName] = name.metricId;
  }
  ASSERT_EQ(ids.count("SMs Active [Throughput %]"), 1u);
  ASSERT_EQ(ids.count("Compute Warps in Flight [Throughput %]"), 1u);
  EXPECT_EQ(ids.size(), 2u);
  std::map<std::int64_t, std::int64_t> last, count;
  for (const GpuMetricRow& row : run.rows()) {
    const bool warps = row.metricId == ids["Compute Warps in Flight [Throughput %]"];
    const std::int64_t slots = run.file().gpus.at(0).maxWarpsPerSm;
    EXPECT_EQ(row.value, warps ? 1600 / slots : 50);
    if (count[row.metricId]++ > 0) {
      EXPECT_GE(row.timestamp - last[row.metricId], 1'000'000);
    }
    last[row.metricId] = row.timestamp;
  }
  EXPECT_GE(run.rows().size(), run.batches().size());  // two metrics, at least every second batch of a millisecond
}

TEST(SamplerProcess, sayWhyThereAreNone) {
  for (const std::string reason : {"no_permission", "counters_busy", "unsupported_chip"}) {
    Sampled run("unavailable:" + reason);
    run.runUntilStarted();
    run.expectTheRecordingIsWhole();
    EXPECT_EQ(run.file().session.counters, reason);
    EXPECT_EQ(run.file().session.countersText, "text of " + reason + " second line");
    EXPECT_EQ(run.summary().counters, reason);
    EXPECT_EQ(run.summary().samples, 0);
    EXPECT_EQ(run.losses(), "");
    EXPECT_THAT(run.sets(), IsEmpty());
  }
  Sampled run("unavailable:new_reason");  // not in the closed list
  run.runUntilStarted();
  EXPECT_EQ(run.file().session.counters, "not_recorded");
  EXPECT_EQ(run.file().session.countersText, "text of new_reason second line");
}

TEST(SamplerProcess, aSamplerThatCannotWorkIsSaid) {
  struct Case {
    std::string what, text;
  };
  for (const Case& c : {Case{"dies", "exit code 3"}, Case{"quits", "ended early (exit code 0)"},
                        Case{"garbage", "something that is no message"}}) {
    Sampled run(c.what);
    run.runUntilStarted();
    run.expectTheRecordingIsWhole();
    EXPECT_EQ(run.file().session.counters, "not_recorded") << c.what;
    EXPECT_THAT(run.file().session.countersText, HasSubstr(c.text));
    EXPECT_THAT(run.summary().countersText, HasSubstr(c.text));
  }
}

TEST(SamplerProcess, aMissingSamplerIsSaidByItsPath) {
  RecorderProcess recorder({.arguments = {"--counters", "sample", "--sampler", "/nonexistent/sampler"}});
  recorder.record({"normal", "--launches", "20000"});
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 20'000u);
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(summary->complete, 1u);
  // A run that is over before the recorder has looked has none started.
  EXPECT_THAT(file.session.counters, testing::AnyOf("not_recorded", "too_few_samples"));
  if (file.session.counters == "not_recorded") {
    EXPECT_THAT(file.session.countersText, HasSubstr("/nonexistent/sampler: No such file"));
  }
}

TEST(SamplerProcess, whatWasSampledStaysWhenItFailsLater) {
  struct Case {
    std::string what, text;
  };
  for (const Case& c : {Case{"crashes", "signal 11"}, Case{"truncated", "inside a message"},
                        Case{"closes", "closed its output"}, Case{"hangs", "did not end within 3 s"}}) {
    Sampled run(c.what);
    run.runUntil("told gpu", c.what != "hangs");
    run.expectTheRecordingIsWhole();
    EXPECT_EQ(run.file().session.counters, "sampled") << c.what;
    EXPECT_EQ(run.samples(), 100);
    EXPECT_THAT(run.file().session.countersText, HasSubstr(c.text));
    EXPECT_THAT(run.losses(), HasSubstr(c.text));
    EXPECT_EQ(run.summary().complete, run.file().losses.size() == 1 ? 1u : 0u) << "a hole between samples is no lost record";
  }
}

TEST(SamplerProcess, holesAreCounted) {
  Sampled run("overflow");
  run.runUntilTold();
  EXPECT_EQ(run.losses(), "the counters' buffer overflowed (2)\n");
  for (const LossInfo& loss : run.file().losses) {
    if (loss.kind != "samples") continue;
    EXPECT_GE(loss.toNs - loss.fromNs, 5'000'000);
    EXPECT_GT(loss.fromNs, 0);
  }
}

TEST(SamplerProcess, whatCannotBeRightIsLeftOut) {
  Sampled run("lies");
  run.runUntilTold();
  run.expectTheRecordingIsWhole();
  EXPECT_EQ(run.losses(), "messages of the sampler that cannot be right were left out (4)\n");
  EXPECT_EQ(run.file().session.counters, "sampled");
  EXPECT_EQ(run.samples() % 100, 0);
  ASSERT_EQ(run.sets().size(), 1u);
}

TEST(SamplerProcess, aGpuThatNobodyUsesIsNotInTheFile) {
  Sampled run("foreign");
  run.runUntilTold();
  run.expectTheRecordingIsWhole();
  EXPECT_EQ(run.file().gpus.size(), 1u);
  EXPECT_EQ(run.samples(), 0);
  EXPECT_EQ(run.file().session.counters, "too_few_samples");
}

TEST(SamplerProcess, aFloodIsCutToTheRateAndCounted) {
  Sampled run("floods");
  run.runUntilTold();
  run.expectTheRecordingIsWhole();
  EXPECT_THAT(run.losses(), HasSubstr("more samples came than are stored"));
  EXPECT_GE(run.samples(), 250'000);          // what a burst may be
  EXPECT_LT(run.samples(), 40 * 250'000 / 2);  // 1 MB for each 250 000
}

TEST(SamplerProcess, aFullDiskIsStillSurvived) {
  Sampled run("floods", {}, {}, 4 << 20);
  run.runUntil("told gpu");
  EXPECT_EQ(run.summary().complete, 0u);
  EXPECT_THAT(std::string(run.summary().firstLoss), HasSubstr("limit"));
  EXPECT_GT(run.file().kernels.size(), 0u);
}

TEST(SamplerProcess, captureRangesHoldForSamples) {
  RecorderProcess recorder({.arguments = {"--counters", "sample", "--sampler", WARPMETER_FAKE_SAMPLER, "--delay-ms", "3600000"},
                            .environment = {"FAKE_SAMPLER=normal"}});
  GuestProcess guest(recorder.guest({"storm", "--pause-us", "2000"}));
  recorder.appStarted(guest.pid());
  guest.waitForLine("ready 1");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(guest.pid(), SIGKILL);
  recorder.appEnded(guest.pid(), guest.wait().waitStatus);
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->kernels, 0);
  EXPECT_EQ(summary->samples, 0);
  EXPECT_STREQ(summary->counters, "too_few_samples");
}

TEST(SamplerProcess, nobodyIsStartedUnasked) {
  Scratch scratch;
  RecorderProcess recorder({.arguments = {"--sampler", WARPMETER_FAKE_SAMPLER, "--counters", "none"},
                            .environment = {"FAKE_SAMPLER_LOG=" + (scratch / "log").string()}});
  recorder.record({"normal", "--launches", "20000"});
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_STREQ(summary->counters, "not_requested");
  EXPECT_EQ(Recorded(recorder.output()).session.counters, "not_requested");
  EXPECT_FALSE(std::filesystem::exists(scratch / "log"));
}

}  // namespace
}  // namespace warpmeter::test
