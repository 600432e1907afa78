// SPDX-License-Identifier: Apache-2.0
// The one function of cuBLAS that stands beside these programs, and what it needs. Declared here by the
// cuBLAS documentation (13.0, "cublasGemmEx"), so that neither its headers nor the library are needed to
// build.
#pragma once

#include <library_types.h>

#include "common/optional_library.h"

namespace warpmeter::kernels {

// Matrices are n x n. A and C lie row by row, B row by row or (transposed) column by column, as operands of
// type T; sums and C are FP32. One thread.
class Cublas {
 public:
  Cublas() = default;
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas() {
    if (handle_ != nullptr) {
      destroy_(handle_);
    }
  }

  // False without the library; the report says so.
  [[nodiscard]] bool open(Run& run) {
    const OptionalLibrary library("cuBLAS", {"libcublas.so.13", "libcublas.so.12"});
    if (!library) {
      library.reportAbsence(run);
      return false;
    }
    library.load(create_, "cublasCreate_v2");
    library.load(destroy_, "cublasDestroy_v2");
    library.load(gemm_, "cublasGemmEx");
    return true;
  }

  // After openDevice and open(). Workspaces are made here, not in the first product.
  void start(Run& run) {
    require(create_(&handle_), "cublasCreate");
    run.report.notice("cuBLAS chooses its kernels: they are not in the list of launches");
  }

  // The default math mode: FP32 operands are not rounded to TF32.
  template <class T>
  void multiply(int n, const T* a, const T* b, bool bByColumns, float* c, cudaDataType type) const {
    constexpr int kComputeFp32 = 68;
    constexpr int kDefaultAlgorithm = -1;
    const float one = 1, zero = 0;
    // cuBLAS counts by columns: a matrix row by row is its transpose there, and C' = B' A'.
    require(gemm_(handle_, bByColumns ? 1 : 0, 0, n, n, n, &one, b, type, n, a, type, n, &zero, c, CUDA_R_32F,
                  n, kComputeFp32, kDefaultAlgorithm),
            "cublasGemmEx");
  }

 private:
  static void require(int status, const char* what) {
    if (status != 0) {
      throw Failure{kExitFailed, std::string(what) + " failed with status " + std::to_string(status)};
    }
  }

  void* handle_ = nullptr;
  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*gemm_)(void* handle, int transposeA, int transposeB, int m, int n, int k, const void* alpha,
               const void* a, cudaDataType typeA, int lda, const void* b, cudaDataType typeB, int ldb,
               const void* beta, void* c, cudaDataType typeC, int ldc, int compute, int algorithm) = nullptr;
};

}  // namespace warpmeter::kernels
