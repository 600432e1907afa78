// SPDX-License-Identifier: Apache-2.0
// What the injected library adds to an application's threads: the walk over completed records, a buffer request, an
// NVTX range. No GPU and no CUPTI needed: the records are made up, the code is the library's.
#include <benchmark/benchmark.h>
#include <cupti.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "callbacks.h"
#include "kernel_table.h"
#include "launch.h"
#include "nvtx.h"
#include "nvtx_types.h"
#include "session.h"
#include "warpmeter/wire/handshake.h"

namespace {

using namespace warpmeter;
using inject::gSession;

// NVTX's side of the attachment: tables of pointers to function pointers.
NvtxFunctionPointer gCore[NVTX_CBID_CORE_SIZE + 1], gCore2[NVTX_CBID_CORE2_SIZE + 1];
NvtxFunctionPointer* gCoreTable[NVTX_CBID_CORE_SIZE + 1];
NvtxFunctionPointer* gCore2Table[NVTX_CBID_CORE2_SIZE + 1];

int moduleTable(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned int* size) {
  const bool core = module == NVTX_CB_MODULE_CORE;
  if (!core && module != NVTX_CB_MODULE_CORE2) return 0;
  *table = core ? gCoreTable : gCore2Table;
  *size = core ? static_cast<unsigned>(NVTX_CBID_CORE_SIZE) : static_cast<unsigned>(NVTX_CBID_CORE2_SIZE);
  return 1;
}
const void* exportTable(std::uint32_t id) {
  static const NvtxExportTableCallbacks kCallbacks{sizeof(NvtxExportTableCallbacks), moduleTable};
  return id == NVTX_ETID_CALLBACKS ? &kCallbacks : nullptr;
}

// Returns slots as a recorder does, without reading them.
void drain() {
  wire::Slot* slots = gSession.slots;
  for (;;) {
    const std::int64_t index = wire::takeCompleted(gSession.memory.base, gSession.memory.plan);
    if (index < 0) {
      usleep(200);
      continue;
    }
    std::memset(static_cast<char*>(gSession.memory.base) + slots[index].offset, 0, slots[index].validBytes.load());
    slots[index].state.store(static_cast<std::uint32_t>(wire::SlotState::free), std::memory_order_release);
    gSession.wakeWorker();
  }
}

void startSession() {
  const std::string path = "/tmp/warpmeter-bench-" + std::to_string(getpid());
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 4) != 0) {
    std::exit(1);
  }
  setenv(wire::kEnvSocket, path.c_str(), 1);
  for (int i = 0; i <= NVTX_CBID_CORE_SIZE; ++i) gCoreTable[i] = &gCore[i];
  for (int i = 0; i <= NVTX_CBID_CORE2_SIZE; ++i) gCore2Table[i] = &gCore2[i];
  if (!inject::attachNvtx(exportTable)) std::exit(1);
  unlink(path.c_str());
  gSession.header->allowedBytes.store(wire::kGiB);
  gSession.header->recorderAlive.store(1);
  gSession.cupti.version = CUPTI_API_VERSION;
  gSession.attached.store(1);
  std::uint16_t sizes[wire::kKindCount] = {};
  sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel10);
  sizes[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI);
  inject::fillRecordTable(gSession.records, sizes);
  std::thread(drain).detach();
}

// A kernel and its API call in turn, `names` different kernels.
std::vector<std::uint8_t> madeUpBuffer(std::size_t bytes, const std::vector<std::string>& names) {
  std::vector<std::uint8_t> buffer(bytes);
  std::size_t at = 0, n = 0;
  while (at + sizeof(CUpti_ActivityKernel10) + sizeof(CUpti_ActivityAPI) <= bytes) {
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = names[n++ % names.size()].c_str();
    std::memcpy(buffer.data() + at, &kernel, sizeof kernel);
    at += sizeof kernel;
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    std::memcpy(buffer.data() + at, &call, sizeof call);
    at += sizeof call;
  }
  buffer.resize(at);
  return buffer;
}

void walk(benchmark::State& state) {
  std::vector<std::string> names;
  for (int i = 0; i < state.range(0); ++i) names.push_back("_ZN2at6native27vectorized_elementwise_kernelILi4E" + std::to_string(i));
  const std::vector<std::uint8_t> fresh = madeUpBuffer(4 * wire::kMiB, names);
  std::vector<std::uint8_t> buffer(fresh.size());
  std::uint64_t records = 0;
  for (auto _ : state) {
    state.PauseTiming();
    buffer = fresh;
    state.ResumeTiming();
    records += inject::walkBuffer(gSession.records, gSession.names, buffer.data(), buffer.size()).records;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}
BENCHMARK(walk)->Arg(1)->Arg(100)->Arg(10000)->Unit(benchmark::kMillisecond);

void requestBuffer(benchmark::State& state) {
  for (auto _ : state) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, records = 0;
    inject::bufferRequested(&buffer, &size, &records);
    benchmark::DoNotOptimize(buffer);
    state.PauseTiming();
    if (buffer != nullptr) inject::bufferCompleted(nullptr, 0, buffer, size, 0);
    usleep(20);
    state.ResumeTiming();
  }
  state.counters["pool empty"] = static_cast<double>(gSession.header->poolEmpty.load());
}
BENCHMARK(requestBuffer)->Iterations(20000);

// Exact mode, a launch of a kernel that has been measured already: its key and its entry, enter and exit apart.
void knownLaunch(benchmark::State& state) {
  static counters::KernelTable table;
  const auto kernels = static_cast<std::uint32_t>(state.range(0));
  std::uint32_t n = 0;
  for (auto _ : state) {
    const cuLaunchKernel_params parameters{nullptr, n++ % kernels + 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr};
    CUpti_CallbackData call{};
    call.functionParams = &parameters;
    const counters::Launch launch = counters::readLaunch(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, call);
    bool fresh = false;
    counters::Kernel* kernel = table.find(launch.key, fresh);
    kernel->launches.fetch_add(1, std::memory_order_relaxed);
    benchmark::DoNotOptimize(kernel);
  }
}
BENCHMARK(knownLaunch)->Arg(1)->Arg(50)->Arg(3000);

void pushAndPop(benchmark::State& state) {
  const auto push = reinterpret_cast<nvtxRangePushA_impl_fntype>(gCore[NVTX_CBID_CORE_RangePushA]);
  const auto pop = reinterpret_cast<nvtxRangePop_impl_fntype>(gCore[NVTX_CBID_CORE_RangePop]);
  for (auto _ : state) {
    push("forward pass, layer 7");
    pop();
  }
  state.counters["lost"] = static_cast<double>(gSession.header->ownRecordsLost.load());
}
BENCHMARK(pushAndPop);

void clockOnly(benchmark::State& state) {  // the part of a range that is two looks at the clock
  for (auto _ : state) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    clock_gettime(CLOCK_REALTIME, &t);
    benchmark::DoNotOptimize(t);
  }
}
BENCHMARK(clockOnly);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  startSession();
  benchmark::RunSpecifiedBenchmarks();
  std::_Exit(0);
}
