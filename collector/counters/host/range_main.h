// SPDX-License-Identifier: Apache-2.0
// The modes of warpmeter-sampler that serve exact mode without touching a GPU:
//   --range-configs basic|full --chip NAME [--cupti PATH]  prints wire::Configurations
//   --range-values [--cupti PATH]                           answers wire::RangeRequests
// They run here and not in the recorded program because CUPTI's host library costs 113 MB and 90-170 ms.
#pragma once

namespace warpmeter::sampler {

bool isRangeCommand(int argc, const char* const* argv);
// Exit codes: 0; 1 with "REASON_ID text" on standard error (ids: warpmeter/analyzer/names.h); 2 usage.
int rangeMain(int argc, const char* const* argv);

}  // namespace warpmeter::sampler
