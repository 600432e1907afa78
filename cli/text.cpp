// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

// Length of the code point at `at`, 0 when the bytes are no valid UTF-8 (overlong, surrogate, cut off).
std::size_t codePointAt(std::string_view s, std::size_t at, char32_t& out) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(at);
  std::size_t length = 1;
  char32_t value = lead, least = 0;
  if (lead >= 0x80) {
    if (lead >= 0xc2 && lead <= 0xdf)
      length = 2, value = lead & 0x1f, least = 0x80;
    else if ((lead & 0xf0) == 0xe0)
      length = 3, value = lead & 0x0f, least = 0x800;
    else if (lead >= 0xf0 && lead <= 0xf4)
      length = 4, value = lead & 0x07, least = 0x10000;
    else
      return 0;
  }
  if (at + length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(at + i) & 0x3f);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
  out = value;
  return length;
}

bool obeyed(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x061c || c == 0x200e || c == 0x200f || c == 0x2028 || c == 0x2029;
}

// Length of the colour sequence at `at`, 0 when there is none.
std::size_t colourAt(std::string_view s, std::size_t at) {
  if (s[at] != '\x1b') return 0;
  const auto end = s.find('m', at);
  return end == std::string_view::npos ? 0 : end - at + 1;
}

}  // namespace

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const auto length = codePointAt(text, i, c);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    if (!obeyed(c))
      out += text.substr(i, length);
    else if (c < 0x100)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += fmt::format("\\u{{{:04x}}}", static_cast<unsigned>(c));
    i += length;
  }
  return out;
}

std::string harmlessJson(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size();) {
    char32_t c = 0;
    const auto length = std::max<std::size_t>(1, codePointAt(json, i, c));
    // Below 0x20 there is only the layout: inside texts JSON itself asks for escapes.
    if (c >= 0x7f && obeyed(c))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += json.substr(i, length);
    i += length;
  }
  return out;
}

std::size_t columnsOf(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const auto skip = colourAt(text, i); skip > 0) {
      i += skip;
      continue;
    }
    char32_t c = 0;
    i += std::max<std::size_t>(1, codePointAt(text, i, c));
    ++columns;
  }
  return columns;
}

std::string cutTo(std::string_view text, std::size_t columns) {
  if (columnsOf(text) <= columns) return std::string(text);
  std::string out;
  std::size_t used = 0;
  bool coloured = false;
  for (std::size_t i = 0; i < text.size() && used + 1 < columns;) {
    if (const auto skip = colourAt(text, i); skip > 0) {
      out += text.substr(i, skip);
      coloured = true;
      i += skip;
      continue;
    }
    char32_t c = 0;
    const auto length = std::max<std::size_t>(1, codePointAt(text, i, c));
    out += text.substr(i, length);
    i += length;
    ++used;
  }
  out += "…";
  return coloured ? out + "\x1b[0m" : out;
}

std::string cutMiddle(std::string_view text, std::size_t columns) {
  if (columnsOf(text) <= columns || columns < 8) return cutTo(text, columns);
  const auto tail = (columns - 1) / 2;
  std::size_t at = text.size();
  for (std::size_t used = 0; at > 0 && used < tail;)
    if ((static_cast<unsigned char>(text[--at]) & 0xc0) != 0x80) ++used;
  return cutTo(text, columns - tail) + std::string(text.substr(at));
}

std::string padLeft(std::string_view text, std::size_t columns) {
  const auto have = columnsOf(text);
  return std::string(columns > have ? columns - have : 0, ' ') + std::string(text);
}

std::string padRight(std::string_view text, std::size_t columns) {
  const auto have = columnsOf(text);
  return std::string(text) + std::string(columns > have ? columns - have : 0, ' ');
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out, line;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const auto word = text.substr(0, space);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return out + line;
}

std::string Style::paint(std::string_view text, std::string_view code) const {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

Style styleFor(int fd, bool wide) {
  const char* noColour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = !term || std::string_view(term) == "dumb";
  Style style;
  style.colour = isatty(fd) && !dumb && !(noColour && *noColour);
  if (wide) style.width = 0;
  return style;
}

std::string TextTable::withTail(const Row& row, std::size_t room, std::size_t width) {
  const std::string& cell = row.cells.back();
  for (const auto& tail : row.tails)
    if (columnsOf(cell) + columnsOf(tail) <= room) return cell + tail;
  const std::string& tail = row.tails.back();
  const auto used = columnsOf(tail);
  if (room >= used + std::min(kLeastCell, columnsOf(cell))) return cutMiddle(cell, room - used) + tail;
  return cutMiddle(cell, room) + "\n" + padLeft(cutTo(tail, width), width);
}

std::string TextTable::render(const Style& style, std::size_t indent) const {
  std::vector<std::size_t> widths(align_.size(), 0);
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], columnsOf(cells[i]));
  };
  measure(heading_);
  for (const auto& row : rows_) measure(row.cells);
  const auto layOut = [&](const Row& row) {
    const auto& cells = row.cells;
    if (cells.empty()) return style.line(std::string(indent, ' ') + row.line);
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      if (i + 1 == cells.size() && !row.tails.empty()) {
        const auto used = columnsOf(line);
        return line + (style.width == 0
                           ? cells[i] + row.tails.front()
                           : withTail(row, style.width - std::min(style.width, used), style.width));
      }
      line += align_[i] == Align::right ? padLeft(cells[i], widths[i]) : padRight(cells[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return style.line(line);
  };
  std::string out;
  if (!heading_.empty()) out += style.dim(layOut({heading_, {}})) + "\n";
  for (const auto& row : rows_) out += layOut(row) + "\n";
  return out;
}

std::string counted(std::int64_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", analyzer::formatCount(count),
                     count == 1       ? std::string(singular)
                     : plural.empty() ? std::string(singular) + "s"
                                      : std::string(plural));
}

}  // namespace warpmeter::cli
