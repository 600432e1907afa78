// SPDX-License-Identifier: Apache-2.0
// KernelTable: the kernel functions beside the timeline, and details of the selected one (or the first)
// below. Selecting one highlights its launches; a double click asks to see the longest.
#pragma once

#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QWidget>
#include <memory>

#include "models/kernel_table_model.h"
#include "models/view_state.h"

namespace warpmeter::gui {

class KernelTable : public QWidget {
  Q_OBJECT
 public:
  // `state` must outlive the table.
  explicit KernelTable(ViewState* state, QWidget* parent = nullptr);

  void setProfile(std::shared_ptr<const LoadedProfile> profile);
  QTableView* table() { return table_; }

 signals:
  void longestRequested(std::uint32_t function);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void selectionFromTable();
  void selectionFromState();
  void showDetails();
  void fitColumns();
  std::optional<std::uint32_t> functionAt(const QModelIndex& proxyIndex) const;

  ViewState* state_;
  KernelTableModel model_;
  QSortFilterProxyModel sorted_;
  QTableView* table_;
  QLabel* title_;
  QLabel* note_;
  QLabel* details_;
  std::shared_ptr<const LoadedProfile> profile_;
  bool following_ = false;  // the table is being set from the state
};

}  // namespace warpmeter::gui
