// SPDX-License-Identifier: Apache-2.0
// Names and values as a small table in rich text; everything is escaped (templates are full of angle
// brackets).
#pragma once

#include <QString>
#include <span>
#include <string>
#include <utility>

namespace warpmeter::gui {

QString richText(const std::string& title, std::span<const std::pair<std::string, std::string>> lines,
                 int longestTitle);

}  // namespace warpmeter::gui
