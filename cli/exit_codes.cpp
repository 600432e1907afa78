// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.h"

#include <cstdio>

#include "cli/text.h"

namespace warpmeter::cli {

int exitCodeOf(ErrorKind kind, Verb verb) {
  switch (kind) {
    case ErrorKind::usage:
      return kBadInput;
    case ErrorKind::exists:
    case ErrorKind::notFound:
    case ErrorKind::isDirectory:
    case ErrorKind::noPermission:
    case ErrorKind::empty:
    case ErrorKind::foreign:
    case ErrorKind::newerMajor:
    case ErrorKind::truncated:
    case ErrorKind::unsupported:
    case ErrorKind::diskFull:
    case ErrorKind::busy:
    case ErrorKind::io:
    case ErrorKind::cancelled:
    case ErrorKind::internal:
      return verb == Verb::record ? kNotStarted : kBadInput;
  }
  return kBadInput;
}

int fail(const Error& error, Verb verb) {
  std::fprintf(stderr, "warpmeter: %s\n", harmless(error.message).c_str());
  return exitCodeOf(error.kind, verb);
}

}  // namespace warpmeter::cli
