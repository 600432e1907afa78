// SPDX-License-Identifier: Apache-2.0
// Text for terminals: harmless whatever the recording holds, measured in columns, laid out in tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmeter::cli {

// Valid UTF-8 without anything a terminal would obey: control bytes and bidirectional overrides become \xNN
// or \u{NNNN}, invalid bytes become U+FFFD.
std::string harmless(std::string_view text);

// The same for valid JSON, whose value stays the same: what a terminal would obey becomes \uNNNN.
std::string harmlessJson(std::string_view json);

// Columns on a terminal: code points of valid UTF-8, escape sequences for colours not counted.
std::size_t columnsOf(std::string_view text);

// At most `columns` columns; what is cut ends in "…".
std::string cutTo(std::string_view text, std::size_t columns);

// The same, but what is cut is in the middle: kernel names differ at both ends.
std::string cutMiddle(std::string_view text, std::size_t columns);

std::string padLeft(std::string_view text, std::size_t columns);   // right-aligned
std::string padRight(std::string_view text, std::size_t columns);  // left-aligned

// Breaks `text` at spaces so that no line is longer than `width`; lines after the first begin with `indent`
// spaces.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

// Escape sequences, empty when colours are off.
struct Style {
  bool colour = false;
  std::size_t width = 110;  // lines are cut here; 0 = never
  std::string heading(std::string_view text) const { return paint(text, "1"); }
  std::string dim(std::string_view text) const { return paint(text, "2"); }
  std::string good(std::string_view text) const { return paint(text, "32"); }
  std::string warn(std::string_view text) const { return paint(text, "33"); }
  std::string bad(std::string_view text) const { return paint(text, "31"); }
  std::string line(std::string_view text) const {
    return width == 0 ? std::string(text) : cutTo(text, width);
  }

 private:
  std::string paint(std::string_view text, std::string_view code) const;
};

// Colours only when `fd` is a terminal that has them and NO_COLOR is not set.
Style styleFor(int fd, bool wide = false);

// Rows of cells under optional headings; each column as wide as its widest cell, two blanks between columns.
class TextTable {
 public:
  enum class Align { left, right };
  explicit TextTable(std::vector<Align> columns) : align_(std::move(columns)) {}
  void heading(std::vector<std::string> cells) { heading_ = std::move(cells); }
  void row(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  // What follows the last cell and is never cut; of several forms the first with which the cell need not be cut,
  // else the last. The cell is cut in its middle. A form that leaves it less than kLeastCell columns gets a line of
  // its own.
  void row(std::vector<std::string> cells, std::vector<std::string> tails) {
    rows_.push_back({std::move(cells), std::move(tails)});
  }
  // A line below the last row, over all columns; cut where the width ends.
  void line(std::string text) { rows_.push_back({{}, {}, std::move(text)}); }
  bool empty() const { return rows_.empty(); }
  // Lines with a newline each; the last column is cut where the style's width ends, what has a tail before that.
  std::string render(const Style& style, std::size_t indent = 1) const;

 private:
  std::vector<Align> align_;
  std::vector<std::string> heading_;
  static constexpr std::size_t kLeastCell = 12;
  struct Row {
    std::vector<std::string> cells, tails;
    std::string line = {};
  };
  // The last cell and its tail in `room` columns; a line break in between if there is no other way.
  static std::string withTail(const Row& row, std::size_t room, std::size_t width);
  std::vector<Row> rows_;
};

// "3 streams", "1 stream"
std::string counted(std::int64_t count, std::string_view singular, std::string_view plural = "");

}  // namespace warpmeter::cli
