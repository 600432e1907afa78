// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include "cli/text.h"
#include "warpmeter/profile/ids.h"

namespace warpmeter::cli {

Json jsonFor(std::string_view verb) {
  return Json{{"schema", "warpmeter." + std::string(verb)}, {"version", 1}};
}

Json toJson(const analyzer::Metric& metric) {
  return Json{{"value", orNull(metric.value)},
              {"low", orNull(metric.low)},
              {"high", orNull(metric.high)},
              {"samples", metric.samples},
              {"provenance", metric.value ? Json(analyzer::named(metric.provenance).id) : Json(nullptr)},
              {"reason", metric.reason ? Json(analyzer::named(*metric.reason).id) : Json(nullptr)}};
}

Json intOrNull(std::int64_t value) { return isNull(value) ? Json(nullptr) : Json(value); }

Json dimsToJson(const std::int32_t (&dims)[3]) { return Json::array({dims[0], dims[1], dims[2]}); }

std::string printed(const Json& json) {
  return harmlessJson(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace warpmeter::cli
