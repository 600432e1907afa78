// SPDX-License-Identifier: Apache-2.0
#include "widgets/hover_box.h"

#include <algorithm>

#include "widgets/rich_text.h"

namespace warpmeter::gui {
namespace {

constexpr int kAwayPx = 16;
constexpr int kLongestTitle = 70;

}  // namespace

HoverBox::HoverBox(QWidget* parent) : QLabel(parent) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::ToolTipBase);
  setForegroundRole(QPalette::ToolTipText);
  setFrameStyle(QFrame::Box | QFrame::Plain);
  setMargin(6);
  setTextFormat(Qt::RichText);
  hide();
}

void HoverBox::showAt(QPoint pointer, const analyzer::SpanText& text) {
  setText(richText(text.title, text.lines, kLongestTitle));
  adjustSize();
  const QRect room = parentWidget()->rect();
  int left = pointer.x() + kAwayPx;
  if (left + width() > room.right()) left = pointer.x() - kAwayPx - width();
  int top = pointer.y() + kAwayPx;
  if (top + height() > room.bottom()) top = pointer.y() - kAwayPx - height();
  move(std::max(left, 0), std::max(top, 0));
  show();
  raise();
}

}  // namespace warpmeter::gui
