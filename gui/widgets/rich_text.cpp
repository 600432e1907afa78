// SPDX-License-Identifier: Apache-2.0
#include "widgets/rich_text.h"

namespace warpmeter::gui {
namespace {

constexpr int kLongestValue = 90;

// With places where a long name may be broken: it holds no blanks of its own.
QString breakable(QString text) {
  for (qsizetype i = text.size() - 1; i > 0; --i) {
    if (text[i - 1] == u'_' || text[i - 1] == u':' || text[i - 1] == u'<') text.insert(i, QChar(u'\u200b'));
  }
  return text;
}

QString escaped(const std::string& text, int longest) {
  QString out = QString::fromStdString(text);
  if (out.size() > longest) out = out.left(longest - 1) + QChar(u'\u2026');
  return breakable(out).toHtmlEscaped();
}

}  // namespace

QString richText(const std::string& title, std::span<const std::pair<std::string, std::string>> lines,
                 int longestTitle) {
  QString html =
      QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='0'>").arg(escaped(title, longestTitle));
  for (const auto& [name, value] : lines) {
    html += QStringLiteral("<tr><td style='padding-right:12px'>%1</td><td>%2</td></tr>")
                .arg(escaped(name, kLongestValue), escaped(value, kLongestValue));
  }
  return html + QStringLiteral("</table>");
}

}  // namespace warpmeter::gui
