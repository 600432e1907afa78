// SPDX-License-Identifier: Apache-2.0
// GPUs of the recording, and the summary.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "gpu_limits.h"
#include "store.h"

namespace warpmeter::recorder {
namespace {

template <std::size_t Size>
void copyText(char (&to)[Size], const std::string& text) {
  const std::size_t size = std::min(text.size(), Size - 1);
  std::memcpy(to, text.data(), size);
  to[size] = 0;
}

}  // namespace

void Store::putGpu(const GpuInfo& gpu) {
  if (full_.load(std::memory_order_relaxed)) return;
  check(writer_.put(gpu));
  dirty_ = true;
}

// So that a file that goes to somebody else is judged with what its own GPU can reach.
void Store::putCeilings(const GpuInfo& gpu) {
  for (const KnownCeiling& known : options_.ceilings) {
    if (known.uuid != gpu.uuid || full_.load(std::memory_order_relaxed)) continue;
    CeilingInfo ceiling = known.ceiling;
    ceiling.gpuId = gpu.id;
    check(writer_.put(ceiling));
  }
}

// The row's id is the ordinal where no other GPU has it: equal to the deviceId of activity rows unless processes see
// different GPUs (CUDA_VISIBLE_DEVICES); TARGET_INFO_CUDA_DEVICE tells in any case.
void Store::onDevice(std::uint32_t process, const CuptiRecords::Device& device) {
  const ProcessState* state = stateOf(process);
  if (state == nullptr) return;
  const std::int64_t pid = processes_[process]->info().pid, ordinal = device.gpu.id;
  auto at = gpus_.find(device.gpu.uuid);
  if (at == gpus_.end()) {
    GpuInfo gpu = device.gpu;
    const auto taken = [this](std::int64_t id) {
      return std::any_of(gpus_.begin(), gpus_.end(), [id](const auto& entry) { return entry.second.id == id; });
    };
    while (taken(gpu.id)) ++gpu.id;
    fillFromTable(gpu);
    for (const GpuInfo& known : driverGpus_) {
      if (known.uuid == gpu.uuid) overlay(gpu, known);
    }
    at = gpus_.emplace(gpu.uuid, gpu).first;
    putGpu(gpu);
    putCeilings(gpu);
    {
      const std::lock_guard lock(newGpusMutex_);
      newGpus_.push_back(gpu.uuid);
    }
    SampleRows waited;
    samples_.gpuKnown(waited);
    write(waited);
  }
  gpuOfDevice_[{processes_[process]->info().globalPid.value, ordinal}] = at->second.id;
  if (!cudaDevices_.emplace(pid, ordinal).second || full_.load(std::memory_order_relaxed)) return;
  CudaDeviceInfo info;
  info.gpuId = at->second.id;
  info.cudaId = ordinal;
  info.pid = pid;
  info.uuid = at->second.uuid;
  info.numMultiprocessors = at->second.smCount;
  check(writer_.put(info));
}

void Store::gpusFromDriver(const std::vector<GpuInfo>& gpus) {
  driverGpus_ = gpus;
  for (GpuInfo& gpu : driverGpus_) fillFromTable(gpu);  // the chip's name; limits only where the driver was silent
  for (auto& [uuid, gpu] : gpus_) {
    for (const GpuInfo& known : driverGpus_) {
      if (known.uuid != uuid) continue;
      overlay(gpu, known);
      putGpu(gpu);
    }
  }
}

void Store::summarize(bool journalDeleted) {
  wire::Summary& s = summary_;
  s = {};
  s.kind = wire::ControlKind::summary;
  s.firstKernelNs = -1;
  s.kernels = committed_.kernels;
  s.untimedKernels = committed_.untimed;
  s.copies = committed_.copies;
  s.copyBytes = committed_.copyBytes;
  s.memsets = committed_.memsets;
  s.apiCalls = committed_.apiCalls;
  s.syncs = committed_.syncs;
  s.nvtxRanges = committed_.ranges;
  std::int64_t firstStart = kNull;
  std::string blocked;
  for (const auto& [index, state] : processes_) {
    const RecordCounts& c = state->counts();
    s.selfCostNs += state->selfCostNs();
    s.processesRecorded += state->recordedAnything() ? 1 : 0;
    if (blocked.empty() && state->info().status.starts_with("blocked: ")) {
      blocked = fmt::format("{} in process {}", state->info().status.substr(9), state->info().pid);
    }
    if (isNull(c.firstKernelNs) || (!isNull(firstStart) && c.firstKernelNs >= firstStart)) continue;
    firstStart = c.firstKernelNs;
    s.firstKernelNs = isNull(state->info().startNs) ? c.firstKernelNs : c.firstKernelNs - state->info().startNs;
  }
  s.selfCostNs += exactCostNs_ + pcCostNs_;
  s.processes = static_cast<std::int64_t>(processes_.size() + plain_.size());
  s.lossRows = session_.losses.rows();
  s.recordsLost = isNull(session_.losses.recordsLost()) ? -1 : session_.losses.recordsLost() + discarded_;
  const bool full = full_.load(std::memory_order_relaxed);
  s.complete = !full && !session_.losses.incomplete();
  std::string first = session_.losses.headline();
  if (full) {
    ++s.lossRows;
    first = discarded_ > 0 ? fmt::format("{}; {} rows were not stored", fullWhy_, discarded_) : fullWhy_;
  }
  s.samples = samplesWritten_;
  copyText(s.counters, sessionInfo_.counters);
  copyText(s.countersText, sessionInfo_.countersText);
  copyText(s.firstLoss, first);
  copyText(s.blocked, blocked);
  copyText(s.leftRunning, leftRunning_);
  copyText(s.file, options_.output);
  struct stat status {};
  if (stat(options_.output.c_str(), &status) == 0) s.fileBytes = status.st_size;
  s.journalDeleted = journalDeleted ? 1 : 0;
  s.gpuCount = static_cast<std::uint32_t>(gpus_.size());
}

}  // namespace warpmeter::recorder
