// SPDX-License-Identifier: Apache-2.0
// How much the recorder takes in, and how fast it writes: a guest without CUDA delivers records (1 kernel : 2 API
// calls) at a given rate through shared memory to the real recorder, both confined to the same CPUs.
//   recorder_bench [--rate RECORDS_PER_S] [--seconds S] [--cpus N] [--output FILE]
// Prints what was delivered, what found no buffer, rows written while producing and afterwards, and memory.
#include <cuda.h>
#include <cupti_activity.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "collector/recorder/guest_simulator.h"
#include "collector/recorder/records.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::recorder {
namespace {

using Clock = std::chrono::steady_clock;
constexpr char kRunText[] = "000102030405060708090a0b0c0d0e0f";
constexpr unsigned char kRun[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct Settings {
  double rate = 3.0e6;
  double seconds = 20;
  int cpus = 2;
  std::string output = "recorder_bench.wm.sqlite";
};

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t realtimeNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double statusMib(pid_t pid, const std::string& field) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string name; file >> name;) {
    double kib = 0;
    if (name == field + ":" && file >> kib) return kib / 1024;
  }
  return 0;
}

// User and system time of a running process.
double cpuSeconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct RunningRecorder {
  pid_t pid = -1;
  int control = -1;
};

RunningRecorder startRecorder(const Settings& settings, const std::string& socketPath) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  RunningRecorder recorder;
  recorder.pid = fork();
  if (recorder.pid == 0) {
    dup2(ends[1], 9);
    execl(WARPMETER_RECORDER, "warpmeter-recorder", "--run", kRunText, "--socket", socketPath.c_str(), "--output",
          settings.output.c_str(), "--control-fd", "9", "--force", nullptr);
    _exit(127);
  }
  close(ends[1]);
  recorder.control = ends[0];
  wire::ControlMessage message{};
  if (recv(recorder.control, &message, sizeof message, 0) <= 0 || message.kind != wire::ControlKind::ready) {
    fmt::print(stderr, "recorder_bench: the recorder did not start: {}\n", message.text);
    std::exit(1);
  }
  return recorder;
}

void tell(const RunningRecorder& recorder, wire::ControlKind kind, int waitStatus) {
  wire::ControlMessage message{};
  message.kind = kind;
  message.pid = getpid();
  message.waitStatus = waitStatus;
  (void)send(recorder.control, &message, sizeof message, 0);
}

// One slot full of launches; times and ids are set anew for each delivery.
class Producer {
 public:
  Producer(GuestSimulator& guest) : guest_(guest) {
    const std::uint64_t names[] = {guest.name("_Z6vecAddPfS_S_i"), guest.name("_Z5scalePff")};
    guest.name("cudaLaunchKernel_v7000", wire::StringKind::runtimeApi, 211);
    guest.name("cudaEventRecord_v3020", wire::StringKind::runtimeApi, 135);
    while (template_.size() + 216 + 80 <= wire::kClassBytes[1]) {
      const auto pid = static_cast<std::uint32_t>(getpid());
      appendRecord(template_, kernelRecord(1, names[records_ % 2], 1, 2));
      appendRecord(template_, apiRecord(false, 211, 1, pid, pid, 1, 2));
      appendRecord(template_, apiRecord(false, 135, 1, pid, pid, 1, 2));
      records_ += 3;
    }
  }
  std::int64_t recordsPerSlot() const { return records_; }

  bool deliver() {
    const std::int64_t slot = guest_.lend(1, wire::SlotSource::cupti, 1);
    if (slot < 0) return false;
    std::byte* to = guest_.bytesOf(static_cast<std::uint32_t>(slot));
    std::memcpy(to, template_.data(), template_.size());
    std::uint64_t t = static_cast<std::uint64_t>(realtimeNow());
    for (std::byte* at = to; at < to + template_.size(); at += 296) {
      auto* k = reinterpret_cast<CUpti_ActivityKernel10*>(at);
      auto* launch = reinterpret_cast<CUpti_ActivityAPI*>(at + 216);
      auto* event = reinterpret_cast<CUpti_ActivityAPI*>(at + 256);
      launch->start = t;
      launch->end = t + 300;
      event->start = t + 310;
      event->end = t + 350;
      k->start = t + 500;
      k->end = t + 900;
      k->correlationId = launch->correlationId = ++correlation_;
      event->correlationId = ++correlation_;
      t += 20;
    }
    guest_.complete(static_cast<std::uint32_t>(slot), template_.size());
    return true;
  }

 private:
  GuestSimulator& guest_;
  std::vector<std::byte> template_;
  std::int64_t records_ = 0;
  std::uint32_t correlation_ = 0;
};

void confine(int cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < cpus; ++i) CPU_SET(i, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int run(const Settings& settings) {
  confine(settings.cpus);
  char folder[] = "/tmp/recorder-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string socketPath = std::string(folder) + "/socket";
  GuestSimulator guest(wire::kGiB);
  const RunningRecorder recorder = startRecorder(settings, socketPath);
  tell(recorder, wire::ControlKind::appStarted, 0);
  if (!guest.sayHello(socketPath, kRun)) return 1;
  Producer producer(guest);

  std::int64_t delivered = 0, dropped = 0;
  double peakAnon = 0, nextLook = 1;
  const auto start = Clock::now();
  for (double now = 0; now < settings.seconds; now = secondsSince(start)) {
    while (static_cast<double>(delivered + dropped) < now * settings.rate) {
      (producer.deliver() ? delivered : dropped) += producer.recordsPerSlot();
    }
    if (now >= nextLook) {
      nextLook += 1;
      peakAnon = std::max(peakAnon, statusMib(recorder.pid, "RssAnon"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  const double produced = secondsSince(start);
  guest.header().exitCodeKnown.store(1);
  guest.header().status.store(static_cast<std::uint32_t>(wire::GuestStatus::exiting));
  while (guest.header().committed.load() == 0) {
    peakAnon = std::max(peakAnon, statusMib(recorder.pid, "RssAnon"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double committed = secondsSince(start), committedCpu = cpuSeconds(recorder.pid);
  kill(recorder.pid, SIGTERM);  // this process lives on: end the recording
  wire::Summary summary{};
  (void)recv(recorder.control, &summary, sizeof summary, 0);
  rusage usage{};
  int status = 0;
  wait4(recorder.pid, &status, 0, &usage);
  const std::int64_t rows = summary.kernels + summary.apiCalls;
  fmt::print("delivered {:.2f} M records/s for {:.1f} s, without a buffer {}\n", static_cast<double>(delivered) / produced / 1e6,
             produced, dropped);
  fmt::print("written   {} rows ({} missing), {:.0f} rows/s over production and draining ({:.1f} s), {:.0f} rows/s of CPU\n",
             rows, delivered - rows, static_cast<double>(rows) / committed, committed,
             static_cast<double>(rows) / committedCpu);
  fmt::print("recorder  {:.1f} MiB of private memory at most, {:.1f} s CPU, file {:.1f} MB, lost {}\n", peakAnon,
             static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
             static_cast<double>(summary.fileBytes) / 1e6, summary.recordsLost);
  std::filesystem::remove_all(folder);
  std::filesystem::remove(settings.output);
  return dropped == 0 && delivered == rows ? 0 : 1;
}

}  // namespace
}  // namespace warpmeter::recorder

int main(int argc, char** argv) {
  warpmeter::recorder::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--rate") settings.rate = std::atof(argv[i + 1]);
    if (name == "--seconds") settings.seconds = std::atof(argv[i + 1]);
    if (name == "--cpus") settings.cpus = std::atoi(argv[i + 1]);
    if (name == "--output") settings.output = argv[i + 1];
  }
  return warpmeter::recorder::run(settings);
}
