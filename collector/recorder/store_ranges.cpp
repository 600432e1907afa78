// SPDX-License-Identifier: Apache-2.0
// Exact mode on its way into the file: WM_RANGED, what it cost, and why there is less than was asked for.
#include <fmt/format.h>

#include <algorithm>

#include "helper_process.h"
#include "proc_info.h"
#include "sampler_process.h"
#include "store.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kEvaluateTimeoutNs = 60'000'000'000;
constexpr char kRanged[] = "ranged", kNotRecorded[] = "not_recorded";
// The closed list of analyzer/names.h, as far as a guest may give a reason.
constexpr const char* kReasons[] = {"no_permission", "counters_busy", "unsupported_chip", "not_requested",
                                    kNotRecorded};

std::string bounded(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

std::string reasonOf(const wire::ExactArea& area) {
  const std::string reason = bounded(area.reason, sizeof area.reason);
  const bool known = std::ranges::any_of(kReasons, [&](const char* id) { return reason == id; });
  return known ? reason : kNotRecorded;
}

}  // namespace

void Store::exactConfigurations(const std::vector<std::byte>& bytes) { ranged_.configurations(bytes); }

void Store::watchRanges(ProcessState& state) {
  state.own().onRangedImage = [this, &state](std::span<const std::byte> record) {
    ProcessContext& context = state.context();
    const bool taken = ranged_.take(
        context.globalPid().value, record, [&](std::int64_t t) { return context.ownTime(t); },
        [&](std::uint32_t id) { return context.correlation(id); });
    if (!taken) ++imagesUnreadable_;
  };
}

// Closing a range makes CUPTI launch a kernel of its own, "WaitNs" of one thread, 80 us on an H200, under the launch's
// correlation id. It is no launch of the application: what it cost is told, and it stays out of the kernel table.
void Store::dropCuptiKernels(RowBatch& rows, std::size_t from) {
  if (isNull(waitKernelName_)) waitKernelName_ = session_.intern("WaitNs");
  const auto first = rows.kernels.begin() + static_cast<std::ptrdiff_t>(from);
  const auto own = [this](const KernelRow& row) {
    return row.mangledName == waitKernelName_ && row.gridX * row.gridY * row.gridZ == 1 &&
           row.blockX * row.blockY * row.blockZ == 1;
  };
  const auto kept = std::remove_if(first, rows.kernels.end(), [&](const KernelRow& row) {
    if (!own(row)) return false;
    ++cuptiKernels_;
    cuptiKernelNs_ += row.end - row.start;
    return true;
  });
  rows.kernels.erase(kept, rows.kernels.end());
}

void Store::exactEnded(ProcessState& state) {
  const wire::ExactArea* area = state.memory().exactArea();
  if (area == nullptr) return;
  if (const std::string path = state.memory().cuptiPath(); !path.empty()) exactCupti_ = path;
  if (area->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(wire::ExactState::ended) &&
      area->reason[0] != 0) {
    exactReason_ = reasonOf(*area);
    exactText_ = bounded(area->reasonText, sizeof area->reasonText);
  }
  const auto number = [](const std::atomic<std::uint64_t>& n) {
    return static_cast<std::int64_t>(n.load(std::memory_order_relaxed));
  };
  const std::int64_t ranges = number(area->ranges), sessions = number(area->sessions);
  rangesGuest_ += ranges;
  exactCostNs_ +=
      number(area->rangeNs) + number(area->setupNs) + number(area->sessionNs) + number(area->waitNs);
  if (full_.load(std::memory_order_relaxed) || number(area->waitNs) + number(area->setupNs) == 0) return;
  const std::int64_t pid = state.context().globalPid().value;
  const SelfCostRow costs[] = {{pid, session_.intern("guest.exact_ranges"), number(area->rangeNs), ranges},
                               {pid, session_.intern("guest.exact_sessions"),
                                number(area->setupNs) + number(area->sessionNs), sessions},
                               {pid, session_.intern("guest.exact_wait"), number(area->waitNs), 1}};
  check(writer_.append(std::span<const SelfCostRow>(costs)));
}

void Store::finishRanges() {
  if (!options_.exactCounters) return;
  const auto gpuOf = [this](std::int64_t globalPid, std::int64_t device) {
    const auto at = gpuOfDevice_.find({globalPid, device});
    return at == gpuOfDevice_.end() ? kNull : at->second;
  };
  const auto evaluate = [this](int requests) -> Result<std::vector<std::byte>> {
    std::vector<std::string> words = {options_.sampler.empty() ? samplerPath() : options_.sampler,
                                      "--range-values"};
    if (exactCupti_.starts_with('/')) words.insert(words.end(), {"--cupti", exactCupti_});
    HelperProcess helper;
    if (!helper.start(std::move(words), requests) || !helper.wait(kEvaluateTimeoutNs) ||
        !helper.succeeded()) {
      return Error{ErrorKind::io, "ranges could not be evaluated: " + helper.problem()};
    }
    return helper.output();
  };
  const auto outcome = ranged_.finish(gpuOf, evaluate);
  if (cuptiKernels_ > 0 && !full_.load(std::memory_order_relaxed)) {
    const SelfCostRow cost{kNull, session_.intern("gpu.exact_kernels"), cuptiKernelNs_, cuptiKernels_};
    check(writer_.append(std::span<const SelfCostRow>(&cost, 1)));
    dirty_ = true;
  }
  if (!outcome.values.empty() && !full_.load(std::memory_order_relaxed)) {
    check(writer_.append(std::span<const RangedValue>(outcome.values)));
    dirty_ = true;
    commit();
  }
  std::string text;
  const auto say = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (outcome.launches > 0) {
    say(fmt::format("{} launches of {} kernels measured one by one", outcome.launches, outcome.kernels));
  }
  if (outcome.overlapped > 0)
    say(fmt::format("{} left out because other work ran beside them", outcome.overlapped));
  if (outcome.unchecked > 0)
    say(fmt::format("{} left out because no record of them came", outcome.unchecked));
  if (outcome.failed > 0) say(fmt::format("{} could not be evaluated: {}", outcome.failed, outcome.problem));
  if (imagesUnreadable_ > 0) say(fmt::format("{} counter images were damaged", imagesUnreadable_));
  if (!exactText_.empty()) say(exactText_);
  if (outcome.launches == 0 && text.empty()) {
    say(rangesGuest_ > 0 ? "the process ended before its counters were read"
                         : "no kernel was launched twice while exact mode listened");
  }
  if (outcome.launches > 0) {
    const bool sampled = sessionInfo_.counters.starts_with("sampled");
    sessionInfo_.counters = sampled ? sessionInfo_.counters + "," + kRanged : kRanged;
  } else if (!options_.sampleCounters) {
    sessionInfo_.counters = !exactReason_.empty()    ? exactReason_
                            : outcome.overlapped > 0 ? "never_alone"
                                                     : kNotRecorded;
  }
  sessionInfo_.countersText += (sessionInfo_.countersText.empty() ? "" : "; ") + ("exact mode: " + text);
}

}  // namespace warpmeter::recorder
