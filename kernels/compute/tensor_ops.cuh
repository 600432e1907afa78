// SPDX-License-Identifier: Apache-2.0
// The instructions of the tensor cores that tensor.cu uses, with the names of their operands in the PTX
// manual
// ("Warp Level Matrix Multiply-Accumulate Instructions"). All 32 threads of a warp take part.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Four 8 x 8 matrices of 2-byte elements, or 8 x 4 of 4-byte ones, from rows of 16 bytes in shared memory.
// Thread 8 m + r names row r of matrix m; it gets from each matrix word (thread % 4) of row (thread / 4).
__device__ inline void loadMatrices(unsigned (&to)[4], const unsigned char* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

// sum += A B: A has 16 rows of 32 bytes, B 8 columns of 32 bytes, sum is 16 x 8. The type names that of A and
// B: BF16, FP16, whole numbers of 8 bits, or TF32, which are floats of which the last 13 bits are ignored.
__device__ inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned* b,
                                   __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned* b, float) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned* b, __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void multiplyAdd(int (&sum)[4], const unsigned (&a)[4], const unsigned* b, signed char) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
