// SPDX-License-Identifier: Apache-2.0
// `warpmeter-sampler --source-lines [--cupti PATH]`: answers wire::LineRequests (instruction of an image of
// code -> file and line) by cuptiGetSassToSourceCorrelation, which needs neither GPU nor driver and takes
// 10-15 us an instruction.
#pragma once

namespace warpmeter::sampler {

bool isLineCommand(int argc, const char* const* argv);
// Exit codes: 0; 1 with "REASON_ID text" on standard error; 2 usage or a request that is none.
int lineMain(int argc, const char* const* argv);

}  // namespace warpmeter::sampler
