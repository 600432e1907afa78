// SPDX-License-Identifier: Apache-2.0
// Lesson: copies of pageable memory go through a pinned buffer of the driver, those of pinned memory do
// not.
#include <algorithm>
#include <cstring>

#include "common/gpu.h"
#include "common/random.h"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "copies",
    "copies to the GPU, back and inside it, from pageable and from pinned memory, and memset",
    {},
    {{"pageable", "host memory from malloc", "", ""}, {"pinned", "host memory from cudaMallocHost", "", ""}},
    {{"bytes", 64 << 20, 4, 1LL << 40, "size of each copy"},
     {"repetitions", 10, 1, 1'000'000, "copies of each kind"}},
    {"--bytes", "4100", "--repetitions", "2"}};

// Host memory of the chosen kind.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, bool pinned) {
    if (pinned) {
      WARPMETER_CHECK(cudaMallocHost(&pinned_, bytes));
      data_ = static_cast<unsigned char*>(pinned_);
    } else {
      pageable_.resize(bytes);
      data_ = pageable_.data();
    }
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { cudaFreeHost(pinned_); }
  unsigned char* get() const { return data_; }

 private:
  std::vector<unsigned char> pageable_;
  void* pinned_ = nullptr;
  unsigned char* data_ = nullptr;
};

void copies(Run& run) {
  const bool pinned = run.arguments.variant() == "pinned";
  const auto bytes = run.arguments["bytes"];
  const auto size = static_cast<std::size_t>(bytes);
  const std::int64_t repetitions = run.arguments["repetitions"];
  requireHostMemory(2 * bytes, "--bytes " + std::to_string(bytes));
  openDevice(run);
  requireDeviceMemory(2 * bytes, "--bytes " + std::to_string(bytes));

  const Stream stream(1);
  HostBuffer source(size, pinned);
  HostBuffer result(size, pinned);
  Random random(run.arguments["seed"]);
  std::generate(source.get(), source.get() + size,
                [&] { return static_cast<unsigned char>(random.next() >> 56); });
  std::memset(result.get(), 0, size);  // touched, so that no copy pays for page faults
  DeviceArray<unsigned char> first(bytes);
  DeviceArray<unsigned char> second(bytes);
  const char* memory = pinned ? "pinned" : "pageable";

  const auto measure = [&](const char* kind, const char* where, const char* key, const char* label,
                           int traffic, auto&& operation) {
    Phase phase(run.nvtx, kind);
    EventTimer timer(stream);
    timer.start();
    for (std::int64_t i = 0; i < repetitions; ++i) {
      operation();
    }
    const double elapsedNs = timer.stopNs();
    run.report.copy({kind, where, bytes, stream.index()}, repetitions);
    run.report.value(key, label, 1e9 * static_cast<double>(traffic * bytes * repetitions) / elapsedNs,
                     Unit::bytesPerSec);
  };
  measure("h2d", memory, "h2dBytesPerSec", "to the GPU", 1, [&] {
    WARPMETER_CHECK(cudaMemcpyAsync(first.get(), source.get(), size, cudaMemcpyHostToDevice, stream));
  });
  measure("d2d", "device", "d2dBytesPerSec", "inside it, read + write", 2, [&] {
    WARPMETER_CHECK(cudaMemcpyAsync(second.get(), first.get(), size, cudaMemcpyDeviceToDevice, stream));
  });
  measure("d2h", memory, "d2hBytesPerSec", "back", 1, [&] {
    WARPMETER_CHECK(cudaMemcpyAsync(result.get(), second.get(), size, cudaMemcpyDeviceToHost, stream));
  });
  stream.synchronize();
  if (std::memcmp(source.get(), result.get(), size) != 0) {
    throw Failure{kExitFailed, "the bytes that came back differ from those that were sent"};
  }
  measure("memset", "device", "memsetBytesPerSec", "memset", 1,
          [&] { WARPMETER_CHECK(cudaMemsetAsync(second.get(), 0x5a, size, stream)); });
  WARPMETER_CHECK(cudaMemcpyAsync(result.get(), second.get(), size, cudaMemcpyDeviceToHost, stream));
  stream.synchronize();
  run.report.copy({"d2h", memory, bytes, stream.index()});
  if (std::any_of(result.get(), result.get() + size, [](unsigned char byte) { return byte != 0x5a; })) {
    throw Failure{kExitFailed, "memset wrote something else than 0x5a"};
  }
  run.nvtx.mark("checked");
  run.report.checked(2 * bytes, "the bytes sent");
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, copies); }
