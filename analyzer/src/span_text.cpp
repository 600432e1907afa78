// SPDX-License-Identifier: Apache-2.0
#include "src/span_text.h"

#include <fmt/format.h>

#include "warpmeter/analyzer/copies.h"
#include "warpmeter/analyzer/format.h"
#include "warpmeter/analyzer/kernel_summary.h"

namespace warpmeter::analyzer {
namespace {

std::string copyTitle(const Copies& copies, std::size_t i) {
  if (copies.kindOf(i) == CopyKind::memset) return "memset";
  return std::string(textOf(copies.kindOf(i)));
}

void describeTime(const ProfileView& view, const Spans& spans, std::size_t i, SpanText& out) {
  out.startNs = spans.startNs(i);
  out.endNs = spans.endNs(i);
  out.lines.emplace_back("start", formatTime(out.startNs - view.range().beginNs));
  out.lines.emplace_back("duration", formatTime(spans.durationNs(i)));
}

void describeOccupancy(const ProfileView& view, const LaunchConfig& config, SpanText& out) {
  const auto occupancy = occupancyOfDistinct(view, config.distinct);
  if (!occupancy) return;
  out.lines.emplace_back("occupancy",
                         fmt::format("{} possible, held by {}", formatPercent(occupancy->occupancyPct),
                                     limiterText(*occupancy)));
  if (occupancy->waves) out.lines.emplace_back("waves", fmt::format("{:.2f}", *occupancy->waves));
}

void describeKernel(const ProfileView& view, const StreamLane& lane, std::size_t i, SpanText& out) {
  const Kernels& k = lane.kernels;
  const LaunchConfig& c = view.configs()[k.config[i]];
  out.title = shortKernelName(view.name(view.functions()[c.function].demangled));
  describeTime(view, k, i, out);
  out.lines.emplace_back("grid x block", fmt::format("{} x {}", formatDims(c.grid), formatDims(c.block)));
  if (c.clusterBlocks() > 0) out.lines.emplace_back("cluster", formatDims(c.cluster));
  out.lines.emplace_back("registers", fmt::format("{} a thread", c.registers));
  if (c.staticShared + c.dynamicShared > 0) {
    out.lines.emplace_back("shared memory",
                           fmt::format("{} B static, {} B dynamic", c.staticShared, c.dynamicShared));
  }
  describeOccupancy(view, c, out);
  if (k.graphNode[i] != 0) out.lines.emplace_back("graph node", fmt::format("{}", k.graphNode[i]));
  out.lines.emplace_back("launch", fmt::format("{}", k.rowid[i]));
  if (const auto call = view.apiCall(lane.process, k.correlation[i])) {
    const ApiCalls& api = view.threads()[call.lane].api;
    out.lines.emplace_back("launched by", std::string(apiBaseName(view.name(api.name[call.index]))));
    out.lines.emplace_back("call to start", formatTime(k.startNs(i) - api.startNs(call.index)));
  }
}

void describeCopy(const ProfileView& view, const Copies& c, std::size_t i, SpanText& out) {
  out.title = copyTitle(c, i);
  describeTime(view, c, i, out);
  out.lines.emplace_back("size", formatBytes(c.bytes[i]));
  if (c.durationNs(i) > 0) {
    const double rate = static_cast<double>(c.bytes[i]) / static_cast<double>(c.durationNs(i)) * 1e9;
    out.lines.emplace_back("rate", formatRate(rate));
  }
  const bool set = c.kindOf(i) == CopyKind::memset;
  out.lines.emplace_back("memory",
                         set ? std::string(textOf(c.destinationOf(i)))
                             : fmt::format("{} to {}", textOf(c.sourceOf(i)), textOf(c.destinationOf(i))));
}

void describeApi(const ProfileView& view, const ApiCalls& api, std::size_t i, SpanText& out) {
  out.title = apiBaseName(view.name(api.name[i]));
  describeTime(view, api, i, out);
  out.lines.emplace_back("correlation", fmt::format("{}", api.correlationOf(i)));
  if (api.failed(i)) out.lines.emplace_back("result", "failed");
}

void describeNvtx(const ProfileView& view, const NvtxRanges& n, std::size_t i, SpanText& out) {
  out.title = view.name(n.text[i]);
  describeTime(view, n, i, out);
  const std::string_view domain = view.name(view.domains()[n.domain[i]]);
  if (!domain.empty()) out.lines.emplace_back("domain", std::string(domain));
}

}  // namespace

std::string labelOf(const ProfileView& view, const Track& track, std::uint32_t item) {
  switch (track.kind) {
    case TrackKind::kernels: {
      const LaunchConfig& c = view.configs()[view.streams()[track.lane].kernels.config[item]];
      return shortKernelName(view.name(view.functions()[c.function].demangled));
    }
    case TrackKind::copies:
      return copyTitle(view.streams()[track.lane].copies, item);
    case TrackKind::api:
      return std::string(apiBaseName(view.name(view.threads()[track.lane].api.name[item])));
    case TrackKind::nvtx:
      return std::string(view.name(view.threads()[track.lane].nvtx.text[item]));
  }
  return {};
}

SpanText describeSpan(const ProfileView& view, const Track& track, std::uint32_t item) {
  SpanText out;
  switch (track.kind) {
    case TrackKind::kernels:
      describeKernel(view, view.streams()[track.lane], item, out);
      break;
    case TrackKind::copies:
      describeCopy(view, view.streams()[track.lane].copies, item, out);
      break;
    case TrackKind::api:
      describeApi(view, view.threads()[track.lane].api, item, out);
      break;
    case TrackKind::nvtx:
      describeNvtx(view, view.threads()[track.lane].nvtx, item, out);
      break;
  }
  return out;
}

}  // namespace warpmeter::analyzer
