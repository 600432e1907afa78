// SPDX-License-Identifier: Apache-2.0
// ElidedLabel: one line of plain text that ends in dots where it does not fit, with the whole text as tool
// tip.
#pragma once

#include <QLabel>
#include <QPainter>

namespace warpmeter::gui {

class ElidedLabel : public QLabel {
 public:
  explicit ElidedLabel(QWidget* parent) : QLabel(parent) {
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // a long line must not widen the window
  }

  void setLine(const QString& text) {
    setText(text);
    setToolTip(text);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    const QRect room = contentsRect();
    painter.drawText(room, Qt::AlignVCenter | Qt::TextSingleLine,
                     fontMetrics().elidedText(text(), Qt::ElideRight, room.width()));
  }
};

}  // namespace warpmeter::gui
