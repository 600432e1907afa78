// SPDX-License-Identifier: Apache-2.0
// MainWindow: header, timeline, kernel table, help line; and the keys.
#pragma once

#include <QMainWindow>
#include <QSplitter>
#include <functional>

#include "models/profile_loader.h"
#include "models/view_state.h"
#include "widgets/elided_label.h"
#include "widgets/kernel_table.h"
#include "widgets/timeline_view.h"

namespace warpmeter::gui {

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);

  void open(const QString& path);

  TimelineView* timeline() { return timeline_; }
  KernelTable* kernels() { return kernels_; }
  ViewState* state() { return &state_; }
  const LoadedProfile* profile() const { return profile_.get(); }

 signals:
  void opened();  // everything of the file is shown
  void openFailed(QString message);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void present(const std::shared_ptr<const LoadedProfile>& profile);
  void showHeader();
  void addKeys();
  void addKey(std::initializer_list<QKeySequence> keys, std::function<void()> action);
  void zoomToLongest(std::uint32_t function);

  ViewState state_;
  ProfileLoader loader_;
  std::shared_ptr<const LoadedProfile> profile_;
  ElidedLabel* quality_;
  ElidedLabel* run_;
  QSplitter* splitter_;
  TimelineView* timeline_;
  KernelTable* kernels_;
  bool splitByUser_ = false;
};

}  // namespace warpmeter::gui
