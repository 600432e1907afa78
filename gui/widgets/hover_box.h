// SPDX-License-Identifier: Apache-2.0
// HoverBox: what a bar is, shown beside the pointer without ever covering it or leaving its parent.
#pragma once

#include <QLabel>

#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::gui {

class HoverBox : public QLabel {
  Q_OBJECT
 public:
  explicit HoverBox(QWidget* parent);
  void showAt(QPoint pointer, const analyzer::SpanText& text);
};

}  // namespace warpmeter::gui
