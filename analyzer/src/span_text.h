// SPDX-License-Identifier: Apache-2.0
// What a front end says about one span.
#pragma once

#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::analyzer {

std::string labelOf(const ProfileView& view, const Track& track, std::uint32_t item);
SpanText describeSpan(const ProfileView& view, const Track& track, std::uint32_t item);

}  // namespace warpmeter::analyzer
