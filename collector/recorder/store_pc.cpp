// SPDX-License-Identifier: Apache-2.0
// PC sampling: WM_PC and WM_PC_RUN when a process is at its end, what it cost, and why there is less than was
// asked for.
#include <fmt/format.h>

#include "helper_process.h"
#include "proc_info.h"
#include "sampler_process.h"
#include "store.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kLookUpTimeoutNs = 60'000'000'000;

std::string percent(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

void Store::watchPc(ProcessState& state) {
  state.own().onPcBatch = [this, &state](std::span<const std::byte> record) {
    wire::OwnHeader header{};
    std::memcpy(&header, record.data(), sizeof header);
    const std::int64_t t = state.context().ownTime(header.t);
    const bool stored = !capture_.active() || capture_.overlaps(t, t);
    if (!pc_.takeBatch(state.context(), record, stored))
      state.context().countLoss(loss::kInvalid, "records of PC sampling could not be read", 1, t);
  };
  state.own().onCubin = [this, &state](std::span<const std::byte> record) {
    if (!pc_.takeImage(state.context(), record))
      state.context().countLoss(loss::kInvalid, "records of code could not be read", 1);
  };
}

// At the exit of a process, which waits for it, and again when it is gone, for what came in between.
void Store::writePc(ProcessState& state) {
  const std::int64_t pid = state.context().globalPid().value;
  const auto lookUp = [this, &state](int requests) -> Result<std::vector<std::byte>> {
    std::vector<std::string> words = {options_.sampler.empty() ? samplerPath() : options_.sampler,
                                      "--source-lines"};
    if (const std::string path = state.memory().cuptiPath(); path.starts_with('/'))
      words.insert(words.end(), {"--cupti", path});
    HelperProcess helper;
    if (!helper.start(std::move(words), requests) || !helper.wait(kLookUpTimeoutNs) || !helper.succeeded())
      return Error{ErrorKind::io, "source lines could not be looked up: " + helper.problem()};
    return helper.output();
  };
  const PcIntake::Rows rows = pc_.takeRows(pid, lookUp);
  if (!rows.problem.empty()) pcProblem_ = rows.problem;
  const PcIntake::Costs costs = pc_.takeCosts(pid);
  if (full_.load(std::memory_order_relaxed)) return;
  if (!rows.samples.empty()) check(writer_.append(std::span<const PcSamples>(rows.samples)));
  if (!rows.runs.empty()) check(writer_.append(std::span<const PcRun>(rows.runs)));
  if (costs.setups + costs.flushes + costs.reads == 0) return;
  const SelfCostRow all[] = {{pid, session_.intern("guest.pc_setup"), costs.setupNs, costs.setups},
                             {pid, session_.intern("guest.pc_flush"), costs.flushNs, costs.flushes},
                             {pid, session_.intern("guest.pc_read"), costs.readNs, costs.reads},
                             {pid, session_.intern("guest.pc_names"), kNull, costs.names}};
  pcCostNs_ += costs.setupNs + costs.flushNs;
  check(writer_.append(std::span<const SelfCostRow>(all)));
  dirty_ = true;
}

void Store::finishPc() {
  if (!options_.pcCounters) return;
  const PcIntake::Totals totals = pc_.totals();
  std::string text;
  const auto say = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (totals.inInstructions > 0) {
    std::string first = fmt::format("{} samples in {} function{}", totals.inInstructions, totals.functions,
                                    totals.functions == 1 ? "" : "s");
    if (!isNull(totals.periodCycles)) first += fmt::format(", one every {} cycles", totals.periodCycles);
    say(first);
    say(totals.lines > 0 ? "with source lines" : "no source lines (compile with -lineinfo for them)");
    if (totals.otherKernels > 0)
      say(percent(totals.otherKernels, totals.samples) + " of all in kernels that are not the application's");
    if (totals.dropped > 0) say(percent(totals.dropped, totals.samples) + " dropped by the hardware");
  }
  if (!pcProblem_.empty()) say(pcProblem_);
  if (!totals.text.empty()) say(totals.text);
  if (text.empty()) say("no kernel ran long enough to be sampled");
  sessionInfo_.counters = totals.inInstructions > 0 ? "pc"
                          : totals.reason.empty()   ? "not_recorded"
                                                    : totals.reason;
  sessionInfo_.countersText = "PC sampling: " + text;
}

}  // namespace warpmeter::recorder
