// SPDX-License-Identifier: Apache-2.0
#include "quoting.h"

namespace warpmeter {

namespace {

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+";

}  // namespace

std::string joinCommandLine(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& argument : argv) {
    if (!out.empty()) out += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      out += argument;
      continue;
    }
    out += '\'';
    for (const char c : argument) {
      if (c == '\'') {
        out += "'\\''";
      } else {
        out += c;
      }
    }
    out += '\'';
  }
  return out;
}

std::vector<std::string> splitCommandLine(std::string_view text) {
  std::vector<std::string> argv;
  bool inArgument = false, inQuotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!inQuotes && c == ' ') {
      inArgument = false;
      continue;
    }
    if (!inArgument) {
      argv.emplace_back();
      inArgument = true;
    }
    if (c == '\'') {
      inQuotes = !inQuotes;
    } else if (!inQuotes && c == '\\' && i + 1 < text.size()) {
      argv.back() += text[++i];
    } else {
      argv.back() += c;
    }
  }
  return argv;
}

}  // namespace warpmeter
