// SPDX-License-Identifier: Apache-2.0
// When work ran on a GPU that the kernel table does not hold: launches without times, and lost records.
#pragma once

#include <cstdint>

#include "src/intervals.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

struct UnknownWork {
  IntervalSet when;
  // Something was lost and nobody knows when: what looks like foreign work may be ours.
  bool anywhere = false;
};

// Launches of a stream run in order of their correlation ids: one without times ran between its neighbours.
UnknownWork unknownWorkOf(const ProfileView& view, std::uint32_t gpu);

}  // namespace warpmeter::analyzer
