// SPDX-License-Identifier: Apache-2.0
// Speaks wire/sampler.h like warpmeter-sampler, or breaks it. Environment: FAKE_SAMPLER = what to do (below),
// FAKE_SAMPLER_LOG = a file for its arguments, its environment and the lines it was told.
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/wire/sampler.h"

extern char** environ;

namespace {

using warpmeter::wire::kSamplerMagic;
using warpmeter::wire::SamplerKind;
using warpmeter::wire::SamplerMessage;

constexpr int kSamples = 100;
constexpr std::int64_t kIntervalNs = 10'000;  // a batch is 1 ms
constexpr char kSet[] = "sm__cycles_active.sum\0sm__cycles_elapsed.sum\0sm__warps_active.sum";

std::ofstream gLog;

std::int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void writeAll(const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(STDOUT_FILENO, at, size);
    if (n <= 0) _exit(9);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void send(SamplerMessage message, const void* payload = nullptr, std::size_t bytes = 0) {
  message.magic = kSamplerMagic;
  message.bytes = bytes;
  writeAll(&message, sizeof message);
  if (bytes > 0) writeAll(payload, bytes);
}

void sendText(SamplerKind kind, std::uint32_t gpu, const std::string& text) {
  SamplerMessage message{};
  message.kind = kind;
  message.gpu = gpu;
  send(message, text.data(), text.size());
}

void sendGpu(const std::string& uuid) {
  sendText(SamplerKind::gpu, 0, uuid + std::string("\0GH100\0", 7));
  SamplerMessage set{};
  set.kind = SamplerKind::set;
  set.metrics = 3;
  send(set, kSet, sizeof kSet);
}

// Half of the SM-cycles active, a quarter of all warp slots (64 per SM) used.
void sendBatch(std::uint32_t set = 0, std::int64_t cycles = 20'000, int samples = kSamples) {
  const std::int64_t start = nowNs() - samples * kIntervalNs;
  std::vector<std::int64_t> ends;
  std::vector<std::vector<std::int64_t>> values(3);
  for (int i = 0; i < samples; ++i) {
    ends.push_back(start + (i + 1) * kIntervalNs);
    values[0].push_back(cycles / 2);
    values[1].push_back(cycles);
    values[2].push_back(cycles * 16);
  }
  const auto data = warpmeter::packSamples(start, ends, values);
  SamplerMessage message{};
  message.kind = SamplerKind::batch;
  message.set = set;
  message.fromNs = start;
  message.toNs = ends.back();
  message.samples = static_cast<std::uint32_t>(samples);
  message.metrics = 3;
  message.intervalNs = static_cast<std::uint32_t>(kIntervalNs);
  send(message, data.data(), data.size());
}

void sendHole(const std::string& why) {
  SamplerMessage message{};
  message.kind = SamplerKind::hole;
  message.fromNs = nowNs() - 5'000'000;
  message.toNs = nowNs();
  send(message, why.data(), why.size());
}

// The next line, "end" at the end of the input, "" when none came in time.
std::string nextLine(int timeoutMs) {
  static std::string buffer;
  while (true) {
    if (const auto at = buffer.find('\n'); at != buffer.npos) {
      std::string line = buffer.substr(0, at);
      buffer.erase(0, at + 1);
      gLog << "told " << line << std::endl;
      return line;
    }
    pollfd fd{STDIN_FILENO, POLLIN, 0};
    if (poll(&fd, 1, timeoutMs) <= 0) return "";
    char some[512];
    const ssize_t n = read(STDIN_FILENO, some, sizeof some);
    if (n <= 0) return "end";
    buffer.append(some, static_cast<std::size_t>(n));
  }
}

std::string awaitGpu() {
  for (std::string line; (line = nextLine(10'000)) != "end";) {
    if (line.starts_with("gpu ")) return line.substr(4);
    if (line.empty()) break;
  }
  return "";
}

void awaitEnd() {
  while (nextLine(10'000) != "end") {
  }
}

int sampleUntilEnd() {
  while (nextLine(20) != "end") sendBatch();
  sendBatch();  // what is left
  SamplerMessage cost{};
  cost.kind = SamplerKind::cost;
  cost.fromNs = 12'345'678;
  send(cost);
  return 0;
}

int run(const std::string& what) {
  if (what == "dies") return 3;
  if (what == "quits") return 0;
  if (what == "garbage") {
    std::string noise(100'000, 'x');
    writeAll(noise.data(), noise.size());
    awaitEnd();
    return 0;
  }
  if (what.starts_with("unavailable:")) {
    const std::string reason = what.substr(12);
    sendText(SamplerKind::unavailable, 0xffffffff, reason + '\0' + "text of " + reason + "\nsecond line" + '\0');
    return 0;
  }
  const std::string uuid = awaitGpu();
  if (uuid.empty()) return 0;
  sendGpu(uuid);
  if (what == "foreign") {  // a GPU that nobody of the recording uses
    sendText(SamplerKind::gpu, 0, std::string("99999999-0000-0000-0000-000000000000\0GH100\0", 43));
    return sampleUntilEnd();
  }
  if (what == "normal") return sampleUntilEnd();
  sendBatch();
  if (what == "overflow") {
    sendHole("the counters' buffer overflowed");
    sendHole("the counters' buffer overflowed");
    return sampleUntilEnd();
  }
  if (what == "crashes") {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer turns it into an exit code
    raise(SIGSEGV);
  }
  if (what == "truncated") {
    SamplerMessage message{};
    message.magic = kSamplerMagic;
    message.kind = SamplerKind::batch;
    message.bytes = 1000;
    writeAll(&message, sizeof message);
    return 0;
  }
  if (what == "hangs" || what == "closes") {
    if (what == "closes") close(STDOUT_FILENO);
    while (true) pause();
  }
  if (what == "floods") {  // 40 MB at once, and then goes on
    for (int i = 0; i < 40; ++i) sendBatch(0, 20'000, 250'000);
    return sampleUntilEnd();
  }
  if (what == "lies") {
    sendBatch(7);          // a set that does not exist
    sendBatch(0, -20'000); // counters do not go backwards
    SamplerMessage message{};
    message.kind = SamplerKind::batch;
    message.samples = 0xffffffff;
    message.metrics = 3;
    message.toNs = 1;
    send(message, "x", 1);
    sendText(SamplerKind::gpu, 63, "no zero at the end");
    return sampleUntilEnd();
  }
  return 8;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* log = std::getenv("FAKE_SAMPLER_LOG")) gLog.open(log);
  gLog << "pid " << getpid() << '\n';
  for (int i = 1; i < argc; ++i) gLog << "argument " << argv[i] << '\n';
  for (char** at = environ; *at != nullptr; ++at) gLog << "environment " << *at << '\n';
  gLog.flush();
  const char* what = std::getenv("FAKE_SAMPLER");
  return run(what == nullptr ? "normal" : what);
}
