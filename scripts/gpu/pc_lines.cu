// SPDX-License-Identifier: Apache-2.0
// For verify_pc.py: two kernels whose warps wait at lines that are known. The words LOAD and BARRIER mark them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void chase(const unsigned* next, unsigned* out, int steps) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < steps; ++i) {
    at = next[at];  // LOAD
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void meet(float* out, int steps) {
  float x = static_cast<float>(threadIdx.x);
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x < 32) {
      for (int k = 0; k < 64; ++k) x = x * 1.0001f + 0.5f;
    }
    __syncthreads();  // BARRIER
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 200;
  constexpr int kBlocks = 1056, kThreads = 256;
  constexpr unsigned kWords = 1u << 26;  // 256 MiB: no cache holds it
  unsigned *next = nullptr, *out = nullptr;
  auto* host = static_cast<unsigned*>(std::malloc(kWords * sizeof(unsigned)));
  for (unsigned i = 0; i < kWords; ++i) host[i] = (i * 2654435761u + 12345u) % kWords;
  bool good = cudaMalloc(&next, kWords * sizeof(unsigned)) == cudaSuccess &&
              cudaMalloc(&out, kBlocks * kThreads * sizeof(unsigned)) == cudaSuccess &&
              cudaMemcpy(next, host, kWords * sizeof(unsigned), cudaMemcpyHostToDevice) == cudaSuccess;
  for (int i = 0; good && i < launches; ++i) {
    chase<<<kBlocks, kThreads>>>(next, out, 200);
    meet<<<kBlocks, kThreads>>>(reinterpret_cast<float*>(out), 200);
  }
  good = good && cudaDeviceSynchronize() == cudaSuccess;
  std::printf("%s\n", good ? "done" : cudaGetErrorString(cudaGetLastError()));
  return good ? 0 : 1;
}
