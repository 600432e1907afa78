// SPDX-License-Identifier: Apache-2.0
// Lesson: who writes a list from many threads must know where each one's part begins: count, add up, fill. A
// thread for each row counts and fills alone, one element after the other; a warp looks at 32 elements at
// once and finds every place with a ballot.
#include "common/measure.h"
#include "common/random.h"

// Knobs: loads of a thread that are under way together; threads in a block of the warp kernels. The blocks of
// the thread kernels are small, so that all SMs get some.
constexpr int kBatch = 8;
constexpr int kWarpBlock = 256;
constexpr int kThreadBlock = 64;
constexpr int kScanBlock = 1024;

__global__ void countThreadKernel(int rows, int columns, const float* __restrict__ dense,
                                  int* __restrict__ counts) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < rows) {
    int count = 0;
    for (int column = 0; column < columns; ++column) {
      count += dense[static_cast<long long>(row) * columns + column] != 0.0f ? 1 : 0;
    }
    counts[row] = count;
  }
}

__global__ void fillThreadKernel(int rows, int columns, const float* __restrict__ dense,
                                 const int* __restrict__ starts, int* __restrict__ columnOf,
                                 float* __restrict__ values) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < rows) {
    int next = starts[row];
    for (int column = 0; column < columns; ++column) {
      const float value = dense[static_cast<long long>(row) * columns + column];
      if (value != 0.0f) {
        columnOf[next] = column;
        values[next] = value;
        ++next;
      }
    }
  }
}

// A warp's part of a row: kBatch elements for each lane, 32 apart. Outside the row 0.
__device__ inline void loadBatch(float (&batch)[kBatch], const float* row, int columns, int first) {
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    batch[k] = first + k * 32 < columns ? __ldcs(row + first + k * 32) : 0.0f;
  }
}

__global__ void __launch_bounds__(kWarpBlock)
    countWarpKernel(int rows, int columns, const float* __restrict__ dense, int* __restrict__ counts) {
  const int row = static_cast<int>(blockIdx.x * (kWarpBlock / 32) + threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (row >= rows) {  // the whole warp
    return;
  }
  const float* const from = dense + static_cast<long long>(row) * columns;
  int count = 0;
  for (int first = 0; first < columns; first += 32 * kBatch) {
    float batch[kBatch];
    loadBatch(batch, from, columns, first + lane);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      count += batch[k] != 0.0f ? 1 : 0;
    }
  }
#pragma unroll
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    count += __shfl_down_sync(0xffffffffu, count, offset);
  }
  if (lane == 0) {
    counts[row] = count;
  }
}

__global__ void __launch_bounds__(kWarpBlock)
    fillWarpKernel(int rows, int columns, const float* __restrict__ dense, const int* __restrict__ starts,
                   int* __restrict__ columnOf, float* __restrict__ values) {
  const int row = static_cast<int>(blockIdx.x * (kWarpBlock / 32) + threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (row >= rows) {
    return;
  }
  const float* const from = dense + static_cast<long long>(row) * columns;
  const unsigned lanesBefore = (1u << lane) - 1;
  int next = starts[row];
  for (int first = 0; first < columns; first += 32 * kBatch) {
    float batch[kBatch];
    loadBatch(batch, from, columns, first + lane);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const unsigned found = __ballot_sync(0xffffffffu, batch[k] != 0.0f);
      if (batch[k] != 0.0f) {
        const int place = next + __popc(found & lanesBefore);
        columnOf[place] = first + k * 32 + lane;
        values[place] = batch[k];
      }
      next += __popc(found);
    }
  }
}

// starts[r] = counts of the rows before r; starts[rows] = all of them. One block: these are few numbers.
__global__ void __launch_bounds__(kScanBlock)
    scanKernel(int rows, const int* __restrict__ counts, int* __restrict__ starts) {
  __shared__ int sums[kScanBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const int part = (rows + kScanBlock - 1) / kScanBlock;
  const int first = thread * part < rows ? thread * part : rows;
  const int end = first + part < rows ? first + part : rows;
  int sum = 0;
  for (int row = first; row < end; ++row) {
    sum += counts[row];
  }
  sums[thread] = sum;
  for (int distance = 1; distance < kScanBlock; distance *= 2) {
    __syncthreads();
    const int before = thread >= distance ? sums[thread - distance] : 0;
    __syncthreads();
    sums[thread] += before;
  }
  int next = sums[thread] - sum;
  for (int row = first; row < end; ++row) {
    starts[row] = next;
    next += counts[row];
  }
  if (thread == kScanBlock - 1) {
    starts[rows] = next;
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "dense_to_csr",
    "the entries of a dense matrix that are not 0, as a sparse one: count, add up, fill",
    {"countWarpKernel", "fillWarpKernel", "scanKernel", "countThreadKernel", "fillThreadKernel"},
    {{"warp", "a warp for each row: whole sectors, places by ballot", "warps", "dram", "fp32", "read"},
     {"thread", "a thread for each row: few threads, one element after the other", "grid", "l1", "fp32",
      "read"}},
    measuredOptions({{"rows", 16384, 1, 1 << 24, "rows of the matrix"},
                     {"columns", 4096, 1, 1 << 24, "columns of it"},
                     {"percent", 5, 1, 100, "of its elements that are not 0"}},
                    10, 1),
    {"--rows", "203", "--columns", "531"}};

std::vector<float> randomDense(std::int64_t size, std::int64_t percent, Random& random) {
  std::vector<float> dense(static_cast<std::size_t>(size));
  for (float& value : dense) {
    const std::uint64_t bits = random.next();
    if (static_cast<std::int64_t>((bits >> 32) * 100 >> 32) < percent) {
      value = static_cast<float>(bits & 0xffff) - 32767.5f;  // never 0
    }
  }
  return dense;
}

void checkAgainstCpu(Run& run, const std::vector<float>& dense, int columns, const std::vector<int>& starts,
                     const std::vector<int>& columnOf, const std::vector<float>& values) {
  std::size_t next = 0;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    if (starts[row] != static_cast<int>(next)) {
      throw differs("the start of row " + std::to_string(row), starts[row], static_cast<double>(next));
    }
    for (int column = 0; column < columns; ++column) {
      const float value = dense[row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
      if (value != 0.0f) {
        if (columnOf[next] != column || values[next] != value) {
          throw differs("entry " + std::to_string(next) + " of row " + std::to_string(row) + ", column " +
                            std::to_string(columnOf[next]) + " for " + std::to_string(column),
                        values[next], value);
        }
        ++next;
      }
    }
  }
  if (starts.back() != static_cast<int>(next)) {
    throw differs("the number of entries", starts.back(), static_cast<double>(next));
  }
  run.nvtx.mark("checked");
  run.report.checked(static_cast<std::int64_t>(dense.size()), "the dense matrix");
}

void denseToCsr(Run& run) {
  const bool warp = run.arguments.variant() == "warp";
  const auto rows = static_cast<int>(run.arguments["rows"]);
  const auto columns = static_cast<int>(run.arguments["columns"]);
  const std::int64_t size = static_cast<std::int64_t>(rows) * columns;
  const std::string options = "--rows " + std::to_string(rows) + " --columns " + std::to_string(columns);
  if (size > 2147483647) {
    throw Failure{kExitUsage, options + " is too large: the matrix must have fewer than 2^31 elements"};
  }
  requireHostMemory(12 * size, options);

  openDevice(run);
  requireDeviceMemory(12 * size, options);
  const auto count = warp ? countWarpKernel : countThreadKernel;
  const auto fill = warp ? fillWarpKernel : fillThreadKernel;
  const char* const countName = warp ? "countWarpKernel" : "countThreadKernel";
  const char* const fillName = warp ? "fillWarpKernel" : "fillThreadKernel";
  const int block = warp ? kWarpBlock : kThreadBlock;
  const unsigned grid = blocksFor(rows, warp ? kWarpBlock / 32 : kThreadBlock);
  requireBlock(count, block);
  requireBlock(fill, block);
  requireBlock(scanKernel, kScanBlock);

  Random random(run.arguments["seed"]);
  const std::vector<float> dense = randomDense(size, run.arguments["percent"], random);
  // Who does not know the number of entries reads starts[rows] between scan and fill.
  const std::int64_t entries = size - std::count(dense.begin(), dense.end(), 0.0f);
  DeviceArray<float> deviceDense(size);
  DeviceArray<int> counts(rows);
  DeviceArray<int> starts(rows + 1);
  DeviceArray<int> columnOf(std::max<std::int64_t>(entries, 1));
  DeviceArray<float> values(std::max<std::int64_t>(entries, 1));
  deviceDense.upload(dense, run.report);
  const auto launch = [&] {
    count<<<grid, block>>>(rows, columns, deviceDense.get(), counts.get());
    run.report.launches.add({countName, grid, block});
    scanKernel<<<1, kScanBlock>>>(rows, counts.get(), starts.get());
    run.report.launches.add({"scanKernel", 1, kScanBlock});
    fill<<<grid, block>>>(rows, columns, deviceDense.get(), starts.get(), columnOf.get(), values.get());
    run.report.launches.add({fillName, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    launch();
    checkLaunch(fillName);
    checkAgainstCpu(run, dense, columns, starts.download(run.report), columnOf.download(run.report),
                    values.download(run.report));
  }
  const double launchNs = measure(run, fillName, launch);
  run.report.value("entries", "entries", static_cast<double>(entries), Unit::count);
  reportTraffic(run, 8.0 * static_cast<double>(size + entries) + 16.0 * rows, launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, denseToCsr); }
