// SPDX-License-Identifier: Apache-2.0
#include "widgets/rich_text.h"

namespace warpmeter::gui {
namespace {

constexpr int kLongestValue = 90;

QString escaped(const std::string& text, int longest) {
  QString out = QString::fromStdString(text);
  if (out.size() > longest) out = out.left(longest - 1) + QChar(u'\u2026');
  return out.toHtmlEscaped();
}

}  // namespace

QString richText(const std::string& title, std::span<const std::pair<std::string, std::string>> lines, int longestTitle) {
  QString html = QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='0'>").arg(escaped(title, longestTitle));
  for (const auto& [name, value] : lines) {
    html += QStringLiteral("<tr><td style='padding-right:12px'>%1</td><td>%2</td></tr>")
                .arg(escaped(name, kLongestValue), escaped(value, kLongestValue));
  }
  return html + QStringLiteral("</table>");
}

}  // namespace warpmeter::gui
