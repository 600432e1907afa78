// SPDX-License-Identifier: Apache-2.0
#include "models/kernel_table_model.h"

#include <QColor>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::gui {
namespace {

using analyzer::DistinctSummary;
using analyzer::FunctionSummary;

const QString kNotKnown = QStringLiteral(u"\u2014");

// The distinct kernel that stands for its function: the one that takes most time.
const DistinctSummary* main(const FunctionSummary& function) {
  return function.distinct.empty() ? nullptr : &function.distinct.front();
}

const analyzer::Occupancy* occupancyOf(const FunctionSummary& function) {
  const DistinctSummary* distinct = main(function);
  return distinct && distinct->occupancy ? &*distinct->occupancy : nullptr;
}

// Of the same distinct kernel; nullptr where nothing was measured in this run.
const analyzer::KernelCounters* countersOf(const LoadedProfile& profile, const FunctionSummary& function) {
  const DistinctSummary* distinct = main(function);
  if (!distinct || !profile.counters || !profile.counters->quality.any) return nullptr;
  const auto& all = profile.counters->kernels;
  return distinct->distinct < all.size() ? &all[distinct->distinct] : nullptr;
}

const analyzer::KernelBound* boundOf(const LoadedProfile& profile, const FunctionSummary& function) {
  if (!countersOf(profile, function) || !profile.bounds) return nullptr;
  const auto& all = profile.bounds->kernels;
  const std::size_t i = main(function)->distinct;
  return i < all.size() ? &all[i] : nullptr;
}

// "DRAM 88 %"; of latency there is no share.
std::string boundText(const analyzer::KernelBound& bound) {
  std::string text(analyzer::named(bound.bound).text);
  if (bound.sharePct && bound.bound != analyzer::Bound::latency)
    text += ' ' + std::to_string(std::lround(*bound.sharePct)) + " %";
  return text;
}

QString countersTip(const LoadedProfile& profile, const FunctionSummary& function, bool bound) {
  const auto* counters = countersOf(profile, function);
  if (!counters) return {};
  std::string text;
  if (const auto* b = boundOf(profile, function); bound && b)
    text = b->reason ? std::string(analyzer::named(*b->reason).text)
                     : std::string(idOf(b->confidence)) + ": " + b->why;
  const analyzer::Metric& m = counters->occupancyPct;
  if (!bound && m.reason) text = analyzer::named(*m.reason).text;
  if (!bound && m.value)
    text = analyzer::formatPercent(m.low.value_or(*m.value)) + " to " +
           analyzer::formatPercent(m.high.value_or(*m.value)) + " (95 %), " +
           analyzer::formatCount(m.samples) + " samples, " + std::string(analyzer::named(m.provenance).text);
  return QString::fromStdString(text);
}

QString shortName(const FunctionSummary& function) {
  const std::string& name = function.shortName.empty() ? function.demangledName : function.shortName;
  return name.empty() ? QStringLiteral("(no name)") : QString::fromStdString(name);
}

}  // namespace

KernelTableModel::KernelTableModel(QObject* parent) : QAbstractTableModel(parent) {}

void KernelTableModel::setProfile(std::shared_ptr<const LoadedProfile> profile) {
  beginResetModel();
  profile_ = std::move(profile);
  endResetModel();
}

bool KernelTableModel::hasOccupancy() const {
  if (!profile_ || !profile_->kernels) return true;
  const auto& functions = profile_->kernels->functions;
  return functions.empty() || std::any_of(functions.begin(), functions.end(),
                                          [](const FunctionSummary& f) { return occupancyOf(f) != nullptr; });
}

bool KernelTableModel::hasCounters() const {
  return profile_ && profile_->counters && profile_->counters->quality.any;
}

QString KernelTableModel::missingReason() const {
  if (!profile_ || !profile_->kernels) return {};
  for (const FunctionSummary& function : profile_->kernels->functions) {
    const DistinctSummary* distinct = main(function);
    if (distinct && !distinct->occupancy) return QString::fromStdString(distinct->occupancyReason);
  }
  return {};
}

int KernelTableModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || !profile_ || !profile_->kernels) return 0;
  return static_cast<int>(profile_->kernels->functions.size());
}

int KernelTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QVariant KernelTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const FunctionSummary& function = profile_->kernels->functions[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return text(function, column);
    case Qt::ToolTipRole:
      return toolTip(function, column);
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignVCenter | (column == kernel ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::DecorationRole:
      return column == kernel ? QVariant(QColor(profile_->colors.ofFunction(function.function))) : QVariant();
    case sortRole:
      return sortValue(function, column);
    case functionRole:
      return function.function;
    default:
      return {};
  }
}

QVariant KernelTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columns) return {};
  static const std::array<std::pair<QString, QString>, columns> headers{{
      {QStringLiteral("kernel"), QStringLiteral("Kernel function; its launches with all sizes together")},
      {QStringLiteral("share"), QStringLiteral("Share of the kernel time (kernels that overlap count each)")},
      {QStringLiteral("total"), QStringLiteral("Sum of the durations of all timed launches")},
      {QStringLiteral("calls"), QStringLiteral("Launches, with and without times")},
      {QStringLiteral("median"), QStringLiteral("Median duration of a launch")},
      {QStringLiteral("achieved"), QStringLiteral("Measured occupancy of the size that takes most time")},
      {QStringLiteral("possible"), QStringLiteral("Theoretical occupancy of the size that takes most time")},
      {QStringLiteral("held by"), QStringLiteral("What keeps the occupancy from being higher")},
      {QStringLiteral("bound by"), QStringLiteral("What limits its speed, and how much of that it uses")},
  }};
  const auto& [text, tip] = headers[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return text;
  if (role == Qt::ToolTipRole) return tip;
  if (role == Qt::TextAlignmentRole) {
    return QVariant(Qt::AlignVCenter | (section == kernel ? Qt::AlignLeft : Qt::AlignRight));
  }
  return {};
}

QString KernelTableModel::text(const FunctionSummary& function, int column) const {
  const bool timed = function.time.count > 0;
  const analyzer::Occupancy* possible = occupancyOf(function);
  std::string text;
  switch (column) {
    case kernel:
      return shortName(function);
    case share:
      if (timed) text = analyzer::formatPercent(function.sharePct);
      break;
    case total:
      if (timed) text = analyzer::formatTime(function.time.totalNs);
      break;
    case calls:
      text = analyzer::formatCount(function.launches());
      break;
    case median:
      if (timed) text = analyzer::formatTime(function.time.medianNs);
      break;
    case achieved:
      if (const auto* c = countersOf(*profile_, function); c && c->occupancyPct.value)
        text = analyzer::formatPercent(*c->occupancyPct.value);
      break;
    case boundBy:
      if (const auto* b = boundOf(*profile_, function); b && b->bound != analyzer::Bound::notMeasured)
        text = boundText(*b);
      break;
    case occupancy:
      if (possible) text = analyzer::formatPercent(possible->occupancyPct);
      break;
    case heldBy:
      if (possible) text = analyzer::limiterText(*possible);
      break;
    default:
      return {};
  }
  return text.empty() ? kNotKnown : QString::fromStdString(text);
}

QString KernelTableModel::toolTip(const FunctionSummary& function, int column) const {
  const DistinctSummary* distinct = main(function);
  if (column == kernel) {
    // As rich text, so that long template names wrap.
    return QStringLiteral("<p>%1</p>").arg(QString::fromStdString(function.demangledName).toHtmlEscaped());
  }
  if (column == achieved || column == boundBy) return countersTip(*profile_, function, column == boundBy);
  if ((column == occupancy || column == heldBy) && distinct) {
    if (!distinct->occupancy) return QString::fromStdString(distinct->occupancyReason);
    if (function.distinct.size() < 2) return {};
    return QStringLiteral("of the size that takes most time, out of %1").arg(function.distinct.size());
  }
  return {};
}

QVariant KernelTableModel::sortValue(const FunctionSummary& function, int column) const {
  const analyzer::Occupancy* possible = occupancyOf(function);
  switch (column) {
    case kernel:
      return shortName(function).toLower();
    case share:
    case total:
      return QVariant::fromValue<qlonglong>(function.time.totalNs);
    case calls:
      return QVariant::fromValue<qlonglong>(function.launches());
    case median:
      return QVariant::fromValue<qlonglong>(function.time.medianNs);
    case achieved: {
      const auto* c = countersOf(*profile_, function);
      return c ? c->occupancyPct.value.value_or(-1.0) : -1.0;
    }
    case occupancy:
      return possible ? possible->occupancyPct : -1.0;  // not known sorts below all
    default:
      return text(function, column);
  }
}

}  // namespace warpmeter::gui
