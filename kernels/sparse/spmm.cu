// SPDX-License-Identifier: Apache-2.0
// Lesson: a sparse matrix times a dense one of 128 columns reads 512 bytes for each entry. A warp that takes
// them as one row reads them in one request; a warp whose threads have different rows asks 32 places for 4
// bytes each.
#include <optional>

#include "common/measure.h"
#include "sparse/cusparse_library.h"

// Knobs: entries whose rows of B are under way in a warp (kBatch x 512 bytes), threads in a block.
constexpr int kBatch = 4;
constexpr int kBlock = 256;
constexpr int kWarpColumns = 128;  // of C: 4 for each lane

// C = A B: A sparse, rows of B and C n floats long. A thread has one element; neighbours are in
// neighbouring rows.
__global__ void spmmElementKernel(int rows, int n, const int* __restrict__ starts,
                                  const int* __restrict__ columns, const float* __restrict__ values,
                                  const float* __restrict__ b, float* __restrict__ c) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int column = static_cast<int>(blockIdx.y);
  if (row < rows) {
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) {
      sum += values[i] * b[static_cast<long long>(columns[i]) * n + column];
    }
    c[static_cast<long long>(row) * n + column] = sum;
  }
}

__device__ inline void addProduct(float4& sum, float value, const float4& row) {
  sum.x += value * row.x;
  sum.y += value * row.y;
  sum.z += value * row.z;
  sum.w += value * row.w;
}

// A warp has kWarpColumns columns of a row. Its lanes read 32 entries at once and hand them round. n is a
// multiple of 4.
__global__ void __launch_bounds__(kBlock)
    spmmWarpKernel(int rows, int n, const int* __restrict__ starts, const int* __restrict__ columns,
                   const float* __restrict__ values, const float* __restrict__ b, float* __restrict__ c) {
  const int row = static_cast<int>(blockIdx.x * (kBlock / 32) + threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int column = static_cast<int>(blockIdx.y) * kWarpColumns + 4 * lane;
  if (row >= rows) {  // the whole warp
    return;
  }
  const float* const from = b + (column < n ? column : 0);
  const int end = starts[row + 1];
  float4 sum{0, 0, 0, 0};
  for (int first = starts[row]; first < end; first += 32) {
    const bool inside = first + lane < end;
    const int mineColumn = inside ? __ldcs(columns + first + lane) : 0;
    const float mineValue = inside ? __ldcs(values + first + lane) : 0.0f;
    const int entries = end - first < 32 ? end - first : 32;
    // Beyond the last entry a batch reads row 0 and adds 0 times it.
#pragma unroll 1
    for (int k = 0; k < entries; k += kBatch) {
      float4 ofB[kBatch];
      float value[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        value[j] = __shfl_sync(0xffffffffu, mineValue, k + j);
        const long long rowOfB = __shfl_sync(0xffffffffu, mineColumn, k + j);
        ofB[j] = *reinterpret_cast<const float4*>(from + rowOfB * n);
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        addProduct(sum, value[j], ofB[j]);
      }
    }
  }
  if (column < n) {
    __stcs(reinterpret_cast<float4*>(c + static_cast<long long>(row) * n + column), sum);
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "spmm",
    "a sparse matrix times a dense one: a thread for each element, a warp for each row",
    {"spmmWarpKernel", "spmmElementKernel"},
    {{"warp", "a warp reads whole rows of the dense matrix", "registers", "dram", "fp32", "read"},
     {"element", "the threads of a warp read the same column of 32 rows", "warps", "dram", "fp32", "read"},
     {"cusparse", "cuSPARSE's product of the same matrices", "", "", "fp32", "read"}},
    measuredOptions({{"rows", 1 << 18, 1, 1 << 24, "rows and columns of the sparse matrix"},
                     {"per-row", 16, 1, 4096, "entries in each of its rows"},
                     {"columns", 128, 4, 65532, "columns of the dense matrices, a multiple of 4"}},
                    20, 1),
    {"--rows", "301", "--per-row", "37", "--columns", "140"}};

// All elements of up to 1024 random rows.
void checkRows(Run& run, const Csr& a, const std::vector<float>& b, const std::vector<float>& c, int n,
               Random& random) {
  const int samples = std::min(a.rows(), 1024);
  for (int sample = 0; sample < samples; ++sample) {
    const int row =
        a.rows() <= 1024 ? sample : static_cast<int>(random.next() % static_cast<unsigned>(a.rows()));
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      double magnitude = 0;
      for (int i = a.starts[row]; i < a.starts[row + 1]; ++i) {
        const double product =
            static_cast<double>(a.values[i]) * b[static_cast<std::int64_t>(a.columnOf[i]) * n + column];
        sum += product;
        magnitude += std::abs(product);
      }
      const float value = c[static_cast<std::int64_t>(row) * n + column];
      if (!isSum(value, sum, magnitude, a.starts[row + 1] - a.starts[row])) {
        throw differs("C[" + std::to_string(row) + "][" + std::to_string(column) + "]", value, sum);
      }
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(static_cast<std::int64_t>(samples) * n, "double precision");
}

#if WARPMETER_HAS_CUSPARSE
// Rows behind one another, for which ALG2 is made.
struct LibraryProduct {
  const CuSparse& sparse;
  cusparseHandle_t handle{};
  cusparseSpMatDescr_t a{};
  cusparseDnMatDescr_t b{};
  cusparseDnMatDescr_t c{};

  template <class Function, class Last>
  void call(Function* function, Last last) const {
    const float one = 1;
    const float zero = 0;
    check(function(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, b,
                   &zero, c, CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, last),
          "cuSPARSE's SpMM");
  }
};
#endif

void spmm(Run& run) {
  const std::string& variant = run.arguments.variant();
  const auto rows = static_cast<int>(run.arguments["rows"]);
  const std::int64_t perRow = run.arguments["per-row"];
  const auto n = static_cast<int>(run.arguments["columns"]);
  requireCsrSize(rows, perRow);
  if (n % 4 != 0) {
    throw Failure{kExitUsage,
                  "--columns " + std::to_string(n) + " is not allowed, it must be a multiple of 4"};
  }
  const std::string options = "--rows " + std::to_string(rows) + " --columns " + std::to_string(n);
  const std::int64_t size = static_cast<std::int64_t>(rows) * n;
  const std::int64_t bytes = rows * (8 * perRow + 4) + 8 * size;
  requireHostMemory(bytes, options);

  openDevice(run);
#if WARPMETER_HAS_CUSPARSE
  std::optional<CuSparse> sparse;
  if (variant == "cusparse" && !sparse.emplace().library) {
    sparse->library.reportAbsence(run);
    return;
  }
#else
  if (variant == "cusparse") {
    reportNoHeader(run);
    return;
  }
#endif
  requireDeviceMemory(bytes, options);
  Random random(run.arguments["seed"]);
  const Csr a =
      randomCsr(std::vector<int>(static_cast<std::size_t>(rows), static_cast<int>(perRow)), rows, random);
  const std::vector<float> b = random.vector(size);
  DeviceArray<int> starts(rows + 1);
  DeviceArray<int> columns(a.entries());
  DeviceArray<float> values(a.entries());
  DeviceArray<float> deviceB(size);
  DeviceArray<float> deviceC(size);
  starts.upload(a.starts, run.report);
  columns.upload(a.columnOf, run.report);
  values.upload(a.values, run.report);
  deviceB.upload(b, run.report);

  const auto checkAndMeasure = [&](const char* name, const auto& launch) {
    {
      Phase phase(run.nvtx, "check");  // also the warm-up
      launch();
      checkLaunch(name);
      checkRows(run, a, b, deviceC.download(run.report), n, random);
    }
    const double launchNs = measure(run, name, launch);
    const double entries = a.entries();
    reportRate(run, "flopPerSec", "arithmetic", 2e9 * entries * n / launchNs, Unit::flopPerSec, 0);
    // Each row of B once and C once: what a cache that holds everything would leave over.
    reportTraffic(run, 8 * entries + 4.0 * rows + 8.0 * static_cast<double>(size), launchNs);
    run.report.value("gatheredBytesPerSec", "rows of B, once for each entry", 4e9 * entries * n / launchNs,
                     Unit::bytesPerSec);
  };
  if (variant == "cusparse") {
#if WARPMETER_HAS_CUSPARSE
    LibraryProduct product{*sparse};
    WARPMETER_CHECK(sparse->create(&product.handle));
    WARPMETER_CHECK(sparse->createCsr(&product.a, rows, rows, a.entries(), starts.get(), columns.get(),
                                      values.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    WARPMETER_CHECK(
        sparse->createDense(&product.b, rows, n, n, deviceB.get(), CUDA_R_32F, CUSPARSE_ORDER_ROW));
    WARPMETER_CHECK(
        sparse->createDense(&product.c, rows, n, n, deviceC.get(), CUDA_R_32F, CUSPARSE_ORDER_ROW));
    std::size_t roomBytes = 0;
    product.call(sparse->spmmBytes, &roomBytes);
    DeviceArray<char> room(static_cast<std::int64_t>(roomBytes) + 1);
    product.call(sparse->spmmPrepare, static_cast<void*>(room.get()));
    run.report.notice("cuSPARSE's own launches are not in the list");
    checkAndMeasure("cuSPARSE", [&] { product.call(sparse->spmm, static_cast<void*>(room.get())); });
#endif
    return;
  }
  const bool warp = variant == "warp";
  const auto kernel = warp ? spmmWarpKernel : spmmElementKernel;
  const char* const name = warp ? "spmmWarpKernel" : "spmmElementKernel";
  requireBlock(kernel, kBlock);
  const dim3 grid(blocksFor(rows, warp ? kBlock / 32 : kBlock), warp ? blocksFor(n, kWarpColumns) : n);
  checkAndMeasure(name, [&] {
    kernel<<<grid, kBlock>>>(rows, n, starts.get(), columns.get(), values.get(), deviceB.get(),
                             deviceC.get());
    run.report.launches.add({name, grid, kBlock});
  });
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, spmm); }
