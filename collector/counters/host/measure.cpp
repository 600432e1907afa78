// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "cupti_pm_device.h"
#include "gpu_session.h"

namespace warpmeter::sampler {
namespace {

using Call = CuptiPmDevice::Call;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kBurst{2};
constexpr std::size_t kRoom = 800;  // for a burst at 5 us

struct Outcome {
  PmStatus status;
  std::size_t samples = 0;
  std::int64_t intervalNs = 0;
  bool full = false, overflow = false;
};

class Measurement {
 public:
  Measurement(CuptiPmDevice& device, std::vector<MetricGroup> groups)
      : device_(device), groups_(std::move(groups)) {
    few_.sets.resize(1);
    few_.sets[0].columns = groups_[0].sets[0].columns;
    few_.sets[0].columns.resize(std::min<std::size_t>(3, few_.sets[0].columns.size()));
    // A hit rate needs the sectors before it; everything else stands alone.
    const MetricGroup& broad = groups_[std::min<std::size_t>(1, groups_.size() - 1)];
    whole_.sets.resize(1);
    for (const MetricSet& set : broad.sets) {
      for (const MetricColumn& c : set.columns) {
        const bool there = std::ranges::any_of(whole_.sets[0].columns,
                                               [&](const MetricColumn& w) { return w.asked == c.asked; });
        if (!there) whole_.sets[0].columns.push_back({c.asked, c.asked, -1});
      }
    }
    twelve_ = whole_;
    twelve_.sets[0].columns.resize(std::min<std::size_t>(12, twelve_.sets[0].columns.size()));
  }

  void run() {
    buffers();
    secondConfiguration();
    decoding();
    fullImage();
    manyBursts();
  }

 private:
  Outcome burst(const MetricSet& set, std::size_t room) {
    Outcome o;
    o.status = device_.prepare(set, room);
    if (o.status.ok()) o.status = device_.start();
    if (!o.status.ok()) return o;
    std::this_thread::sleep_for(kBurst);
    o.status = device_.stop();
    return o.status.ok() ? decode(set) : o;
  }

  Outcome decode(const MetricSet& set) {
    Outcome o;
    SampleBlock block;
    block.clear(set.columns.size());
    const DecodeResult d = device_.decode(block);
    o.status = d.status;
    o.samples = block.samples();
    o.full = d.full;
    o.overflow = d.overflow;
    if (o.samples > 1)
      o.intervalNs = (block.endNs.back() - block.endNs.front()) / static_cast<std::int64_t>(o.samples - 1);
    return o;
  }

  bool session(const MetricGroup& group, std::int64_t intervalNs, std::size_t bufferBytes) {
    PmStatus s = device_.open();
    if (s.ok()) s = device_.configure(group, intervalNs, bufferBytes);
    if (!s.ok()) fmt::print("{} failed with {}\n", s.call, s.code);
    return s.ok();
  }

  static std::string text(const Outcome& o) {
    return fmt::format("{} samples every {} ns{}{}{}", o.samples, o.intervalNs, o.full ? ", image full" : "",
                       o.overflow ? ", overflow" : "",
                       o.status.ok() ? "" : fmt::format(", {} failed with {}", o.status.call, o.status.code));
  }

  void buffers() {
    fmt::print(
        "\nms of each call, wall / CPU of the process; us for a sample (image: for a sample of its room)\n");
    fmt::print("{:>6} {:>8} {:>15} {:>15} {:>13} {:>13} {:>13} {:>7} {:>7} {:>7} {:>7}\n", "MiB", "counters",
               "SetConfig", "Disable", "DataSize", "Start", "Stop", "samples", "image", "decode", "eval");
    for (const std::size_t mib : {4, 16, 64, 128}) {
      for (const MetricGroup* group : {&std::as_const(few_), &groups_[0], &std::as_const(twelve_)}) {
        (void)device_.takeTimes();
        if (!session(*group, 5'000, mib * kMiB)) continue;
        Outcome last;
        for (int i = 0; i < 2 && last.status.ok(); ++i) last = burst(group->sets[0], kRoom);
        device_.close();
        const CuptiPmDevice::Times t = device_.takeTimes();
        const auto both = [&](Call call) {
          const CuptiPmDevice::Took& took = t.calls[call];
          return fmt::format("{:.2f} / {:.2f}", took.ms(),
                             static_cast<double>(took.cpuNs) * 1e-6 /
                                 static_cast<double>(std::max<std::int64_t>(1, took.calls)));
        };
        const double samples = static_cast<double>(std::max<std::int64_t>(1, t.samples));
        fmt::print("{:>6} {:>8} {:>15} {:>15} {:>13} {:>13} {:>13} {:>7} {:>7.2f} {:>7.2f} {:>7.2f}{}\n", mib,
                   group->asked().size(), both(Call::kSetConfig), both(Call::kDisable), both(Call::kDataSize),
                   both(Call::kStart), both(Call::kStop), t.samples,
                   t.calls[Call::kInitialize].ms() * 1e3 / static_cast<double>(kRoom),
                   static_cast<double>(t.calls[Call::kDecode].ns) * 1e-3 / samples,
                   static_cast<double>(t.calls[Call::kEvaluate].ns) * 1e-3 / samples,
                   last.overflow || !last.status.ok() ? "  " + text(last) : "");
      }
    }
  }

  // Does a session take a second configuration?
  void secondConfiguration() {
    fmt::print("\nsecond configuration of one session\n");
    const MetricSet& core = groups_[0].sets[0];
    if (!session(groups_[0], 20'000, 16 * kMiB)) return;
    fmt::print("  first, 20 us: {}\n", text(burst(core, kRoom)));
    const auto again = [&](const char* what, const MetricGroup& group, const MetricSet& set,
                           std::int64_t ns) {
      (void)device_.takeTimes();
      const PmStatus s = device_.configure(group, ns, 16 * kMiB);
      const double ms = device_.takeTimes().calls[Call::kSetConfig].ms();
      fmt::print("  {}: SetConfig {} in {:.2f} ms, {}\n", what, s.code, ms, text(burst(set, kRoom)));
    };
    again("the same counters, 5 us", groups_[0], core, 5'000);
    again("other counters, 20 us", twelve_, twelve_.sets[0], 20'000);
    device_.close();
  }

  // One configuration of many counters, read in parts: does reading less cost less?
  void decoding() {
    for (const MetricGroup* group : {&groups_[0], &groups_[std::min<std::size_t>(1, groups_.size() - 1)]}) {
      fmt::print("\n{} counters in one configuration, 5 us, us for a sample\n", group->asked().size());
      (void)device_.takeTimes();
      if (!session(*group, 5'000, 64 * kMiB)) continue;
      std::vector<const MetricSet*> sets;
      for (const MetricSet& set : group->sets) sets.push_back(&set);
      if (group != groups_.data()) sets.push_back(&whole_.sets[0]);
      for (const MetricSet* set : sets) {
        Outcome last;
        (void)device_.takeTimes();
        for (int i = 0; i < 3; ++i) last = burst(*set, kRoom);
        const CuptiPmDevice::Times t = device_.takeTimes();
        const double samples = static_cast<double>(std::max<std::int64_t>(1, t.samples));
        fmt::print("  {:>2} of them: image {:.2f}, decode {:.2f}, evaluate {:.2f}; {:.1f} KB a sample; {}\n",
                   set->columns.size(), t.calls[Call::kInitialize].ms() * 1e3 / static_cast<double>(kRoom),
                   static_cast<double>(t.calls[Call::kDecode].ns) * 1e-3 / samples,
                   static_cast<double>(t.calls[Call::kEvaluate].ns) * 1e-3 / samples,
                   static_cast<double>(device_.imageBytes()) / (1.125e3 * static_cast<double>(kRoom)),
                   text(last));
      }
      device_.close();
    }
  }

  // What becomes of the samples that an image has no room for?
  void fullImage() {
    fmt::print("\nroom for 56 samples only\n");
    const MetricSet& core = groups_[0].sets[0];
    if (!session(groups_[0], 5'000, 16 * kMiB)) return;
    fmt::print("  first decoding: {}\n", text(burst(core, 50)));
    fmt::print("  second decoding: {}\n", text(decode(core)));
    fmt::print("  third decoding: {}\n", text(decode(core)));
    fmt::print("  next burst: {}\n", text(burst(core, kRoom)));
    device_.close();
  }

  // Is the hardware buffer free again after each burst?
  void manyBursts() {
    for (const std::int64_t interval : {1'000, 2'000, 5'000}) {
      const MetricGroup& group = interval == 1'000 ? few_ : groups_[0];
      const MetricSet& set = group.sets[0];
      if (!session(group, interval, 4 * kMiB)) return;
      int bursts = 0;
      std::size_t samples = 0;
      Outcome last;
      const auto begun = std::chrono::steady_clock::now();
      while (last.status.ok() && !last.overflow &&
             std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(500)) {
        last = burst(set, static_cast<std::size_t>(4'000'000 / interval));
        ++bursts;
        samples += last.samples;
      }
      fmt::print("\n4 MiB, {} counters, {} ns: {} bursts, {} samples, last: {}\n", group.asked().size(),
                 interval, bursts, samples, text(last));
      device_.close();
    }
  }

  CuptiPmDevice& device_;
  const std::vector<MetricGroup> groups_;
  MetricGroup few_, twelve_, whole_;
};

}  // namespace

int measureMain(const Options& options) {
  const Cupti cupti = loadCupti(options.cupti);
  std::string problem = cupti.problem, chip;
  GpuList list;
  if (problem.empty()) list = listGpus();
  if (problem.empty()) problem = list.problem;
  if (problem.empty() && !initializeProfiler(cupti).ok()) problem = "cuptiProfilerInitialize failed";
  if (problem.empty()) {
    if (const auto why = findChip(cupti, list.gpus.front(), chip)) problem = why->text;
  }
  if (!problem.empty()) {
    fmt::print(stderr, "warpmeter-sampler: {}\n", problem);
    return 1;
  }
  CuptiMetricHost host(cupti, chip);
  std::vector<MetricGroup> groups = buildGroups(host);
  if (groups.empty()) {
    fmt::print(stderr, "warpmeter-sampler: {} has no counters to measure with\n", chip);
    return 1;
  }
  CuptiPmDevice device(cupti, list.gpus.front(), chip, false);
  Measurement(device, std::move(groups)).run();
  std::fflush(stdout);
  _exit(0);  // not through the driver's exit handlers
}

}  // namespace warpmeter::sampler
