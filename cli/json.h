// SPDX-License-Identifier: Apache-2.0
// The one way to print JSON: fixed beginning, key order kept, valid whatever the texts hold.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "warpmeter/analyzer/metric.h"

namespace warpmeter::cli {

using Json = nlohmann::ordered_json;

// {"schema":"warpmeter.<verb>","version":1}
Json jsonFor(std::string_view verb);

// {"value":…,"low":…,"high":…,"samples":…,"provenance":…,"reason":…}
Json toJson(const analyzer::Metric& metric);

template <class T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json intOrNull(std::int64_t value);  // kNull becomes null
Json dimsToJson(const std::int32_t (&dims)[3]);

// Two blanks a level, a newline at the end; bytes that are no UTF-8 become U+FFFD; nothing that a terminal would obey.
std::string printed(const Json& json);

}  // namespace warpmeter::cli
