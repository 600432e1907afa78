// SPDX-License-Identifier: Apache-2.0
// Lesson: the rows of a sparse matrix lie behind one another, so threads with a row each read 32 places at
// once. A few threads for each row read whole sectors; and where rows differ a thousandfold in length, equal
// shares of the entries instead of rows keep one thread from working while all others have ended.
#include <optional>

#include "common/measure.h"
#include "common/sm_threads.h"
#include "sparse/cusparse_library.h"
#include "sparse/spmv_merge.cuh"

constexpr int kBatch = 4;  // knob: entries that a thread of spmvVectorKernel has under way; lanes: --lanes

// y = A x. The entries of row r: starts[r] to starts[r + 1] - 1.
__global__ void spmvScalarKernel(int rows, const int* __restrict__ starts, const int* __restrict__ columns,
                                 const float* __restrict__ values, const float* __restrict__ x,
                                 float* __restrict__ y) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < rows) {
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) {
      sum += values[i] * x[columns[i]];
    }
    y[row] = sum;
  }
}

// lanes neighbouring threads share a row. Entries are read once (__ldcs), x often.
template <int lanes>
__global__ void __launch_bounds__(kBlock, kThreadsOfSm / kBlock)
    spmvVectorKernel(int rows, const int* __restrict__ starts, const int* __restrict__ columns,
                     const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = static_cast<int>(thread / lanes);
  const int end = row < rows ? starts[row + 1] : 0;
  float sum = 0;
  for (int first = row < rows ? starts[row] + static_cast<int>(thread % lanes) : 0; first < end;
       first += kBatch * lanes) {
    int column[kBatch];
    float value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const bool inside = first + k * lanes < end;
      column[k] = inside ? __ldcs(columns + first + k * lanes) : 0;
      value[k] = inside ? __ldcs(values + first + k * lanes) : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      sum += value[k] * x[column[k]];
    }
  }
#pragma unroll
  for (unsigned offset = lanes / 2; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  if (row < rows && thread % lanes == 0) {
    y[row] = sum;
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "spmv",
    "a sparse matrix times a vector: a thread for each row, some threads for each row, equal shares of "
    "entries",
    {"spmvScalarKernel", "spmvVectorKernel", "spmvMergeKernel"},
    {{"vector", "neighbouring threads share a row and read whole sectors", "warps", "latency", "fp32",
      "read"},
     {"scalar", "a thread for each row: a warp reads 32 places", "warps", "l1", "fp32", "read"},
     {"merge", "every block has the same number of entries and row ends", "warps", "latency", "fp32", "read"},
     {"cusparse", "cuSPARSE's product of the same matrix", "", "", "fp32", "read"},
     {"vector-power-law", "rows of very different length: all wait for the threads of the longest", "warps",
      "latency", "fp32", "read"},
     {"scalar-power-law", "one thread walks along the longest row", "warps", "latency", "fp32", "read"},
     {"merge-power-law", "equal shares do not care for the lengths of rows", "warps", "latency", "fp32",
      "read"},
     {"cusparse-power-law", "cuSPARSE's product of the same matrix", "", "", "fp32", "read"}},
    measuredOptions(
        {{"rows", 1'000'000, 1, 1 << 27, "rows and columns"},
         {"per-row", 16, 1, 4096, "entries in a row, in the mean"},
         {"lanes", 0, 0, 32, "threads for a row of vector: 2, 4, 8, 16, 32; 0: by the mean length"}},
        20, 1),
    {"--rows", "3001", "--per-row", "9"}};

using VectorKernel = void (*)(int, const int*, const int*, const float*, const float*, float*);

// A quarter of the mean length, so that all of a row is under way at once.
VectorKernel vectorKernel(std::int64_t lanes) {
  switch (lanes) {
    case 2:
      return spmvVectorKernel<2>;
    case 4:
      return spmvVectorKernel<4>;
    case 8:
      return spmvVectorKernel<8>;
    case 16:
      return spmvVectorKernel<16>;
    case 32:
      return spmvVectorKernel<32>;
    default:
      throw Failure{kExitUsage,
                    "--lanes " + std::to_string(lanes) + " is not allowed, there is: 0, 2, 4, 8, 16, 32"};
  }
}

std::int64_t lanesFor(const Arguments& arguments) {
  std::int64_t lanes = arguments["lanes"];
  if (lanes == 0) {
    for (lanes = 2; lanes < 32 && 2 * lanes * kBatch <= arguments["per-row"]; lanes *= 2) {
    }
  }
  return lanes;
}

struct Problem {
  Csr matrix;
  std::vector<float> x;
  DeviceArray<int> starts, columns;
  DeviceArray<float> values, deviceX, y;

  Problem(Csr made, Random& random, Report& report)
      : matrix(std::move(made)),
        x(random.vector(matrix.columns)),
        starts(matrix.rows() + 1),
        columns(matrix.entries()),
        values(matrix.entries()),
        deviceX(matrix.columns),
        y(matrix.rows()) {
    starts.upload(matrix.starts, report);
    columns.upload(matrix.columnOf, report);
    values.upload(matrix.values, report);
    deviceX.upload(x, report);
  }
};

// launch computes y once and lists what it launches.
template <class Launch>
void checkAndMeasure(Run& run, const Problem& problem, const char* name, const Launch& launch) {
  const Csr& matrix = problem.matrix;
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    launch();
    checkLaunch(name);
    const std::vector<float> y = problem.y.download(run.report);
    for (int row = 0; row < matrix.rows(); ++row) {
      double sum = 0;
      double magnitude = 0;
      for (int i = matrix.starts[row]; i < matrix.starts[row + 1]; ++i) {
        const double product = static_cast<double>(matrix.values[i]) * problem.x[matrix.columnOf[i]];
        sum += product;
        magnitude += std::abs(product);
      }
      if (!isSum(y[row], sum, magnitude, matrix.starts[row + 1] - matrix.starts[row])) {
        throw differs("y[" + std::to_string(row) + "]", y[row], sum);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(matrix.rows(), "double precision");
  }
  const double launchNs = measure(run, name, launch);
  const double rows = matrix.rows();
  const double entries = matrix.entries();
  run.report.value("flopPerSec", "arithmetic", 2e9 * entries / launchNs, Unit::flopPerSec);
  reportTraffic(run, 8 * entries + 4 * (2 * rows + matrix.columns), launchNs);
}

void multiplyByRows(Run& run, Problem& problem, bool scalar) {
  const int rows = problem.matrix.rows();
  const char* const name = scalar ? "spmvScalarKernel" : "spmvVectorKernel";
  const std::int64_t lanes = scalar ? 1 : lanesFor(run.arguments);
  const VectorKernel kernel = scalar ? spmvScalarKernel : vectorKernel(lanes);
  requireBlock(kernel, kBlock);
  const unsigned grid = blocksFor(rows * lanes, kBlock);
  if (!scalar) {
    run.report.value("lanes", "threads for a row", static_cast<double>(lanes), Unit::count);
  }
  checkAndMeasure(run, problem, name, [&] {
    kernel<<<grid, kBlock>>>(rows, problem.starts.get(), problem.columns.get(), problem.values.get(),
                             problem.deviceX.get(), problem.y.get());
    run.report.launches.add({name, grid, kBlock});
  });
}

void multiplyByShares(Run& run, Problem& problem) {
  const int rows = problem.matrix.rows();
  const int tiles = static_cast<int>(blocksFor(rows + problem.matrix.entries(), kTile));
  const auto grid = static_cast<unsigned>(tiles);
  requireBlock(spmvMergeKernel, kBlock);
  DeviceArray<int> tileRows(tiles + 1);
  DeviceArray<int> carryRows(tiles);
  DeviceArray<float> carrySums(tiles);
  const unsigned tilesGrid = blocksFor(tiles + 1, kBlock);
  spmvTilesKernel<<<tilesGrid, kBlock>>>(rows, problem.starts.get(), tiles, tileRows.get());
  run.report.launches.add({"spmvTilesKernel", tilesGrid, kBlock});
  const unsigned carryGrid = blocksFor(tiles, kBlock);
  checkAndMeasure(run, problem, "spmvMergeKernel", [&] {
    spmvMergeKernel<<<grid, kBlock>>>(rows, problem.starts.get(), problem.columns.get(), problem.values.get(),
                                      problem.deviceX.get(), tileRows.get(), problem.y.get(), carryRows.get(),
                                      carrySums.get());
    run.report.launches.add({"spmvMergeKernel", grid, kBlock});
    spmvCarryKernel<<<carryGrid, kBlock>>>(tiles, carryRows.get(), carrySums.get(), problem.y.get());
    run.report.launches.add({"spmvCarryKernel", carryGrid, kBlock});
  });
}

#if WARPMETER_HAS_CUSPARSE
void multiplyByLibrary(Run& run, Problem& problem, const CuSparse& sparse) {
  const Csr& matrix = problem.matrix;
  cusparseHandle_t handle{};
  cusparseSpMatDescr_t a{};
  cusparseDnVecDescr_t x{};
  cusparseDnVecDescr_t y{};
  WARPMETER_CHECK(sparse.create(&handle));
  WARPMETER_CHECK(sparse.createCsr(&a, matrix.rows(), matrix.columns, matrix.entries(), problem.starts.get(),
                                   problem.columns.get(), problem.values.get(), CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  WARPMETER_CHECK(sparse.createVector(&x, matrix.columns, problem.deviceX.get(), CUDA_R_32F));
  WARPMETER_CHECK(sparse.createVector(&y, matrix.rows(), problem.y.get(), CUDA_R_32F));
  const float one = 1;
  const float zero = 0;
  const auto call = [&](auto* function, auto last) {
    check(function(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, x, &zero, y, CUDA_R_32F,
                   CUSPARSE_SPMV_ALG_DEFAULT, last),
          "cuSPARSE's SpMV");
  };
  std::size_t bytes = 0;
  call(sparse.spmvBytes, &bytes);
  DeviceArray<char> room(static_cast<std::int64_t>(bytes) + 1);
  call(sparse.spmvPrepare, static_cast<void*>(room.get()));
  run.report.notice("cuSPARSE's own launches are not in the list");
  checkAndMeasure(run, problem, "cuSPARSE", [&] { call(sparse.spmv, static_cast<void*>(room.get())); });
}
#endif

void spmv(Run& run) {
  const std::string& variant = run.arguments.variant();
  const auto is = [&](const char* beginning) { return variant.rfind(beginning, 0) == 0; };
  const auto rows = static_cast<int>(run.arguments["rows"]);
  const std::int64_t perRow = run.arguments["per-row"];
  requireCsrSize(rows, perRow);
  vectorKernel(lanesFor(run.arguments));
  const std::string option = "--rows " + std::to_string(rows);
  const std::int64_t bytes = rows * (8 * perRow + 16);
  requireHostMemory(bytes, option);

  openDevice(run);
#if WARPMETER_HAS_CUSPARSE
  std::optional<CuSparse> sparse;
  if (is("cusparse") && !sparse.emplace().library) {
    sparse->library.reportAbsence(run);
    return;
  }
#else
  if (is("cusparse")) {
    reportNoHeader(run);
    return;
  }
#endif
  requireDeviceMemory(bytes, option);
  Random random(run.arguments["seed"]);
  const std::vector<int> lengths =
      variant.find("power-law") != std::string::npos
          ? powerLawLengths(rows, rows, perRow, random)
          : std::vector<int>(static_cast<std::size_t>(rows), static_cast<int>(perRow));
  Problem problem(randomCsr(lengths, rows, random), random, run.report);
  run.report.value("longestRow", "longest row", *std::max_element(lengths.begin(), lengths.end()),
                   Unit::count);
  if (is("merge")) {
    multiplyByShares(run, problem);
#if WARPMETER_HAS_CUSPARSE
  } else if (is("cusparse")) {
    multiplyByLibrary(run, problem, *sparse);
#endif
  } else {
    multiplyByRows(run, problem, is("scalar"));
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, spmv); }
