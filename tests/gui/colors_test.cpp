// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/span_colors.h"
#include "models/theme.h"

namespace warpmeter::gui {
namespace {

std::vector<QRgb> colorsOf(const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return colorsByName(views);
}

TEST(SpanColors, TheMostImportantNamesNeverShareAHue) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("kernel_" + std::to_string(i));
  const std::vector<QRgb> colors = colorsOf(names);
  EXPECT_EQ(std::set<QRgb>(colors.begin(), colors.begin() + kHues).size(), kHues);
  EXPECT_EQ(std::set<QRgb>(colors.begin(), colors.begin() + 3 * kHues).size(), 3 * kHues);
  EXPECT_EQ(colors.size(), names.size());
}

TEST(SpanColors, ANameKeepsItsColourWhereItIsFree) {
  const QRgb alone = colorsOf({"gemm_bf16_128x256"})[0];
  EXPECT_EQ(colorsOf({"gemm_bf16_128x256", "softmax", "layer_norm"})[0], alone);
  EXPECT_EQ(alone, colorsOf({"gemm_bf16_128x256"})[0]);
}

TEST(Theme, TextIsReadableOnEveryBar) {
  EXPECT_EQ(readableOn(qRgb(255, 255, 0)), qRgb(0, 0, 0));
  EXPECT_EQ(readableOn(qRgb(0, 0, 120)), qRgb(255, 255, 255));
}

TEST(Theme, FollowsThePalette) {
  EXPECT_FALSE(Theme::from(lightPalette()).dark);
  EXPECT_TRUE(Theme::from(darkPalette()).dark);
  EXPECT_EQ(mixed(qRgb(0, 100, 200), qRgb(100, 0, 200), 0.5), qRgb(50, 50, 200));
}

}  // namespace
}  // namespace warpmeter::gui
