// SPDX-License-Identifier: Apache-2.0
// The kernels of cold_start, compiled twice from one source: into SASS for each GPU, and into PTX alone.
#pragma once

namespace coldStart {

constexpr int kKernels = 8;

// x[i] = the polynomial of kernel number index, of x[i]. Asynchronous, in the default stream.
void launchSass(int index, unsigned blocks, unsigned block, float* x);
void launchPtx(int index, unsigned blocks, unsigned block, float* x);

const char* kernelName(int index);

// What kernel number index does to one value, for the CPU.
double reference(int index, double x);

}  // namespace coldStart
