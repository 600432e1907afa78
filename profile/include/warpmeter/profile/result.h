// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. Every function that can fail across a library border returns one.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace warpmeter {

// What went wrong, so that one place (the CLI) can map it to an exit code.
enum class ErrorKind {
  notFound,      // no such file
  isDirectory,   // a directory where a file was expected
  noPermission,  // the system refused
  empty,         // zero bytes
  foreign,       // a file, but not a profile
  newerMajor,    // written by a newer major version of Warpmeter
  truncated,     // a profile, but cut off or damaged
  unsupported,   // understood, but not built or not possible here
  exists,        // would overwrite
  diskFull,      // no space, or a file size limit
  busy,          // locked by someone else for too long
  io,            // any other system error
  usage,         // wrong arguments
  cancelled,     // std::stop_token asked for it
  internal,      // a bug of ours
};

// `message` is one complete line for a person: what, where (file name included), what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  explicit operator bool() const { return !failed_; }
  bool ok() const { return !failed_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace warpmeter
