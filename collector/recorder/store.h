// SPDX-License-Identifier: Apache-2.0
// The writer thread: takes items from the queue, makes rows of them and writes the file.
//
// run() is its main; everything else but the few marked functions is called on it, by items. After a write error the
// file is closed as it is and everything that follows is thrown away and counted: guests never notice.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture_windows.h"
#include "item_queue.h"
#include "loss_table.h"
#include "pc_samples.h"
#include "process_state.h"
#include "sample_intake.h"
#include "ranged_launches.h"
#include "row_batch.h"
#include "warpmeter/profile/writer.h"
#include "warpmeter/recorder/options.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::recorder {

class Store {
 public:
  static constexpr std::size_t kBatchRows = 8192;
  static constexpr std::int64_t kCommitNs = 250'000'000;
  // A transaction stays small however far the writer is behind: what a full disk takes back is at most this much.
  static constexpr std::int64_t kCommitRows = 32'768;
  static constexpr std::size_t kCommitSampleBytes = std::size_t{2} << 20;

  Store(ProfileWriter writer, const Options& options, SessionInfo session, ItemQueue& queue, const CaptureWindows& capture);

  void run();
  // Any thread.
  bool cuInitSeen() const { return cuInitSeen_.load(std::memory_order_relaxed); }
  bool diskFull() const { return full_.load(std::memory_order_relaxed); }
  std::vector<std::string> takeNewGpus();          // UUIDs, in the order in which processes used them first
  std::int64_t kernelMedianNs() const { return kernelMedianNs_.load(std::memory_order_relaxed); }  // lately; 0 = none
  void hurry() { hurry_.store(true, std::memory_order_relaxed); }  // the run is over: no decision delay any more

  // On the writer thread.
  void processStarted(std::uint32_t process, ProcessInfo info, std::shared_ptr<GuestMemory> memory);
  void processEnded(std::uint32_t process, const ProcessEnd& end);
  void counters(std::uint32_t process, const GuestCounters& counters);
  void commitFor(std::uint32_t process);           // and tells the guest, which waits for it at its exit
  void exitOf(std::int64_t pid, const std::string& how, std::int64_t exitNs);  // what the CLI saw
  void plainProcess(const ProcessInfo& info);      // one that never became a guest
  void clock(const ClockRow& row);
  void gpusFromDriver(const std::vector<GpuInfo>& gpus);
  void samplesLost(const char* why, std::int64_t count, std::int64_t fromRealtimeNs, std::int64_t toRealtimeNs);
  void samplerEnded(const std::string& failure, std::int64_t cpuNs);
  void exactConfigurations(const std::vector<std::byte>& bytes);
  void lose(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t atNs, std::int64_t pid);
  void leftRunning(const std::string& text, std::int64_t count, std::int64_t atNs);
  void finish(const std::string& endedHow, std::int64_t endedNs);

  const wire::Summary& summary() const { return summary_; }  // after run()
  Session& sessionForTests() { return session_; }

 private:
  void decode(const Chunk& chunk);
  void emit(RowBatch& rows);                       // through the capture filter into batch_
  void append();
  bool commit();
  void writeLosses();
  void afterError(const Error& error);
  void onDevice(std::uint32_t process, const CuptiRecords::Device& device);
  void putGpu(const GpuInfo& gpu);
  void putCeilings(const GpuInfo& gpu);
  void takeSamples(const Chunk& chunk);
  void write(SampleRows& rows);
  void noteKernels(const std::vector<KernelRow>& kernels);
  void finishSamples();
  void watchRanges(ProcessState& state);
  void dropCuptiKernels(RowBatch& rows, std::size_t from);
  void exactEnded(ProcessState& state);
  void finishRanges();
  void watchPc(ProcessState& state);
  void writePc(ProcessState& state);
  void finishPc();
  void putProcess(ProcessState& state);
  void check(Result<void> result);
  void countDiscarded(const Chunk& chunk);
  void summarize(bool journalDeleted);
  ProcessState* stateOf(std::uint32_t process);

  ProfileWriter writer_;
  Options options_;
  SessionInfo sessionInfo_;
  ItemQueue& queue_;
  const CaptureWindows& capture_;
  Session session_;
  RowBatch batch_, scratch_;
  std::unordered_map<std::uint32_t, std::unique_ptr<ProcessState>> processes_;
  std::map<std::int64_t, ProcessInfo> plain_;      // by pid

  std::map<std::string, GpuInfo> gpus_;            // by UUID
  std::vector<GpuInfo> driverGpus_;
  std::set<std::pair<std::int64_t, std::int64_t>> cudaDevices_;  // (pid, ordinal)
  std::mutex newGpusMutex_;
  std::vector<std::string> newGpus_;

  SampleIntake samples_;
  RangedLaunches ranged_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpuOfDevice_;  // (globalPid, ordinal) -> GPU
  std::string exactCupti_;                         // of a guest with ranges
  std::string exactReason_, exactText_;            // why a process gave up; of the last one that did
  std::int64_t waitKernelName_ = kNull, cuptiKernels_ = 0, cuptiKernelNs_ = 0;  // of exact mode
  PcIntake pc_;
  std::string pcProblem_;                          // why source lines are missing
  std::int64_t pcCostNs_ = 0;                      // on the applications' threads
  std::int64_t imagesUnreadable_ = 0, rangesGuest_ = 0, exactCostNs_ = 0;
  std::int64_t samplesWritten_ = 0;
  std::size_t uncommittedSampleBytes_ = 0;
  std::vector<std::int64_t> kernelNs_;             // durations of recent kernels: a ring
  std::size_t nextKernelNs_ = 0;
  std::atomic<std::int64_t> kernelMedianNs_{0};

  std::int64_t firstUncommittedNs_ = 0, lastExpireNs_ = 0, lastLossNs_ = 0;
  std::int64_t uncommittedRows_ = 0, discarded_ = 0;
  RowTotals committed_, uncommitted_;
  bool dirty_ = false, finished_ = false;
  std::atomic<bool> cuInitSeen_{false}, full_{false}, hurry_{false};
  std::string fullWhy_, leftRunning_;
  wire::Summary summary_{};
};

}  // namespace warpmeter::recorder
