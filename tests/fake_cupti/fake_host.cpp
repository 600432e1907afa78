// SPDX-License-Identifier: Apache-2.0
// A CUDA application for tests. Usage and scenarios: README.md.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver.h"
#include "fake_host.h"

namespace warpmeter::fake {
namespace {

struct Arguments {
  std::string scenario = "normal";
  std::uint32_t launches = 1000, threads = 1, slowEvery = 0, pauseUs = 0, kernels = 0;
  std::int64_t kernelNs = 2000;
  int exitCode = 0;
  const char* log = nullptr;
  bool runtime = false, nccl = false, cooperative = false, lineInfo = false;
};

LaunchLog* gLog = nullptr;

void openLog(const char* path) {
  const int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(LaunchLog)) != 0) return;
  void* memory = mmap(nullptr, sizeof(LaunchLog), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) gLog = static_cast<LaunchLog*>(memory);
}

// An ELF image with a section .debug_line that holds the text.
std::string imageWithLines(const std::string& text) {
  static constexpr char kNames[] = "\0.shstrtab\0.debug_line";
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_offset = sizeof head;
  sections[1].sh_size = sizeof kNames;
  sections[2].sh_name = 11;
  sections[2].sh_offset = sizeof head + sizeof kNames;
  sections[2].sh_size = text.size();
  head.e_shoff = sections[2].sh_offset + text.size();
  std::string image(reinterpret_cast<const char*>(&head), sizeof head);
  image.append(kNames, sizeof kNames).append(text);
  return image.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

class Gpu {
 public:
  explicit Gpu(const Arguments& arguments) : arguments_(arguments) {
    cuInit(0);
    cuCtxCreate(&context_, nullptr, 0, 0);
    if (arguments.nccl) {
      load("first image", "_Z23ncclDevKernel_AllReducev", "_ZN4nccl6kernelEv");
    } else {
      load("first image", "_Z6vecAddPfS_S_i", "_Z5scalePff");
    }
    cuStreamCreate(&slowStream_, 0);
  }
  void load(const char* image, const char* a, const char* b) {
    const std::string code = arguments_.lineInfo ? imageWithLines(image) : image;
    cuModuleLoadData(&module_, code.c_str());
    cuModuleGetFunction(&functions_[0], module_, a);
    cuModuleGetFunction(&functions_[1], module_, b);
  }
  void unload() { cuModuleUnload(module_); }

  // The n-th launch has gridX = n + 1, so a recording can be compared row by row.
  void launch(std::uint32_t n) {
    const bool slow = arguments_.slowEvery != 0 && n % arguments_.slowEvery == arguments_.slowEvery - 1;
    warpmeterFakeDuration(slow ? 50000000 : arguments_.kernelNs);
    const unsigned gridX = arguments_.kernels == 0 ? n + 1 : n % arguments_.kernels + 1;
    CUstream stream = slow ? slowStream_ : nullptr;
    if (arguments_.cooperative) {
      warpmeterFakeCooperativeLaunch(functions_[n % 2], gridX, 128);
    } else if (arguments_.runtime) {
      warpmeterFakeRuntimeLaunch(functions_[n % 2], gridX, 128, stream);
    } else {
      cuLaunchKernel(functions_[n % 2], gridX, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr);
    }
    if (gLog == nullptr) return;
    const std::uint64_t at = gLog->count.fetch_add(1);
    if (at >= LaunchLog::kRoom) return;
    LoggedLaunch& entry = gLog->launches[at];
    warpmeterFakeLastWork(&entry.correlationId, &entry.endNs);
    entry.gridX = gridX;
    entry.written.store(1, std::memory_order_release);
  }
  void run(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t n = first; n < first + count; ++n) {
      launch(n);
      if (arguments_.pauseUs != 0) usleep(arguments_.pauseUs);
    }
  }
  void copies() {
    CUdeviceptr memory = 0;
    char host[4096] = {};
    cuMemAlloc(&memory, sizeof host);
    cuMemcpyHtoD(memory, host, sizeof host);
    cuMemsetD8(memory, 1, sizeof host);
    cuMemFree(memory);
  }
  void use() { cuCtxSetCurrent(context_); }
  void synchronize() { cuCtxSynchronize(); }
  void destroy() { cuCtxDestroy(context_); }

 private:
  const Arguments& arguments_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction functions_[2] = {};
  CUstream slowStream_ = nullptr;
};

void report(const char* key, std::uint64_t value) {
  std::printf("%s %llu\n", key, static_cast<unsigned long long>(value));
  std::fflush(stdout);
}

void reportState() {
  State state;
  if (!warpmeterFakeState(&state)) {
    std::printf("cupti none\n");
    return;
  }
  report("cuptiVersion", state.version);
  report("subscribed", state.subscribed);
  report("enabledKinds", state.enabledKinds);
  report("enabledCalls", state.enabledRuntimeCalls + state.enabledDriverCalls);
  report("enabledCallbacks", state.enabledCallbacks);
  report("recordsWritten", state.recordsWritten);
  report("recordsDropped", state.recordsDropped);
  report("buffersRefused", state.buffersRefused);
  report("dirtyBuffers", state.dirtyBuffers);
  report("launchAttributes", state.launchAttributes);
  report("latencyTimestamps", state.latencyTimestamps);
  report("threadIdType", state.threadIdType);
  report("rangeCalls", state.rangeCalls);
  report("pushedRanges", state.pushedRanges);
  report("openRanges", state.openRanges);
  report("openSessions", state.openSessions);
  report("callsDuringCapture", state.callsDuringCapture);
  report("pcCalls", state.pcCalls);
  report("pcSessions", state.pcSessions);
  report("pcSamples", state.pcSamples);
  report("pcNameless", state.pcNameless);
}

int normal(const Arguments& arguments) {
  Gpu gpu(arguments);
  std::vector<std::thread> others;
  for (std::uint32_t t = 1; t < arguments.threads; ++t) {
    others.emplace_back([&gpu, &arguments, t] { gpu.run(t * arguments.launches, arguments.launches); });
  }
  gpu.run(0, arguments.launches);
  for (std::thread& other : others) other.join();
  gpu.copies();
  gpu.synchronize();
  report("launches", std::uint64_t{arguments.launches} * arguments.threads);
  reportState();
  return arguments.exitCode;
}

int destroyContext(const Arguments& arguments) {
  Gpu gpu(arguments);
  gpu.run(0, arguments.launches);
  gpu.synchronize();
  gpu.destroy();
  report("launches", arguments.launches);
  reportState();
  return arguments.exitCode;
}

int capture(const Arguments& arguments) {  // only the second third is inside the capture range
  Gpu gpu(arguments);
  gpu.run(0, arguments.launches);
  gpu.synchronize();
  cuProfilerStart();
  gpu.run(arguments.launches, arguments.launches);
  gpu.synchronize();
  cuProfilerStop();
  gpu.run(2 * arguments.launches, arguments.launches);
  gpu.synchronize();
  report("launches", std::uint64_t{arguments.launches} * 3);
  return arguments.exitCode;
}

// Launches, captures launches of the same kernels into a graph, launches again; other threads go on launching meanwhile.
int graphCapture(const Arguments& arguments) {
  Gpu gpu(arguments);
  std::vector<std::thread> others;
  for (std::uint32_t t = 1; t < arguments.threads; ++t) {
    others.emplace_back([&gpu, &arguments] { gpu.run(0, 3 * arguments.launches); });
  }
  std::uint64_t good = 0;
  for (int round = 0; round < 3; ++round) {
    gpu.run(0, arguments.launches);
    cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL);
    gpu.run(0, arguments.launches);
    usleep(2000);
    CUgraph graph = nullptr;
    if (cuStreamEndCapture(nullptr, &graph) == CUDA_SUCCESS && graph != nullptr) ++good;
    gpu.run(0, arguments.launches);
  }
  for (std::thread& other : others) other.join();
  gpu.synchronize();
  report("goodCaptures", good);
  reportState();
  return arguments.exitCode;
}

// The same kernels in two contexts, turn by turn.
int twoContexts(const Arguments& arguments) {
  Gpu gpu(arguments), second(arguments);
  for (std::uint32_t i = 0; i < arguments.launches; ++i) {
    gpu.use();
    gpu.launch(i);
    second.use();
    second.launch(i);
  }
  gpu.synchronize();
  reportState();
  return arguments.exitCode;
}

[[noreturn]] void storm(const Arguments& arguments) {
  Gpu gpu(arguments);
  report("ready", 1);
  for (std::uint32_t n = 0;; ++n) {
    gpu.launch(n);
    if (arguments.pauseUs != 0) usleep(arguments.pauseUs);
    if (n % 64 == 63) usleep(200);  // about 300 000 launches a second at most
  }
}

int forkWithoutExec(const Arguments& arguments) {
  Gpu gpu(arguments);
  gpu.run(0, arguments.launches);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // What a real child may not do; here it shows that nothing of it reaches the parent's memory. It comes second, so
    // that whatever it wrote there would lie over the parent's records.
    usleep(100000);
    gpu.run(1000000, 20000);
    nvtxRangePushA("child");
    nvtxRangePop();
    std::_Exit(0);
  }
  gpu.run(arguments.launches, arguments.launches);
  int status = 0;
  waitpid(child, &status, 0);
  gpu.synchronize();
  report("launches", std::uint64_t{arguments.launches} * 2);
  report("childStatus", static_cast<std::uint64_t>(status));
  return arguments.exitCode;
}

int closeDescriptors(const Arguments& arguments) {
  Gpu gpu(arguments);
  for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
  // The numbers now belong to files of ours; whoever still used an old number would write into them.
  std::vector<int> files;
  for (int i = 0; i < 16; ++i) files.push_back(memfd_create("host", MFD_CLOEXEC));
  gpu.run(0, arguments.launches);
  gpu.synchronize();
  usleep(300000);
  std::uint64_t foreignBytes = 0;
  for (const int file : files) foreignBytes += static_cast<std::uint64_t>(lseek(file, 0, SEEK_END));
  report("launches", arguments.launches);
  report("foreignBytes", foreignBytes);
  return arguments.exitCode;
}

int execChild(const Arguments& arguments, const char* self) {
  Gpu gpu(arguments);
  gpu.run(0, arguments.launches);
  gpu.synchronize();
  report("launches", arguments.launches);
  const std::string launches = std::to_string(arguments.launches);
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, "normal", "--launches", launches.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  report("childStatus", static_cast<std::uint64_t>(status));
  return arguments.exitCode;
}

int reload(const Arguments& arguments) {  // needs FAKE_CUDA_REUSE_NAMES=1 to mean anything
  Gpu gpu(arguments);
  gpu.run(0, arguments.launches);
  gpu.synchronize();
  usleep(600000);  // delivered before the names change
  gpu.unload();
  gpu.load("second image", "_Z6matMulPfS_S_i", "_Z7softmaxPfi");
  gpu.run(arguments.launches, arguments.launches);
  gpu.synchronize();
  report("launches", std::uint64_t{arguments.launches} * 2);
  reportState();
  return arguments.exitCode;
}

void useNvtx() {
  nvtxNameCategoryA(3, "loading");
  nvtxNameOsThreadA(static_cast<std::uint32_t>(gettid()), "main thread");
  report("push", static_cast<std::uint64_t>(nvtxRangePushA("outer")));
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  event.category = 3;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = 42;
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"inner \u00e9";
  report("pushInner", static_cast<std::uint64_t>(nvtxRangePushEx(&event)));
  nvtxMarkA("a mark");
  report("popInner", static_cast<std::uint64_t>(nvtxRangePop()));
  report("pop", static_cast<std::uint64_t>(nvtxRangePop()));
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "registered");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  const nvtxRangeId_t range = nvtxRangeStartA("across threads");
  std::thread([range] { nvtxRangeEnd(range); }).join();
  nvtxDomainDestroy(domain);
}

int nvtx(const Arguments& arguments) {
  useNvtx();
  return arguments.exitCode;
}

int nvtxThenCuda(const Arguments& arguments) {
  useNvtx();
  return normal(arguments);
}

int nvtxThenForkedCuda(const Arguments& arguments) {
  nvtxRangePushA("parent");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    nvtxRangePushA("before cuInit");  // nobody records yet
    cuInit(0);
    nvtxRangePushA("child");
    nvtxRangePop();
    std::exit(normal(arguments));
  }
  int status = 0;
  waitpid(child, &status, 0);
  nvtxRangePop();
  report("childStatus", static_cast<std::uint64_t>(status));
  return arguments.exitCode;
}

int nvtxMany(const Arguments& arguments) {
  nvtxRangePushA("first");  // loads the library
  nvtxRangePop();
  timespec start{}, end{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (std::uint32_t i = 0; i < arguments.launches; ++i) {
    nvtxRangePushA("forward pass, layer 7");
    nvtxRangePop();
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  const std::int64_t ns = (end.tv_sec - start.tv_sec) * std::int64_t{1000000000} + end.tv_nsec - start.tv_nsec;
  report("psPerPair", static_cast<std::uint64_t>(ns * 1000 / arguments.launches));
  return arguments.exitCode;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  if (argc > 1) a.scenario = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--runtime") a.runtime = true;
    if (option == "--nccl") a.nccl = true;
    if (option == "--line-info") a.lineInfo = true;
    if (option == "--cooperative") a.cooperative = true;
    if (i + 1 == argc) break;
    if (option == "--launches") a.launches = static_cast<std::uint32_t>(std::atol(argv[++i]));
    if (option == "--threads") a.threads = static_cast<std::uint32_t>(std::atol(argv[++i]));
    if (option == "--slow-every") a.slowEvery = static_cast<std::uint32_t>(std::atol(argv[++i]));
    if (option == "--kernels") a.kernels = static_cast<std::uint32_t>(std::atol(argv[++i]));
    if (option == "--pause-us") a.pauseUs = static_cast<std::uint32_t>(std::atol(argv[++i]));
    if (option == "--kernel-ns") a.kernelNs = std::atol(argv[++i]);
    if (option == "--exit-code") a.exitCode = std::atoi(argv[++i]);
    if (option == "--log") a.log = argv[++i];
  }
  return a;
}

}  // namespace

int runHost(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  if (a.log != nullptr) openLog(a.log);
  report("pid", static_cast<std::uint64_t>(getpid()));
  if (a.scenario == "normal") return normal(a);
  if (a.scenario == "no-cuda") return a.exitCode;
  if (a.scenario == "init-only") return cuInit(0) == CUDA_SUCCESS ? a.exitCode : 1;
  if (a.scenario == "destroy-context") return destroyContext(a);
  if (a.scenario == "capture") return capture(a);
  if (a.scenario == "storm") storm(a);
  if (a.scenario == "graph-capture") return graphCapture(a);
  if (a.scenario == "two-contexts") return twoContexts(a);
  if (a.scenario == "fork") return forkWithoutExec(a);
  if (a.scenario == "close-fds") return closeDescriptors(a);
  if (a.scenario == "exec") return execChild(a, argv[0]);
  if (a.scenario == "reload") return reload(a);
  if (a.scenario == "nvtx") return nvtx(a);
  if (a.scenario == "nvtx-then-cuda") return nvtxThenCuda(a);
  if (a.scenario == "nvtx-fork-cuda") return nvtxThenForkedCuda(a);
  if (a.scenario == "nvtx-many") return nvtxMany(a);
  if (a.scenario == "underscore-exit") {
    normal(a);
    std::_Exit(a.exitCode);
  }
  if (a.scenario == "abort") {
    normal(a);
    std::abort();
  }
  std::fprintf(stderr, "unknown scenario '%s'\n", a.scenario.c_str());
  return 2;
}

}  // namespace warpmeter::fake
