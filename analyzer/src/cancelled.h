// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warpmeter/profile/result.h"

namespace warpmeter::analyzer {

inline Error cancelled() { return {ErrorKind::cancelled, "the analysis was cancelled"}; }

}  // namespace warpmeter::analyzer
