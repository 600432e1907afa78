// SPDX-License-Identifier: Apache-2.0
// Exit codes of every verb, in one place.
#pragma once

#include "cli/options.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;        // kernels: a bundled program failed
inline constexpr int kBadInput = 2;      // usage, and input that cannot be opened as a profile
inline constexpr int kIncomplete = 3;    // --strict
inline constexpr int kImpossible = 4;    // doctor: nothing can be recorded here, or --require not met
inline constexpr int kNotStarted = 125;  // record: our own failure before the application ran
inline constexpr int kNotExecutable = 126;
inline constexpr int kProgramNotFound = 127;

// For an error that ends `verb` before it did its work.
int exitCodeOf(ErrorKind kind, Verb verb);

// "warpmeter: <message>" on stderr; returns the code.
int fail(const Error& error, Verb verb);

}  // namespace warpmeter::cli
