// SPDX-License-Identifier: Apache-2.0
// cuSPARSE beside the hand-written kernels, when both its header was there at build time and the library is
// there at run time.
#pragma once

#include "common/gpu.h"
#include "common/optional_library.h"
#include "sparse/csr.h"

#if __has_include(<cusparse.h>)
#include <cusparse.h>
#define WARPMETER_HAS_CUSPARSE 1
#else
#define WARPMETER_HAS_CUSPARSE 0
#endif

namespace warpmeter::kernels {

#if WARPMETER_HAS_CUSPARSE

// WARPMETER_CUSPARSE(call): the message names the call.
inline void check(cusparseStatus_t status, const char* what) {
  if (status != CUSPARSE_STATUS_SUCCESS) {
    throw Failure{kExitFailed, std::string(what) + ": cuSPARSE status " + std::to_string(status)};
  }
}

// The functions that the programs call, by their own names.
struct CuSparse {
  OptionalLibrary library{"cuSPARSE", {"libcusparse.so.13", "libcusparse.so.12"}};
  decltype(cusparseCreate)* create = nullptr;
  decltype(cusparseCreateCsr)* createCsr = nullptr;
  decltype(cusparseCreateDnVec)* createVector = nullptr;
  decltype(cusparseCreateDnMat)* createDense = nullptr;
  decltype(cusparseSpMV_bufferSize)* spmvBytes = nullptr;
  decltype(cusparseSpMV_preprocess)* spmvPrepare = nullptr;
  decltype(cusparseSpMV)* spmv = nullptr;
  decltype(cusparseSpMM_bufferSize)* spmmBytes = nullptr;
  decltype(cusparseSpMM_preprocess)* spmmPrepare = nullptr;
  decltype(cusparseSpMM)* spmm = nullptr;

  CuSparse() {
    if (library) {
      library.load(create, "cusparseCreate");
      library.load(createCsr, "cusparseCreateCsr");
      library.load(createVector, "cusparseCreateDnVec");
      library.load(createDense, "cusparseCreateDnMat");
      library.load(spmvBytes, "cusparseSpMV_bufferSize");
      library.load(spmvPrepare, "cusparseSpMV_preprocess");
      library.load(spmv, "cusparseSpMV");
      library.load(spmmBytes, "cusparseSpMM_bufferSize");
      library.load(spmmPrepare, "cusparseSpMM_preprocess");
      library.load(spmm, "cusparseSpMM");
    }
  }
};

#else

inline void reportNoHeader(Run& run) {
  run.report.notice("cuSPARSE: built without cusparse.h, nothing measured");
}

#endif

}  // namespace warpmeter::kernels
