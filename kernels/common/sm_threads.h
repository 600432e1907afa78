// SPDX-License-Identifier: Apache-2.0
// For launch bounds that ask for as many blocks as fill an SM: more is an error of ptxas.
#pragma once

// Threads that an SM takes, of the chip that this pass compiles for. CUDA C++ Programming Guide, table
// "Technical Specifications per Compute Capability".
#if !defined(__CUDA_ARCH__)
constexpr int kThreadsOfSm = 2048;
#elif __CUDA_ARCH__ == 750
constexpr int kThreadsOfSm = 1024;
#elif __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
constexpr int kThreadsOfSm = 2048;
#else
constexpr int kThreadsOfSm = 1536;
#endif
