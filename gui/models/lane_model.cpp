// SPDX-License-Identifier: Apache-2.0
#include "models/lane_model.h"

#include <algorithm>
#include <array>

#include "models/time_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::gui {
namespace {

using analyzer::Track;
using analyzer::TrackKind;

constexpr int kProcessPx = 24;
constexpr int kGpuPx = 20;
constexpr int kCounterPx = 38;
constexpr int kMarginPx = 3;  // above and below the rows of a track

int fixedHeight(LaneKind kind) {
  return kind == LaneKind::process ? kProcessPx : kind == LaneKind::counter ? kCounterPx : kGpuPx;
}

struct RowPx {
  int least, most;
};

RowPx rowPx(TrackKind kind) {
  switch (kind) {
    case TrackKind::kernels:
      return {26, 400};
    case TrackKind::copies:
      return {18, 160};
    case TrackKind::nvtx:
      return {17, 30};
    case TrackKind::api:
      return {15, 36};
  }
  return {15, 36};
}

// Tracks grouped by process, in the order in which the processes appear.
std::vector<std::uint32_t> byProcess(const std::vector<Track>& tracks) {
  std::vector<std::uint32_t> firstOf, order(tracks.size());
  std::vector<std::size_t> rank(tracks.size());
  for (std::uint32_t i = 0; i < tracks.size(); ++i) {
    const auto seen = std::find(firstOf.begin(), firstOf.end(), tracks[i].process);
    rank[i] = static_cast<std::size_t>(seen - firstOf.begin());
    if (seen == firstOf.end()) firstOf.push_back(tracks[i].process);
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank[a] < rank[b]; });
  return order;
}

}  // namespace

LaneModel::LaneModel(QObject* parent) : QAbstractListModel(parent) {}

// Below the line of their GPU, and there only once: several processes may use it.
void LaneModel::addCounters(std::uint32_t gpu) {
  if (!counters_) return;
  const auto isOfGpu = [&](const Lane& lane) {
    return lane.kind == LaneKind::counter && counter(lane).gpu == gpu;
  };
  if (std::any_of(lanes_.begin(), lanes_.end(), isOfGpu)) return;
  for (std::uint32_t i = 0; i < counters_->size(); ++i) {
    const analyzer::CounterLane& lane = (*counters_)[i];
    if (lane.gpu != gpu) continue;
    const QString text =
        QString::fromStdString(lane.text + ", up to " + analyzer::formatValue(lane.top, lane.unit));
    lanes_.push_back({LaneKind::counter, text, 2, i, 0});
  }
}

void LaneModel::setTimeline(std::shared_ptr<const analyzer::Timeline> timeline,
                            std::shared_ptr<const Counters> counters) {
  beginResetModel();
  timeline_ = std::move(timeline);
  counters_ = std::move(counters);
  lanes_.clear();
  if (timeline_) {
    const std::vector<Track>& tracks = timeline_->tracks();
    const Track* before = nullptr;
    for (const std::uint32_t i : byProcess(tracks)) {
      const Track& track = tracks[i];
      const bool newProcess = !before || before->process != track.process;
      if (newProcess)
        lanes_.push_back({LaneKind::process, QString::fromStdString(track.processText), 0, 0, 0});
      if (!track.gpuText.empty() && (newProcess || before->gpuText != track.gpuText)) {
        lanes_.push_back({LaneKind::gpu, QString::fromStdString(track.gpuText), 1, 0, 0});
        addCounters(track.gpu);
      }
      lanes_.push_back({LaneKind::track, QString::fromStdString(track.text), track.gpuText.empty() ? 1 : 2, i,
                        static_cast<int>(track.rows.size())});
      before = &track;
    }
  }
  endResetModel();
}

std::vector<LaneBox> LaneModel::boxes(int heightPx) const {
  int fixedPx = 0, leastPx = 0, growPx = 0;
  for (const Lane& lane : lanes_) {
    if (lane.kind != LaneKind::track) {
      fixedPx += fixedHeight(lane.kind);
      continue;
    }
    const RowPx px = rowPx(timeline_->tracks()[lane.track].kind);
    fixedPx += 2 * kMarginPx;
    leastPx += lane.rows * px.least;
    growPx += lane.rows * (px.most - px.least);
  }
  const double spare = heightPx - fixedPx - leastPx;
  const double grow = growPx > 0 ? std::clamp(spare / growPx, 0.0, 1.0) : 0.0;

  std::vector<LaneBox> boxes;
  boxes.reserve(lanes_.size());
  int top = 0;
  for (const Lane& lane : lanes_) {
    LaneBox box{top, fixedHeight(lane.kind), 0, 0};
    if (lane.kind == LaneKind::counter) {
      box.rowTop = top + kMarginPx;
      box.rowHeight = box.height - 2 * kMarginPx;
    }
    if (lane.kind == LaneKind::track) {
      const RowPx px = rowPx(timeline_->tracks()[lane.track].kind);
      box.rowHeight = px.least + static_cast<int>(grow * (px.most - px.least));
      box.rowTop = top + kMarginPx;
      box.height = lane.rows * box.rowHeight + 2 * kMarginPx;
    }
    top = box.bottom();
    boxes.push_back(box);
  }
  return boxes;
}

int LaneModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lanes_.size());
}

QVariant LaneModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Lane& lane = lanes_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return lane.text;
    case kindRole:
      return static_cast<int>(lane.kind);
    case indentRole:
      return lane.indent;
    case trackRole:
      return lane.kind == LaneKind::track ? QVariant(lane.track) : QVariant();
    default:
      return {};
  }
}

std::optional<RowAt> rowAt(const std::vector<Lane>& lanes, const std::vector<LaneBox>& boxes, int y) {
  const auto box =
      std::partition_point(boxes.begin(), boxes.end(), [y](const LaneBox& b) { return b.bottom() <= y; });
  if (box == boxes.end()) return std::nullopt;
  const auto lane = static_cast<std::size_t>(box - boxes.begin());
  if (lanes[lane].kind != LaneKind::track || y < box->rowTop) return std::nullopt;
  const int row = (y - box->rowTop) / std::max(box->rowHeight, 1);
  if (row >= lanes[lane].rows) return std::nullopt;
  return RowAt{lane, row};
}

std::optional<std::size_t> counterAt(const std::vector<Lane>& lanes, const std::vector<LaneBox>& boxes,
                                     int y) {
  const auto box =
      std::partition_point(boxes.begin(), boxes.end(), [y](const LaneBox& b) { return b.bottom() <= y; });
  if (box == boxes.end() || y < box->top) return std::nullopt;
  const auto lane = static_cast<std::size_t>(box - boxes.begin());
  return lanes[lane].kind == LaneKind::counter ? std::optional(lane) : std::nullopt;
}

std::optional<analyzer::SpanText> counterText(const analyzer::CounterLane& lane, TimeSpan column,
                                              std::int64_t originNs) {
  const auto reading = lane.read(column.startNs, column.endNs);
  if (!reading) return std::nullopt;
  const auto value = [&](float v) { return analyzer::formatValue(static_cast<double>(v), lane.unit); };
  analyzer::SpanText out{lane.text, {}, column.startNs, column.endNs};
  out.lines.emplace_back("at", timeText(column.startNs - originNs, column.lengthNs()).toStdString());
  out.lines.emplace_back("value", value(reading->mean));
  if (reading->samples > 1)
    out.lines.emplace_back(analyzer::formatCount(reading->samples) + " samples",
                           value(reading->low) + " to " + value(reading->high));
  for (const std::string& set : reading->sets) out.lines.emplace_back("counted by", set);
  return out;
}

}  // namespace warpmeter::gui
