// SPDX-License-Identifier: Apache-2.0
#include "kernel_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace warpmeter::recorder {
namespace {

bool identifierChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

constexpr std::string_view kOperator = "operator";

// The symbol after the word operator: "()", "[]", "<<=", "->", " new[]", " unsigned int" (a conversion).
// Returns its end; only punctuation is followed, since a conversion ends at the parameter list.
std::size_t operatorEnd(std::string_view s, std::size_t at) {
  if (s.substr(at).starts_with("()") || s.substr(at).starts_with("[]")) return at + 2;
  static constexpr std::string_view kSymbols[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>", "->", "<=", ">=", "==", "!=",
                                                  "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                                  "^=", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "^", "!",
                                                  "~", ","};
  for (const std::string_view symbol : kSymbols) {
    if (s.substr(at).starts_with(symbol)) return at + symbol.size();
  }
  return s.find('(', at) == s.npos ? s.size() : s.find('(', at);
}

struct Span {
  std::size_t begin = 0, end = 0;
};

// Walks over the declarator once. At depth 0 of <>, (), [], {} it remembers the last identifier that starts a scope
// part; the parameter list is the parenthesis that follows such an identifier (or its template arguments).
Span lastIdentifier(std::string_view s) {
  Span last;
  int depth = 0;
  std::size_t i = 0;
  while (i < s.size()) {
    const char c = s[i];
    if (depth == 0 && s.substr(i).starts_with(kOperator) && (i == 0 || !identifierChar(s[i - 1])) &&
        (i + kOperator.size() == s.size() || !identifierChar(s[i + kOperator.size()]))) {
      last = {i, operatorEnd(s, i + kOperator.size())};
      i = last.end;
      continue;
    }
    if (depth == 0 && c == '(') {
      const bool part = s.substr(i).starts_with("(anonymous namespace)") || (i > 0 && s[i - 1] == ':');
      const bool pointerReturn = i > 0 && s[i - 1] == ' ' && s.substr(i).starts_with("(*");
      if (!part && !pointerReturn && last.end > last.begin) {
        // A local class: "f(int)::{lambda()#1}::operator()() const" goes on after the list.
        int level = 0;
        std::size_t j = i;
        for (; j < s.size(); ++j) {
          level += s[j] == '(' ? 1 : s[j] == ')' ? -1 : 0;
          if (level == 0) break;
        }
        std::size_t after = j + 1;
        if (s.substr(std::min(after, s.size())).starts_with(" const")) after += 6;
        if (!s.substr(std::min(after, s.size())).starts_with("::")) return last;
        i = after;
        continue;
      }
    }
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (depth > 0 && !(c == '>' && i > 0 && s[i - 1] == '-')) --depth;
    } else if (depth == 0 && identifierChar(c)) {
      const std::size_t begin = i;
      while (i < s.size() && identifierChar(s[i])) ++i;
      last = {begin, i};
      continue;
    }
    ++i;
  }
  return last;
}

}  // namespace

std::string demangle(std::string_view name) {
  if (name.size() > kMaxDemangleBytes || !name.starts_with("_Z")) return std::string(name);
  const std::string terminated(name);
  int status = 0;
  char* text = abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return terminated;
  const std::size_t length = strnlen(text, kMaxDemangledBytes + 1);
  std::string result = length > kMaxDemangledBytes ? terminated : std::string(text, length);
  std::free(text);
  return result;
}

std::string shortKernelName(std::string_view s) {
  const bool declarator = s.find('(') != s.npos || s.find('<') != s.npos || s.find("::") != s.npos;
  if (!declarator || s.starts_with("_Z")) return std::string(s);
  const Span span = lastIdentifier(s);
  if (span.end <= span.begin) return std::string(s);
  std::string result(s.substr(span.begin, span.end - span.begin));
  return result;
}

}  // namespace warpmeter::recorder
