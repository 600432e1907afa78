// SPDX-License-Identifier: Apache-2.0
// Numbers and names for people, the same in the report and the window.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warpmeter/analyzer/finding.h"

namespace warpmeter::analyzer {

// Three digits and a unit, scaled: "266 us", "3.19 s", "41.2 ms", "0 ns".
std::string formatTime(std::int64_t ns);
std::string formatBytes(std::int64_t bytes);  // powers of ten: "4.10 GB"
std::string formatRate(double bytesPerSec);   // "10.0 GB/s"
std::string formatCount(std::int64_t count);  // groups of three: "85 240"
std::string formatPercent(double percent);    // "41.2 %"; never "100 %" for less than 100
std::string formatValue(double value, Unit unit);
std::string formatDims(const std::int32_t (&dims)[3]);  // "264", "16,16", "8,8,4"

// The identifier of a demangled kernel name: no return type, namespaces, template or function arguments.
// "void at::native::elementwise_kernel<4, Op>(int, Op)" -> "elementwise_kernel". Names of other kinds stay.
std::string shortKernelName(std::string_view demangled);

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string_view apiBaseName(std::string_view name);

}  // namespace warpmeter::analyzer
