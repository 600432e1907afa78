// SPDX-License-Identifier: Apache-2.0
#include "src/cold_intervals.h"

#include <algorithm>
#include <map>
#include <optional>

#include "warpmeter/analyzer/api_kinds.h"

namespace warpmeter::analyzer {
namespace {

// ENUM_CUPTI_OVERHEAD_TYPE: costs of the application, not of the recording.
constexpr std::int64_t kDriverCompiler = 2, kRuntimeModuleLoading = 6, kLazyFunctionLoading = 7;

class Finder {
 public:
  Finder(const ProfileView& view, std::uint32_t process, std::int64_t untilNs)
      : view_(view), process_(process), untilNs_(untilNs) {}

  ColdIntervals find(std::int64_t firstCorrelation) {
    readMarks();
    readApi();
    readOverheads();
    readFirstLaunch(firstCorrelation);
    findBegin();
    // A file without any mark of the process (an import) shows only what its API rows show.
    settle(ColdPhase::moduleLoad, anyMark_, modulesMarked_, loadCalls_);
    settle(ColdPhase::jit, anyMark_, 0, out_.of(ColdPhase::jit).intervals);
    settle(ColdPhase::context, false, contextsMarked_, out_.of(ColdPhase::context).intervals);
    return std::move(out_);
  }

 private:
  // Calls that lie in each other (runtime and driver) count once.
  void settle(ColdPhase phase, bool known, std::int64_t marked, const std::vector<Interval>& counted) {
    auto& p = out_.of(phase);
    p.recorded = known || !p.intervals.empty();
    p.count = marked > 0 ? marked : static_cast<std::int64_t>(unite(counted).size());
  }

  void readMarks() {
    std::optional<std::int64_t> entered, initDone;
    for (const ViewMark& m : view_.marks()) {
      if (m.process != process_ || m.timeNs > untilNs_) continue;
      anyMark_ = true;
      switch (m.kind) {
        case MarkKind::processStart:
          processStart_ = m.timeNs;
          if (!isNull(m.bytes)) out_.beginUncertaintyNs = m.bytes;
          break;
        case MarkKind::injectionEntered:
          entered = m.timeNs;
          break;
        case MarkKind::cuInitFinished:
          initDone = m.timeNs;
          break;
        case MarkKind::contextCreated:
          addContext(m);
          break;
        case MarkKind::moduleLoaded:
          ++modulesMarked_;
          break;
        case MarkKind::jitStarted:
          if (!isNull(m.bytes)) add(ColdPhase::jit, m.timeNs, m.timeNs + m.bytes);
          break;
        default:
          break;
      }
    }
    const ProcessInfo& info = view_.processes()[process_].info;
    if (!processStart_ && !isNull(info.startNs)) {
      processStart_ = info.startNs;
      if (!isNull(info.startUncertaintyNs)) out_.beginUncertaintyNs = info.startUncertaintyNs;
    }
    if (processStart_ && entered) addPhase(ColdPhase::process, *processStart_, *entered);
    if (entered && initDone) addPhase(ColdPhase::cuInit, *entered, *initDone);
  }

  // The outermost call in which the context came into being: cudaFree(0), cudaSetDevice, cuCtxCreate, ...
  void addContext(const ViewMark& mark) {
    ++contextsMarked_;
    for (const ThreadLane& lane : view_.threads()) {
      if (lane.process != process_ || lane.globalTid != mark.globalTid) continue;
      const auto starts = lane.api.start.span();
      auto i = static_cast<std::size_t>(std::ranges::upper_bound(starts, mark.timeNs) - starts.begin());
      if (i == 0) continue;
      for (--i; i > 0 && lane.api.depth(i) != 0;) --i;
      if (lane.api.endNs(i) >= mark.timeNs) add(ColdPhase::context, lane.api.startNs(i), lane.api.endNs(i));
    }
  }

  void readApi() {
    std::map<NameId, ApiKind> kinds;
    for (const ThreadLane& lane : view_.threads()) {
      if (lane.process != process_) continue;
      const auto starts = lane.api.start.span();
      const auto last = static_cast<std::size_t>(std::ranges::lower_bound(starts, untilNs_) - starts.begin());
      for (std::size_t i = 0; i < last; ++i) {
        const auto [it, fresh] = kinds.try_emplace(lane.api.name[i], ApiKind::other);
        if (fresh) it->second = apiKindOf(view_.name(lane.api.name[i]));
        switch (it->second) {
          case ApiKind::context:
            add(ColdPhase::context, lane.api.startNs(i), lane.api.endNs(i));
            break;
          case ApiKind::moduleLoad:
            add(ColdPhase::moduleLoad, lane.api.startNs(i), lane.api.endNs(i));
            if (view_.name(lane.api.name[i]).find("Load") != std::string_view::npos) {
              loadCalls_.push_back({lane.api.startNs(i), lane.api.endNs(i)});
            }
            break;
          case ApiKind::init:
            addPhase(ColdPhase::cuInit, lane.api.startNs(i), lane.api.endNs(i));
            break;
          default:
            break;
        }
      }
    }
  }

  void readOverheads() {
    for (const ViewOverhead& o : view_.overheads()) {
      if (o.process != process_ || o.startNs >= untilNs_) continue;
      if (o.type == kDriverCompiler) add(ColdPhase::jit, o.startNs, o.endNs);
      if (o.type == kRuntimeModuleLoading || o.type == kLazyFunctionLoading) {
        add(ColdPhase::moduleLoad, o.startNs, o.endNs);
      }
    }
  }

  void readFirstLaunch(std::int64_t correlation) {
    const auto ref = view_.apiCall(process_, correlation);
    if (!ref) return;
    addPhase(ColdPhase::firstLaunch, view_.threads()[ref.lane].api.startNs(ref.index), untilNs_);
    out_.of(ColdPhase::firstLaunch).count = 1;
  }

  void findBegin() {
    out_.beginKnown = processStart_.has_value();
    if (processStart_) {
      out_.beginNs = *processStart_;
      return;
    }
    out_.beginUncertaintyNs = 0;
    out_.beginNs = untilNs_;
    const auto earlier = [&](const Spans& spans) {
      if (!spans.empty()) out_.beginNs = std::min(out_.beginNs, spans.startNs(0));
    };
    for (const ThreadLane& lane : view_.threads()) {
      if (lane.process == process_) earlier(lane.api), earlier(lane.nvtx);
    }
    for (const StreamLane& lane : view_.streams()) {
      if (lane.process == process_) earlier(lane.copies);
    }
    for (const ViewMark& m : view_.marks()) {
      if (m.process == process_) out_.beginNs = std::min(out_.beginNs, m.timeNs);
    }
  }

  void add(ColdPhase phase, std::int64_t begin, std::int64_t end) {
    out_.of(phase).intervals.push_back({begin, end});
  }
  void addPhase(ColdPhase phase, std::int64_t begin, std::int64_t end) {
    out_.of(phase).intervals.push_back({begin, std::max(begin, end)});
    out_.of(phase).recorded = true;
  }

  const ProfileView& view_;
  std::uint32_t process_;
  std::int64_t untilNs_;
  ColdIntervals out_;
  std::optional<std::int64_t> processStart_;
  std::vector<Interval> loadCalls_;
  std::int64_t modulesMarked_ = 0, contextsMarked_ = 0;
  bool anyMark_ = false;
};

}  // namespace

ColdIntervals ColdIntervals::of(const ProfileView& view, std::uint32_t process, std::int64_t untilNs,
                                std::int64_t firstCorrelation) {
  return Finder(view, process, untilNs).find(firstCorrelation);
}

}  // namespace warpmeter::analyzer
