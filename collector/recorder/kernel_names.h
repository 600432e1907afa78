// SPDX-License-Identifier: Apache-2.0
// Names of kernel functions: mangled as CUPTI gives them, demangled, and the bare identifier.
#pragma once

#include <string>
#include <string_view>

namespace warpmeter::recorder {

// Longer mangled names stay as they are: the demangler's time and memory may grow with the square of the length, and
// names of hundreds of kilobytes exist.
inline constexpr std::size_t kMaxDemangleBytes = 32 * 1024;
inline constexpr std::size_t kMaxDemangledBytes = 1024 * 1024;

// The demangled form, or `name` itself when it is not mangled, too long, or its expansion is.
std::string demangle(std::string_view name);

// "void ns::(anonymous namespace)::f<(int)4, T>(int)" -> "f"; "ns::S::operator()(int) const" -> "operator()".
// A name that is no C++ declarator (extern "C", Triton, device names of JIT compilers) stays as it is.
std::string shortKernelName(std::string_view demangled);

}  // namespace warpmeter::recorder
