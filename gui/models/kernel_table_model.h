// SPDX-License-Identifier: Apache-2.0
// KernelTableModel: the analyzer's kernel summary as a table, one row per function. GUI thread only.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "models/profile_loader.h"

namespace warpmeter::gui {

class KernelTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kernel, share, total, calls, median, achieved, occupancy, heldBy, boundBy, columns };
  enum Role {
    sortRole = Qt::UserRole,  // a number or a text that sorts
    functionRole,             // ProfileView::functions()
  };

  explicit KernelTableModel(QObject* parent = nullptr);

  void setProfile(std::shared_ptr<const LoadedProfile> profile);

  bool hasOccupancy() const;  // of any row
  bool hasCounters() const;   // achieved occupancy and bound were measured in this run
  // Why some rows show no occupancy; empty when all do.
  QString missingReason() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const analyzer::FunctionSummary& function, int column) const;
  QString toolTip(const analyzer::FunctionSummary& function, int column) const;
  QVariant sortValue(const analyzer::FunctionSummary& function, int column) const;

  std::shared_ptr<const LoadedProfile> profile_;
};

}  // namespace warpmeter::gui
