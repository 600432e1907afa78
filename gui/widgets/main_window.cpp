// SPDX-License-Identifier: Apache-2.0
#include "widgets/main_window.h"

#include <QAction>
#include <QVBoxLayout>
#include <algorithm>

#include "models/header_text.h"

namespace warpmeter::gui {
namespace {

constexpr double kZoomStep = 0.7;
constexpr double kPanStep = 0.15;  // of what is visible
constexpr double kMargin = 0.02;   // around the run, so that its ends are seen to be ends

const char* const kHelp =
    "wheel or W/S: zoom at the pointer  \u00b7  drag or A/D: move  \u00b7  F: whole run  \u00b7  G: GPU work "
    " \u00b7  "
    "click: highlight a kernel  \u00b7  double click: zoom to it  \u00b7  Esc: clear";

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  auto* central = new QWidget(this);
  quality_ = new ElidedLabel(central);
  quality_->setContentsMargins(8, 6, 8, 1);
  QFont bold = font();
  bold.setBold(true);
  quality_->setFont(bold);
  run_ = new ElidedLabel(central);
  run_->setContentsMargins(8, 1, 8, 6);
  auto* help = new ElidedLabel(central);
  help->setLine(QString::fromUtf8(kHelp));
  help->setContentsMargins(8, 4, 8, 4);
  help->setForegroundRole(QPalette::PlaceholderText);

  splitter_ = new QSplitter(Qt::Horizontal, central);
  timeline_ = new TimelineView(&state_, splitter_);
  kernels_ = new KernelTable(&state_, splitter_);
  splitter_->setChildrenCollapsible(false);
  splitter_->setStretchFactor(0, 1);
  splitter_->setHandleWidth(5);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { splitByUser_ = true; });

  auto* layout = new QVBoxLayout(central);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(quality_);
  layout->addWidget(run_);
  layout->addWidget(splitter_, 1);
  layout->addWidget(help);
  setCentralWidget(central);

  connect(&loader_, &ProfileLoader::loaded, this, &MainWindow::present);
  connect(&loader_, &ProfileLoader::failed, this, &MainWindow::openFailed);
  connect(&loader_, &ProfileLoader::progressed, this, [this](double fraction) {
    timeline_->setMessage(QStringLiteral("Reading the file: %1 %").arg(static_cast<int>(100 * fraction)));
  });
  connect(kernels_, &KernelTable::longestRequested, this, &MainWindow::zoomToLongest);
  addKeys();
}

void MainWindow::open(const QString& path) {
  profile_.reset();
  setWindowTitle(path + QStringLiteral(" - Warpmeter"));
  quality_->setLine(QStringLiteral("reading ..."));
  run_->setLine(path);
  timeline_->setMessage(QStringLiteral("Reading the file"));
  loader_.load(path);
}

void MainWindow::present(const std::shared_ptr<const LoadedProfile>& profile) {
  const bool first = !profile_;
  profile_ = profile;
  timeline_->setMessage(QStringLiteral("Nothing was recorded: no GPU work, no host calls, no NVTX ranges."));
  const TimeSpan limits = padded(profile->all, kMargin);
  const TimeSpan work = padded(profile->work, kMargin);
  if (first) {
    state_.reset(limits, work);
  } else {
    state_.extend(limits, work);
  }
  timeline_->setProfile(profile);
  kernels_->setProfile(profile);
  showHeader();
  if (profile->complete()) emit opened();
}

void MainWindow::showHeader() {
  const HeaderText header = headerText(*profile_);
  const Theme theme = Theme::from(palette());
  QPalette colors = palette();
  if (!header.complete) colors.setColor(QPalette::WindowText, QColor(theme.warning));
  quality_->setPalette(colors);
  quality_->setLine(header.quality);
  if (!header.details.isEmpty()) quality_->setToolTip(header.details);
  run_->setLine(header.run);
}

void MainWindow::addKey(std::initializer_list<QKeySequence> keys, std::function<void()> act) {
  auto* action = new QAction(this);
  action->setShortcuts(QList<QKeySequence>(keys));
  connect(action, &QAction::triggered, this, std::move(act));
  addAction(action);
}

// As actions of the window, so that they work wherever the focus is.
void MainWindow::addKeys() {
  addKey({Qt::Key_W, Qt::Key_Plus}, [this] { timeline_->zoom(kZoomStep); });
  addKey({Qt::Key_S, Qt::Key_Minus}, [this] { timeline_->zoom(1 / kZoomStep); });
  addKey({Qt::Key_A, Qt::Key_Left}, [this] { timeline_->pan(-kPanStep); });
  addKey({Qt::Key_D, Qt::Key_Right}, [this] { timeline_->pan(kPanStep); });
  addKey({Qt::Key_F}, [this] { state_.fitAll(); });
  addKey({Qt::Key_G, Qt::Key_Home}, [this] { state_.fitWork(); });
  addKey({Qt::Key_Escape}, [this] { state_.selectFunction(std::nullopt); });
  addKey({QKeySequence::Quit}, [this] { close(); });
}

void MainWindow::zoomToLongest(std::uint32_t function) {
  if (!profile_) return;
  if (const auto span = Highlight(*profile_->timeline, function).longest()) timeline_->zoomTo(*span);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (splitByUser_) return;
  const int table = std::clamp(width() * 38 / 100, 300, 640);
  splitter_->setSizes({width() - table, table});
}

}  // namespace warpmeter::gui
