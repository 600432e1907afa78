// SPDX-License-Identifier: Apache-2.0
// Rows of one lane -> columns, sorted; and more rows behind columns that are there.
#pragma once

#include <vector>

#include "src/view/parts.h"
#include "warpmeter/analyzer/lanes.h"

namespace warpmeter::analyzer {

// Each takes the new rows of a lane in any order. Columns are shared with the old lane unless a new row
// starts before the last old one.
void extend(Kernels& lane, std::vector<RawKernel> rows);
void extend(Copies& lane, std::vector<RawCopy> rows);
void extend(ApiCalls& lane, std::vector<RawApi> rows);
void extend(NvtxRanges& lane, std::vector<RawNvtx> rows);  // domain resolved, end known

}  // namespace warpmeter::analyzer
