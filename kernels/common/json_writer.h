// SPDX-License-Identifier: Apache-2.0
// A JSON text built from left to right; commas and escapes are the writer's business.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpmeter::kernels {

class JsonWriter {
 public:
  void beginObject() { open('{'); }
  void endObject() { close('}'); }
  void beginArray() { open('['); }
  void endArray() { close(']'); }

  void key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    first_ = true;
  }

  void value(std::string_view text) {
    separate();
    quote(text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) {
    separate();
    text_ += flag ? "true" : "false";
  }
  template <std::integral T>
  void value(T number) {
    separate();
    text_ += std::to_string(number);
  }
  void value(double number) {
    if (!std::isfinite(number)) {
      null();
      return;
    }
    separate();
    char digits[40];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  void null() {
    separate();
    text_ += "null";
  }

  template <class T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  const std::string& text() const { return text_; }

 private:
  void open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void separate() {
    if (!first_) {
      text_ += ',';
    }
    first_ = false;
  }
  void quote(std::string_view text) {
    text_ += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20) {
        constexpr char kHex[] = "0123456789abcdef";
        text_ += "\\u00";
        text_ += kHex[byte >> 4];
        text_ += kHex[byte & 15];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace warpmeter::kernels
