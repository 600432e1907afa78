// SPDX-License-Identifier: Apache-2.0
// The variant wgmma of tensor: operands go from shared memory into the tensor cores without registers in
// between, and one thread keeps the copy engine (TMA) busy ahead of them. This file alone is compiled for
// sm_90a; other GPUs have no image of it.
#include <cuda.h>

#include "common/gpu.h"
#include "common/wgmma.cuh"
#include "compute/tensor_hopper.h"

namespace warpmeter::kernels {
namespace {

// Knobs: kStages tiles of kDepth columns of A and rows of B are on their way or in use; 48 KiB each.
constexpr int kStages = 4;
constexpr int kDepth = 64;     // 128 bytes of BF16: a row of the copy engine's pattern of 8 rows
constexpr int kConsumers = 2;  // warpgroups that multiply: 64 x 256 of C each
constexpr int kThreads = 128 * (kConsumers + 1);
constexpr int kBytesA = HopperProduct::kRows * kDepth * 2;
constexpr int kBytesB = HopperProduct::kColumns * kDepth * 2;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kPatternBytes = 1024;  // 8 rows of 128 bytes, whose 16-byte pieces the swizzle permutes
static_assert(kWgmmaRows * kConsumers == HopperProduct::kRows && kWgmmaColumns == HopperProduct::kColumns);

// Descriptor of a matrix whose rows are 128 bytes long and swizzled. In units of 16 bytes: address at bit 0,
// step to the next 8 rows at bit 32; 1 at bit 62: swizzle of 128 bytes.
__device__ std::uint64_t descriptorOf(std::uint32_t shared) {
  return (shared & 0x3ffff) >> 4 | std::uint64_t{1} << 16 | std::uint64_t{kPatternBytes >> 4} << 32 |
         std::uint64_t{1} << 62;
}

// A barrier in shared memory with phases; parity is that of the phase to wait for.
struct Gate {
  std::uint32_t address;

  __device__ void open(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals) : "memory");
  }
  __device__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }
  __device__ void arriveAndExpect(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
                 : "memory");
  }
  __device__ void wait(int parity) const {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(address),
        "r"(parity)
        : "memory");
  }
};

__device__ void copyTile(std::uint32_t to, const CUtensorMap& map, int column, int row, Gate gate) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(gate.address)
      : "memory");
}

__global__ void __launch_bounds__(kThreads, 1)
    tensorHopperKernel(int n, const __grid_constant__ CUtensorMap mapA,
                       const __grid_constant__ CUtensorMap mapB, float* __restrict__ c) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  __shared__ std::uint64_t gates[2 * kStages];
  const auto stages = (static_cast<std::uint32_t>(__cvta_generic_to_shared(memory)) + kPatternBytes - 1) /
                      kPatternBytes * kPatternBytes;
  const auto firstGate = static_cast<std::uint32_t>(__cvta_generic_to_shared(gates));
  const auto full = [&](int stage) { return Gate{firstGate + 8 * stage}; };
  const auto empty = [&](int stage) { return Gate{firstGate + 8 * (kStages + stage)}; };
  const int thread = static_cast<int>(threadIdx.x);
  const int group = thread / 128;
  const int firstRow = static_cast<int>(blockIdx.y) * HopperProduct::kRows;
  const int firstColumn = static_cast<int>(blockIdx.x) * HopperProduct::kColumns;
  const int tiles = n / kDepth;
  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      full(stage).open(1);
      empty(stage).open(4 * kConsumers);  // one arrival a warp
    }
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  if (group == kConsumers) {
    if (thread % 128 == 0) {
      for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % kStages;
        empty(stage).wait(tile / kStages % 2 ^ 1);  // the first round waits for nothing
        full(stage).arriveAndExpect(kStageBytes);
        copyTile(stages + stage * kStageBytes, mapA, tile * kDepth, firstRow, full(stage));
        copyTile(stages + stage * kStageBytes + kBytesA, mapB, tile * kDepth, firstColumn, full(stage));
      }
    }
    return;
  }

  float sums[kWgmmaSums];
#pragma unroll
  for (float& sum : sums) {
    sum = 0;
  }
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % kStages;
    full(stage).wait(tile / kStages % 2);
    const std::uint64_t a = descriptorOf(stages + stage * kStageBytes + group * kWgmmaRows * 128);
    const std::uint64_t b = descriptorOf(stages + stage * kStageBytes + kBytesA);
    wgmmaFence();
#pragma unroll
    for (int step = 0; step < kDepth / kWgmmaDepth; ++step) {
      wgmma(sums, a + step * (kWgmmaDepth * 2 >> 4), b + step * (kWgmmaDepth * 2 >> 4));
    }
    wgmmaCommit();
    wgmmaWait<1>();  // the products before these have read their tile
    if (tile > 0 && thread % 32 == 0) {
      empty((tile - 1) % kStages).arrive();
    }
  }
  wgmmaWait<0>();

  // PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": two neighbours of a row, two of the eighth
  // below.
  const long long row = firstRow + thread / 32 * 16 + thread % 32 / 4;
  float* const place = c + row * n + firstColumn + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < kWgmmaColumns / 8; ++j) {
    *reinterpret_cast<float2*>(place + j * 8) = make_float2(sums[4 * j], sums[4 * j + 1]);
    *reinterpret_cast<float2*>(place + 8LL * n + j * 8) = make_float2(sums[4 * j + 2], sums[4 * j + 3]);
  }
#endif
}

// The driver's function: the runtime has none, and linking the driver would make it a need of the program.
CUtensorMap mapOf(const __nv_bfloat16* matrix, int n, int rows) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  WARPMETER_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                   cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw Failure{kExitFailed, "the driver has no cuTensorMapEncodeTiled"};
  }
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(n), static_cast<cuuint64_t>(n)};
  const cuuint64_t rowBytes[] = {2 * static_cast<cuuint64_t>(n)};
  const cuuint32_t box[] = {kDepth, static_cast<cuuint32_t>(rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult status = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(matrix), sizes, rowBytes, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw Failure{kExitFailed, "cuTensorMapEncodeTiled failed with error " + std::to_string(status)};
  }
  return map;
}

}  // namespace

struct HopperProduct::Maps {
  CUtensorMap a, b;
};

bool HopperProduct::possible() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(tensorHopperKernel)) == cudaSuccess) {
    return true;
  }
  cudaGetLastError();  // no image for this GPU: an answer, not a fault
  return false;
}

HopperProduct::HopperProduct(int n, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c)
    : n_(n), c_(c), maps_(new Maps{mapOf(a, n, kRows), mapOf(b, n, kColumns)}) {
  WARPMETER_CHECK(
      cudaFuncSetAttribute(tensorHopperKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes()));
}

HopperProduct::~HopperProduct() = default;

dim3 HopperProduct::grid() const {
  return {static_cast<unsigned>(n_ / kColumns), static_cast<unsigned>(n_ / kRows)};
}
dim3 HopperProduct::block() const { return kThreads; }
int HopperProduct::sharedBytes() const { return kStages * kStageBytes + kPatternBytes; }

void HopperProduct::launch() const {
  tensorHopperKernel<<<grid(), block(), static_cast<std::size_t>(sharedBytes())>>>(n_, maps_->a, maps_->b,
                                                                                   c_);
}

}  // namespace warpmeter::kernels
