// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdlib>
#include <cstring>

#include "warpmeter/wire/handshake.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::inject {
namespace {

constexpr char kEnvKinds[] = "WARPMETER_KINDS";
constexpr const char* kKindNames[] = {"kernel", "memcpy",  "memcpy2", "memset", "overhead", "sync",
                                      "event",  "context", "stream",  "device", "memory",   "jit",
                                      "runtime", "driver", "resource", "state", "reset"};
static_assert(sizeof kKindNames / sizeof kKindNames[0] == static_cast<unsigned>(Feature::count));

bool equal(const char* a, const char* b) {
  return std::strcmp(a, b) == 0;
}

bool copyText(char* to, std::size_t room, const char* from) {
  const std::size_t length = std::strlen(from);
  if (length == 0 || length >= room) return false;
  std::memcpy(to, from, length + 1);
  return true;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void readRun(unsigned char (&run)[16], const char* text) {
  for (int i = 0; i < 16; ++i) {
    const int high = hexDigit(text[2 * i]);
    const int low = high < 0 ? -1 : hexDigit(text[2 * i + 1]);
    if (low < 0) return;
    run[i] = static_cast<unsigned char>(high * 16 + low);
  }
}

// False: not a number.
bool readNumber(const char* text, std::uint32_t& value) {
  value = 0;
  if (*text == 0) return false;
  for (; *text >= '0' && *text <= '9' && value < 1000000; ++text) value = value * 10 + static_cast<unsigned>(*text - '0');
  return *text == 0;
}

std::uint32_t readPeriod(const char* text) {
  std::uint32_t value = 0;
  if (equal(text, "auto")) return wire::kPcAutoPeriod;
  return readNumber(text, value) && value >= wire::kPcLeastPeriod && value <= wire::kPcMostPeriod ? value : 0;
}

std::uint32_t readMilliseconds(const char* text) {
  std::uint32_t value = 0;
  if (!readNumber(text, value) || value == 0) return kDefaultFlushMs;
  return value < 10 ? 10 : value > 60000 ? 60000 : value;
}

}  // namespace

std::uint32_t parseFeatures(const char* list) noexcept {
  std::uint32_t features = 0;
  while (*list != 0) {
    const char* end = list;
    while (*end != 0 && *end != ',') ++end;
    const auto length = static_cast<std::size_t>(end - list);
    for (unsigned i = 0; i < static_cast<unsigned>(Feature::count); ++i) {
      if (std::strlen(kKindNames[i]) == length && std::memcmp(kKindNames[i], list, length) == 0) features |= 1u << i;
    }
    list = *end == 0 ? end : end + 1;
  }
  return features;
}

bool readOptions(Options& options) noexcept {
  const char* socket = std::getenv(wire::kEnvSocket);
  if (socket == nullptr || !copyText(options.socketPath, sizeof options.socketPath, socket)) return false;
  if (const char* run = std::getenv(wire::kEnvRun)) readRun(options.run, run);
  if (const char* path = std::getenv(wire::kEnvCuptiPath)) copyText(options.cuptiPath, sizeof options.cuptiPath, path);
  if (const char* flush = std::getenv(wire::kEnvFlushMs)) options.flushMs = readMilliseconds(flush);
  if (const char* api = std::getenv(wire::kEnvApi)) {
    if (equal(api, "all")) options.api = wire::ApiMode::all;
    if (equal(api, "none")) options.api = wire::ApiMode::none;
  }
  if (const char* latency = std::getenv(wire::kEnvLaunchLatency)) {
    if (equal(latency, "1")) options.latency = LatencyChoice::ifSafe;
    if (equal(latency, "force")) options.latency = LatencyChoice::force;
  }
  if (const char* exact = std::getenv(wire::kEnvExact)) {
    if (!readNumber(exact, options.exactLaunches)) options.exactLaunches = 0;
  }
  if (const char* pc = std::getenv(wire::kEnvPc)) options.pcPeriod = readPeriod(pc);
  if (const char* size = std::getenv(wire::kEnvPcBufferMiB)) {
    if (!readNumber(size, options.pcBufferMiB) || options.pcBufferMiB > 4096) options.pcBufferMiB = 0;
  }
  if (const char* kinds = std::getenv(kEnvKinds)) options.features = parseFeatures(kinds);
  return true;
}

}  // namespace warpmeter::inject
