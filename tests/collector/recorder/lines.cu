// SPDX-License-Identifier: Apache-2.0
// Code whose lines pc_process_test.cpp knows; compiled with and without -lineinfo.
__device__ float squareOf(float x) {
  return x * x + 1.0f;
}
extern "C" __global__ void square(float* values, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] = squareOf(values[i]);
}
