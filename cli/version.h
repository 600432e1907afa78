// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace warpmeter::cli {

// "warpmeter 0.1.0 (CUDA programs can be recorded)" with a newline.
std::string versionLine();

}  // namespace warpmeter::cli
