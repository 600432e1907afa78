// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records -> rows. The only file pair that knows their layouts and versions.
//
// A record is read as the newest layout that the toolkit's headers know, as far as its size goes: CUPTI's layouts
// grow by appending. What an older record does not have is NULL in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api_nesting.h"
#include "process_context.h"
#include "row_batch.h"

namespace warpmeter::recorder {

// Bounds that the fields of a sane record keep; times in CUPTI's clock.
struct Plausibility {
  std::int64_t pid = 0;                    // as the guest sees itself
  std::uint64_t minNs = 0, maxNs = 0;
};

enum class Plausible : std::uint8_t { no, weak, strong };  // weak: few fields could be checked

// Looks at a record of kind *record (size bytes are readable) as found in memory that may hold anything.
Plausible plausible(const std::byte* record, std::size_t size, const Plausibility& bounds);

struct RecordCounts {
  std::int64_t firstKernelNs = kNull;      // session time of the earliest kernel start
  std::int64_t profilerOverheadNs = 0;     // OVERHEAD records that are CUPTI's own work on application threads
  std::int64_t bufferRequestOverheadNs = 0;
};

class CuptiRecords {
 public:
  explicit CuptiRecords(ProcessContext& context) : context_(context) {}

  // False: a kind that is not stored. The record was copied out of shared memory already.
  bool decode(const std::byte* record, std::size_t size, std::int64_t nowNs, RowBatch& out);
  ApiNesting& nesting() { return nesting_; }
  const RecordCounts& counts() const { return counts_; }

  // DEVICE records go here; set by the store, which knows the GPUs of all processes.
  struct Device {
    GpuInfo gpu;               // id = CUDA ordinal in the process
  };
  std::function<void(const Device&)> onDevice;

 private:
  void kernel(const std::byte* record, std::size_t size, RowBatch& out);
  void copy(const std::byte* record, std::size_t size, RowBatch& out);
  void peerCopy(const std::byte* record, std::size_t size, RowBatch& out);
  void memset(const std::byte* record, std::size_t size, RowBatch& out);
  void api(const std::byte* record, std::size_t size, bool driver, std::int64_t nowNs, RowBatch& out);
  void sync(const std::byte* record, std::size_t size, RowBatch& out);
  void event(const std::byte* record, std::size_t size, RowBatch& out);
  void overhead(const std::byte* record, std::size_t size, RowBatch& out);
  void memory(const std::byte* record, std::size_t size, RowBatch& out);
  void jit(const std::byte* record, std::size_t size, RowBatch& out);
  void device(const std::byte* record, std::size_t size);
  void context(const std::byte* record, std::size_t size, RowBatch& out);
  void stream(const std::byte* record, std::size_t size, RowBatch& out);
  bool timed(std::uint64_t start, std::uint64_t end, std::string_view what);

  ProcessContext& context_;
  ApiNesting nesting_;
  RecordCounts counts_;
};

// The call that opens or closes a window of --capture-range cudaProfilerApi.
enum class ProfilerCall : std::uint8_t { none, start, stop };
ProfilerCall profilerCallIn(const std::byte* record, std::size_t size, std::uint64_t& startNs, std::uint64_t& endNs);

// For loss rows: "kernel", "API call", ...
std::string_view nameOfKind(std::uint32_t kind);

// The memory kinds and overhead types of the nsys schema.
std::int64_t memoryKindOf(std::uint32_t cuptiKind);
std::int64_t overheadTypeOf(std::uint32_t cuptiKind);

}  // namespace warpmeter::recorder
