// SPDX-License-Identifier: Apache-2.0
// The text of schema.sql and enums.sql, and the numbers that identify a file.
#pragma once

#include <cstdint>

namespace warpmeter {

extern const char* const kSchemaSql;
extern const char* const kEnumsSql;

inline constexpr std::int64_t kApplicationId = 0x574d5046;  // "WMPF"
inline constexpr std::int64_t kFormatMajor = 1;             // upper half of user_version
inline constexpr std::int64_t kFormatMinor = 1;             // lower half
inline constexpr const char* kFormatText = "1.1";

}  // namespace warpmeter
