// SPDX-License-Identifier: Apache-2.0
#include "widgets/hover_box.h"

#include <algorithm>

namespace warpmeter::gui {
namespace {

constexpr int kAwayPx = 16;
constexpr int kLongestTitle = 70;
constexpr int kLongestValue = 90;

QString escaped(const std::string& text, int longest) {
  QString out = QString::fromStdString(text);
  if (out.size() > longest) out = out.left(longest - 1) + QChar(u'\u2026');
  return out.toHtmlEscaped();
}

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
  setText(htmlOf(text));
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

QString htmlOf(const analyzer::SpanText& text) {
  QString html = QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='0'>").arg(escaped(text.title, kLongestTitle));
  for (const auto& [name, value] : text.lines) {
    html += QStringLiteral("<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>")
                .arg(escaped(name, kLongestValue), escaped(value, kLongestValue));
  }
  return html + QStringLiteral("</table>");
}

}  // namespace warpmeter::gui
