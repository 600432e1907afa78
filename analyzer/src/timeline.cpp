// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cancelled.h"
#include "src/span_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

// The rows of a lane: a span goes to the first row that is free at its start. Nested spans get their depth.
std::vector<std::vector<std::uint32_t>> rowsOf(const Spans& spans) {
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<std::int64_t> freeFrom;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    std::size_t row = 0;
    while (row < rows.size() && freeFrom[row] > spans.startNs(i)) ++row;
    if (row == rows.size() && row < Timeline::kMaxRows) {
      rows.emplace_back();
      freeFrom.push_back(INT64_MIN);
    }
    row = std::min(row, rows.size() - 1);
    rows[row].push_back(i);
    freeFrom[row] = std::max(freeFrom[row], spans.endNs(i));
  }
  return rows;
}

std::vector<SpanIndex> indexRows(const Spans& spans, const Column<std::uint32_t>& key) {
  auto rows = rowsOf(spans);
  std::vector<SpanIndex> out;
  for (auto& items : rows) {
    const bool all = items.size() == spans.size();
    out.emplace_back(spans, all ? std::vector<std::uint32_t>{} : std::move(items), key);
  }
  return out;
}

std::string processText(const ProfileView& view, std::uint32_t process) {
  const ProcessInfo& info = view.processes()[process].info;
  return info.name.empty() ? fmt::format("process {}", info.pid)
                           : fmt::format("{} ({})", info.name, info.pid);
}

std::string gpuText(const ProfileView& view, std::uint32_t gpu) {
  const GpuInfo& info = view.gpus()[gpu].info;
  return info.name.empty() ? fmt::format("GPU {}", info.id) : fmt::format("GPU {} {}", info.id, info.name);
}

std::string threadText(const ProfileView& view, const ThreadLane& lane) {
  const std::string_view name = view.name(lane.name);
  const std::int64_t tid = tidOf(GlobalTid{lane.globalTid});
  return name.empty() ? fmt::format("thread {}", tid) : fmt::format("thread {} {}", tid, name);
}

// Copies are coloured and counted by kind; the column is widened for the index.
Column<std::uint32_t> kindColumn(const Copies& copies) {
  return Column<std::uint32_t>(std::vector<std::uint32_t>(copies.kind.begin(), copies.kind.end()));
}

// configs as functions: what is the same for the eye.
Column<std::uint32_t> functionColumn(const ProfileView& view, const Kernels& kernels) {
  std::vector<std::uint32_t> out;
  out.reserve(kernels.size());
  for (const std::uint32_t config : kernels.config) out.push_back(view.configs()[config].function);
  return Column<std::uint32_t>(std::move(out));
}

}  // namespace

Result<Timeline> Timeline::build(std::shared_ptr<const ProfileView> view, std::stop_token stop) {
  Timeline out;
  out.view_ = std::move(view);
  const ProfileView& v = *out.view_;
  for (std::uint32_t p = 0; p < v.processes().size(); ++p) {
    const auto add = [&](TrackKind kind, std::uint32_t lane, std::uint32_t gpu, std::string text,
                         std::vector<SpanIndex> rows) {
      out.tracks_.push_back({kind, lane, p, gpu, processText(v, p), gpu == kNone ? "" : gpuText(v, gpu),
                             std::move(text), std::move(rows)});
    };
    for (std::uint32_t s = 0; s < v.streams().size(); ++s) {
      if (stop.stop_requested()) return cancelled();
      const StreamLane& lane = v.streams()[s];
      if (lane.process != p) continue;
      if (!lane.kernels.empty()) {
        add(TrackKind::kernels, s, lane.gpu, fmt::format("stream {} kernels", lane.streamId),
            indexRows(lane.kernels, functionColumn(v, lane.kernels)));
      }
      if (!lane.copies.empty()) {
        add(TrackKind::copies, s, lane.gpu, fmt::format("stream {} copies", lane.streamId),
            indexRows(lane.copies, kindColumn(lane.copies)));
      }
    }
    for (std::uint32_t t = 0; t < v.threads().size(); ++t) {
      if (stop.stop_requested()) return cancelled();
      const ThreadLane& lane = v.threads()[t];
      if (lane.process != p) continue;
      if (!lane.nvtx.empty()) {
        add(TrackKind::nvtx, t, kNone, threadText(v, lane) + " NVTX", indexRows(lane.nvtx, lane.nvtx.text));
      }
      if (!lane.api.empty()) {
        add(TrackKind::api, t, kNone, threadText(v, lane) + " API", indexRows(lane.api, lane.api.name));
      }
    }
  }
  return out;
}

std::uint32_t Timeline::colorKey(const Track& track, std::uint32_t item) const {
  switch (track.kind) {
    case TrackKind::kernels: {
      const LaunchConfig& c = view_->configs()[view_->streams()[track.lane].kernels.config[item]];
      return view_->functions()[c.function].key;
    }
    case TrackKind::copies:
      return view_->streams()[track.lane].copies.kind[item];
    case TrackKind::api:
      return view_->threads()[track.lane].api.name[item];
    case TrackKind::nvtx:
      return view_->threads()[track.lane].nvtx.text[item];
  }
  return 0;
}

std::optional<std::uint32_t> Timeline::givenColor(const Track& track, std::uint32_t item) const {
  if (track.kind != TrackKind::nvtx) return std::nullopt;
  const std::uint32_t color = view_->threads()[track.lane].nvtx.color[item];
  return color == 0 ? std::nullopt : std::optional{color};
}

std::string Timeline::label(const Track& track, std::uint32_t item) const {
  return labelOf(*view_, track, item);
}
SpanText Timeline::describe(const Track& track, std::uint32_t item) const {
  return describeSpan(*view_, track, item);
}

}  // namespace warpmeter::analyzer
