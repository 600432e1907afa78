// SPDX-License-Identifier: Apache-2.0
#include "widgets/kernel_table.h"

#include <QEvent>
#include <QHeaderView>
#include <QScrollBar>
#include <QVBoxLayout>
#include <array>

#include "models/kernel_details.h"
#include "warpmeter/analyzer/format.h"
#include "widgets/rich_text.h"

namespace warpmeter::gui {
namespace {

constexpr int kLeastNamePx = 130;
constexpr int kColumnGapPx = 6;
constexpr int kLeastHeightForDetailsPx = 420;
constexpr int kLongestName = 240;

// Columns that go first when the table is narrow.
constexpr std::array kDispensable{KernelTableModel::median,    KernelTableModel::calls,
                                  KernelTableModel::heldBy,    KernelTableModel::total,
                                  KernelTableModel::occupancy, KernelTableModel::achieved,
                                  KernelTableModel::boundBy};

QString titleOf(const LoadedProfile& profile) {
  if (!profile.kernels) return QStringLiteral("Kernels");
  const analyzer::KernelSummary& kernels = *profile.kernels;
  const auto functions = kernels.functions.size();
  return QStringLiteral("Kernels: %1 distinct of %2 function%3, %4 in all")
      .arg(kernels.distinctCount)
      .arg(functions)
      .arg(functions == 1 ? QString() : QStringLiteral("s"))
      .arg(QString::fromStdString(analyzer::formatTime(kernels.kernelTimeNs)));
}

QTableView* makeTable(QAbstractItemModel* model, QWidget* parent) {
  auto* table = new QTableView(parent);
  table->setModel(model);
  table->setSortingEnabled(true);
  table->sortByColumn(KernelTableModel::total, Qt::DescendingOrder);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setAlternatingRowColors(true);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setFrameStyle(QFrame::NoFrame);
  table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->setIconSize({12, 12});
  QHeaderView* header = table->horizontalHeader();
  header->setHighlightSections(false);
  header->setSectionResizeMode(QHeaderView::Fixed);
  header->setSectionResizeMode(KernelTableModel::kernel, QHeaderView::Stretch);
  return table;
}

}  // namespace

KernelTable::KernelTable(ViewState* state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      title_(new QLabel(this)),
      note_(new QLabel(this)),
      details_(new QLabel(this)) {
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(KernelTableModel::sortRole);
  table_ = makeTable(&sorted_, this);
  title_->setMargin(6);
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  note_->setMargin(6);
  note_->setWordWrap(true);
  note_->setForegroundRole(QPalette::PlaceholderText);
  note_->hide();
  details_->setMargin(8);
  details_->setWordWrap(true);
  details_->setTextFormat(Qt::RichText);
  details_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  details_->setAutoFillBackground(true);
  details_->setBackgroundRole(QPalette::AlternateBase);
  details_->setTextInteractionFlags(Qt::TextSelectableByMouse);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(title_);
  layout->addWidget(table_, 1);
  layout->addWidget(note_);
  layout->addWidget(details_);

  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &KernelTable::selectionFromTable);
  connect(table_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    if (const auto function = functionAt(index)) emit longestRequested(*function);
  });
  connect(state_, &ViewState::selectionChanged, this, &KernelTable::selectionFromState);
}

void KernelTable::setProfile(std::shared_ptr<const LoadedProfile> profile) {
  if (profile) title_->setText(titleOf(*profile));
  profile_ = profile;
  model_.setProfile(std::move(profile));
  const QString reason = model_.missingReason();
  note_->setText(QStringLiteral(u"\u2014 ") + reason);
  note_->setVisible(!reason.isEmpty());
  fitColumns();
  selectionFromState();
}

std::optional<std::uint32_t> KernelTable::functionAt(const QModelIndex& proxyIndex) const {
  if (!proxyIndex.isValid()) return std::nullopt;
  return proxyIndex.data(KernelTableModel::functionRole).toUInt();
}

void KernelTable::selectionFromTable() {
  if (following_) return;
  const QModelIndexList rows = table_->selectionModel()->selectedRows();
  state_->selectFunction(rows.empty() ? std::nullopt : functionAt(rows.front()));
}

void KernelTable::selectionFromState() {
  following_ = true;
  const auto function = state_->selectedFunction();
  table_->clearSelection();
  for (int row = 0; function && row < sorted_.rowCount(); ++row) {
    const QModelIndex index = sorted_.index(row, KernelTableModel::kernel);
    if (functionAt(index) != function) continue;
    table_->selectRow(row);
    table_->scrollTo(index);
    break;
  }
  following_ = false;
  showDetails();
}

void KernelTable::showDetails() {
  const KernelDetails details =
      profile_ ? kernelDetails(*profile_, state_->selectedFunction().value_or(analyzer::kNone))
               : KernelDetails();
  details_->setText(richText(details.name, details.lines, kLongestName));
  details_->setVisible(!details.lines.empty() && height() >= kLeastHeightForDetailsPx);
}

// Every number is shown whole or not at all; the names get what is left.
void KernelTable::fitColumns() {
  const bool anyOccupancy = model_.hasOccupancy(), anyCounters = model_.hasCounters();
  int needed = kLeastNamePx + table_->verticalScrollBar()->sizeHint().width();
  for (int column = KernelTableModel::share; column < KernelTableModel::columns; ++column) {
    const bool empty =
        (!anyOccupancy && (column == KernelTableModel::occupancy || column == KernelTableModel::heldBy)) ||
        (!anyCounters && (column == KernelTableModel::achieved || column == KernelTableModel::boundBy));
    table_->setColumnHidden(column, empty);
    if (empty) continue;
    table_->resizeColumnToContents(column);
    table_->setColumnWidth(column, table_->columnWidth(column) + kColumnGapPx);
    needed += table_->columnWidth(column);
  }
  for (const int column : kDispensable) {
    if (needed <= width()) break;
    if (table_->isColumnHidden(column)) continue;
    needed -= table_->columnWidth(column);
    table_->setColumnHidden(column, true);
  }
}

void KernelTable::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitColumns();
  showDetails();
}

void KernelTable::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitColumns();
}

}  // namespace warpmeter::gui
