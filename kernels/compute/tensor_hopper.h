// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <vector_types.h>

#include <memory>

namespace warpmeter::kernels {

// C = A B by wgmma, all n x n; A and C row by row, B column by column. Only on GPUs of compute
// capability 9.0.
class HopperProduct {
 public:
  static constexpr int kRows = 128;  // of C that a block computes; n is a multiple of both
  static constexpr int kColumns = 256;

  static bool possible();  // asks the current device

  // Addresses on the current device that outlive the object.
  HopperProduct(int n, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c);
  ~HopperProduct();

  dim3 grid() const;
  dim3 block() const;
  int sharedBytes() const;
  void launch() const;

 private:
  struct Maps;
  int n_;
  float* c_;
  std::unique_ptr<Maps> maps_;
};

}  // namespace warpmeter::kernels
