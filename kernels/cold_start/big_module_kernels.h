// SPDX-License-Identifier: Apache-2.0
// Hundreds of kernels in one module, as a large library has them.
#pragma once

namespace bigModule {

constexpr int kKernels = 256;

// x[i] = the polynomial of kernel number index, of x[i]. Asynchronous, in the default stream.
void launch(int index, unsigned blocks, unsigned block, float* x);

// What kernel number index does to one value, for the CPU.
double reference(int index, double x);

}  // namespace bigModule
