// SPDX-License-Identifier: Apache-2.0
// ProfileView: the content of 1..n profiles as columns in memory, the only input of every analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/lanes.h"
#include "warpmeter/analyzer/samples.h"
#include "warpmeter/profile/reader.h"

namespace warpmeter::analyzer {

// Groups of tables that are loaded together, as bits. The small tables are always there.
enum class Tables : unsigned {
  none = 0,
  kernels = 1,
  copies = 2,
  api = 4,
  nvtx = 8,
  overheads = 16,
  counters = 32,
  all = 63
};
constexpr Tables operator|(Tables a, Tables b) {
  return static_cast<Tables>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Tables operator&(Tables a, Tables b) {
  return static_cast<Tables>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool has(Tables set, Tables bits) { return (set & bits) == bits; }

struct LoadOptions {
  Tables tables = Tables::all;
  std::stop_token stop;
  // Called from loading threads, one call at a time; fraction 0..1, never falling.
  std::function<void(double fraction)> progress;
  unsigned threads = 0;  // 0 = std::thread::hardware_concurrency(), at most 8
};

// A kernel function: mangled name, demangled where the file has none.
struct KernelFunction {
  NameId key = 0, demangled = 0, shortName = 0;
};

// The exact configuration of a launch.
struct LaunchConfig {
  std::uint32_t function = 0;  // ProfileView::functions()
  std::uint32_t gpu = kNone;   // ProfileView::gpus(), the first GPU seen of that model
  std::uint32_t distinct = 0;  // ProfileView::distinctKernels()
  std::int32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {0, 0, 0};  // cluster 0 = none
  std::int32_t registers = 0;
  std::int64_t staticShared = 0, dynamicShared = 0;  // bytes
  std::int64_t executedShared = kNull;               // carve-out in bytes that the launch ran with
  std::int64_t carveoutPct = kNull;                  // requested percentage
  std::int64_t maxActiveClusters = kNull, maxPotentialClusterSize = kNull;
  std::int64_t localPerThread = 0;  // bytes, of the first launch seen
  std::int64_t gridBlocks() const { return std::int64_t{grid[0]} * grid[1] * grid[2]; }
  std::int64_t blockThreads() const { return std::int64_t{block[0]} * block[1] * block[2]; }
  std::int64_t clusterBlocks() const { return std::int64_t{cluster[0]} * cluster[1] * cluster[2]; }
};

// A distinct kernel: what metrics, occupancy and findings belong to. Above kMaxDistinctPerFunction of one
// function, grids are joined into powers of two (each dimension rounded up) and joinedGrids is set.
struct DistinctKernel {
  std::uint32_t function = 0;
  std::uint32_t config = 0;          // representative: the first configuration seen
  std::int32_t grid[3] = {1, 1, 1};  // as in config, or the upper bound of the joined grids
  bool joinedGrids = false;
};
inline constexpr std::size_t kMaxDistinctPerFunction = 512;

// A launch without times.
struct UntimedLaunch {
  std::uint32_t config = 0, process = kNone, gpu = kNone;
  std::int64_t correlation = 0, streamId = 0, rowid = 0;
};

struct ViewProcess {
  ProcessInfo info;          // name may be empty in imported files
  std::uint32_t source = 0;  // ProfileView::sources()
};
struct ViewGpu {
  GpuInfo info;
  std::uint32_t source = 0;
  bool described = false;  // the file says more than the number
};
struct ViewMark {
  std::int64_t timeNs = 0;
  MarkKind kind{};
  std::uint32_t process = kNone;
  std::int64_t globalTid = kNull, contextId = kNull, moduleId = kNull, bytes = kNull;
};
struct ViewOverhead {
  std::int64_t startNs = 0, endNs = 0, correlation = 0, globalTid = kNull;
  std::int64_t type = 0;  // ENUM_CUPTI_OVERHEAD_TYPE
  std::uint32_t process = kNone;
  NameId name = 0;  // of kinds that the enumeration lacks
};
struct ViewSource {
  std::shared_ptr<const ProfileReader> reader;
  SessionInfo session;
  bool unfinished = false;
};

// Several sources are placed on one time line by SessionInfo::utcEpochNs of the first (offset 0 where
// unknown). Threads: all const members from any thread; references stay valid as long as any copy of the view
// lives.
class ProfileView {
 public:
  using Reader = std::shared_ptr<const ProfileReader>;

  // Errors: what the readers say; cancelled after options.stop.
  static Result<ProfileView> load(std::vector<Reader> readers, const LoadOptions& options = {});

  // This view and the tables it lacks. Columns that are there are shared.
  Result<ProfileView> withTables(const LoadOptions& options) const;

  // This view and the rows its files got since it was made (live files). Columns are shared; an array is
  // copied only where rows arrived out of order. The readers must be the same.
  Result<ProfileView> append(const LoadOptions& options = {}) const;

  Tables tables() const;
  std::span<const ViewSource> sources() const;
  std::span<const ViewProcess> processes() const;
  std::span<const ViewGpu> gpus() const;
  std::span<const StreamLane> streams() const;  // ordered by process, GPU, context, stream
  std::span<const ThreadLane> threads() const;  // ordered by process, thread
  std::span<const KernelFunction> functions() const;
  std::span<const LaunchConfig> configs() const;
  std::span<const DistinctKernel> distinctKernels() const;
  std::span<const UntimedLaunch> untimed() const;
  std::span<const ViewMark> marks() const;          // sorted by time
  std::span<const ViewOverhead> overheads() const;  // sorted by start
  std::span<const LossInfo> losses() const;
  std::span<const SelfCostInfo> selfCosts() const;
  std::span<const SampleSeries> samples() const;    // by source, then set
  std::span<const ViewRanged> ranged() const;
  std::span<const ViewPc> pcSamples() const;
  std::span<const NameId> domains() const;  // NVTX domains; [0] is the default domain, name 0

  std::string_view name(NameId id) const;
  NameId findName(std::string_view text) const;  // 0 = not in the profile

  // First start to last end of everything loaded and of the processes; {0, 0} when there is nothing.
  struct TimeRange {
    std::int64_t beginNs = 0, endNs = 0;
    std::int64_t lengthNs() const { return endNs - beginNs; }
  };
  TimeRange range() const;

  std::size_t kernelCount() const;  // timed kernels
  std::size_t columnBytes() const;  // memory held by the columns

  // The API call with this correlation id in that process: outermost of the calls that carry it.
  // lane == kNone when the call was not recorded. O(log n); the index is built at the first call.
  struct ApiRef {
    std::uint32_t lane = kNone, index = 0;
    explicit operator bool() const { return lane != kNone; }
  };
  ApiRef apiCall(std::uint32_t process, std::int64_t correlation) const;

  struct Data;  // private to the loader
  explicit ProfileView(std::shared_ptr<const Data> data);

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace warpmeter::analyzer
