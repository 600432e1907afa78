// SPDX-License-Identifier: Apache-2.0
// One line of the text that profile_builder.h describes: words, key=value pairs, times and sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmeter::support {

// What is wrong with a line; writeProfile turns it into an Error.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t parseTime(std::string_view text);  // "12us", "-3", "1.5ms" -> ns
std::int64_t parseSize(std::string_view text);  // "4", "2KiB", "1MiB" -> bytes

class DslLine {
 public:
  explicit DslLine(std::string_view line);  // comments are removed

  bool empty() const { return words_.empty(); }
  const std::string& word(std::size_t i) const;  // [0] is the verb
  bool flag(std::string_view name) const;        // a bare word behind the positional ones

  std::int64_t time(std::size_t i) const { return parseTime(word(i)); }
  std::pair<std::int64_t, std::int64_t> span(std::size_t i) const;     // "A..B"
  std::pair<std::int64_t, std::int64_t> process(std::size_t i) const;  // "PID/TID"; "PID" = main thread

  std::optional<std::string> text(std::string_view key) const;
  std::int64_t number(std::string_view key, std::int64_t fallback) const;  // sizes too
  std::int64_t timeOf(std::string_view key, std::int64_t fallback) const;
  std::vector<std::int64_t> dims(std::string_view key, std::int64_t fallback) const;  // three

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace warpmeter::support
