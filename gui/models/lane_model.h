// SPDX-License-Identifier: Apache-2.0
// LaneModel: the lines of the timeline from top to bottom, and where each stands. GUI thread only.
#pragma once

#include <QAbstractListModel>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/time_axis.h"
#include "warpmeter/analyzer/counter_lanes.h"
#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::gui {

enum class LaneKind : std::uint8_t { process, gpu, counter, track };

struct Lane {
  LaneKind kind{};
  QString text;
  int indent = 0;           // levels
  std::uint32_t track = 0;  // Timeline::tracks(), if kind is track; counters(), if it is counter
  int rows = 0;
};

// Vertical place of a lane in px, from the top of the first.
struct LaneBox {
  int top = 0, height = 0;
  int rowTop = 0, rowHeight = 0;  // of a track's first row; rows follow each other
  int bottom() const { return top + height; }
};

class LaneModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role { kindRole = Qt::UserRole, indentRole, trackRole };

  explicit LaneModel(QObject* parent = nullptr);

  using Counters = std::vector<analyzer::CounterLane>;
  void setTimeline(std::shared_ptr<const analyzer::Timeline> timeline,
                   std::shared_ptr<const Counters> counters = {});
  const analyzer::Timeline* timeline() const { return timeline_.get(); }
  const analyzer::CounterLane& counter(const Lane& lane) const { return (*counters_)[lane.track]; }
  const std::vector<Lane>& lanes() const { return lanes_; }

  // Boxes for all lanes; tracks grow to fill heightPx, within limits that keep them readable.
  std::vector<LaneBox> boxes(int heightPx) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  void addCounters(std::uint32_t gpu);

  std::shared_ptr<const analyzer::Timeline> timeline_;
  std::shared_ptr<const Counters> counters_;
  std::vector<Lane> lanes_;
};

struct RowAt {
  std::size_t lane = 0;
  int row = 0;
};
// The track's row that y (px from the top of the first lane) lies in.
std::optional<RowAt> rowAt(const std::vector<Lane>& lanes, const std::vector<LaneBox>& boxes, int y);
// The counter lane there.
std::optional<std::size_t> counterAt(const std::vector<Lane>& lanes, const std::vector<LaneBox>& boxes, int y);

// What a counter lane says of a pixel column: time since originNs, value and unit, spread, sets; nullopt in a hole.
std::optional<analyzer::SpanText> counterText(const analyzer::CounterLane& lane, TimeSpan column,
                                              std::int64_t originNs);

}  // namespace warpmeter::gui
