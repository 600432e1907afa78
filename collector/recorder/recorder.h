// SPDX-License-Identifier: Apache-2.0
// The thread that talks to guests and to the CLI. It never waits for the file: what it takes in goes to the queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture_windows.h"
#include "control.h"
#include "exact_phase.h"
#include "gpu_query.h"
#include "guest.h"
#include "item_queue.h"
#include "listener.h"
#include "range_scan.h"
#include "sampler_feed.h"
#include "sampler_process.h"
#include "store.h"
#include "warpmeter/recorder/options.h"

namespace warpmeter::recorder {

class Recorder {
 public:
  Recorder(const Options& options, Control& control, Listener listener, ProfileWriter writer, SessionInfo session);
  ~Recorder();
  int run(int signalFd);

 private:
  void wait(int timeoutMs, int signalFd);
  void takeNewcomers(std::int64_t now);
  void attach(Listener::Newcomer newcomer, std::int64_t now);
  void takeBuffers(std::int64_t now);
  void takeChunk(const Chunk& chunk, Guest& guest);
  void drop(const Chunk& chunk, const Guest& guest);
  void guestGone(Guest& guest, std::int64_t now, const char* how);
  void reapGuests(std::int64_t now);
  void shareMemory();
  void readControl(std::int64_t now);
  void watchApp();
  void everySecond(std::int64_t now);
  void queryGpus(std::int64_t now);
  void startSampler();
  void watchSampler(std::int64_t now);
  void samplerEnded(const SamplerProcess::End& end);
  bool over(std::int64_t now) const;
  void noteLeftRunning(const std::set<std::int64_t>& guests);
  void finish(std::int64_t now);
  std::int64_t sessionTime(std::int64_t realtime) const { return realtime - session_.utcEpochNs; }
  ProcessInfo describe(std::int64_t pid) const;
  static std::vector<std::string> wordsOf(const wire::ControlMessage& message);

  Options options_;
  Control& control_;
  Listener listener_;
  SessionInfo session_;
  CaptureWindows capture_;
  RangeScan scan_;
  ItemQueue queue_;
  Store store_;
  std::thread writerThread_;
  GpuQuery gpuQuery_;
  ExactPhase exact_;
  SamplerFeed samplerFeed_;
  SamplerProcess sampler_;                   // after the feed: its thread uses it

  std::vector<std::unique_ptr<Guest>> guests_;
  std::vector<Guest*> gone_;                 // pidfd was readable in the last wait
  std::uint32_t nextProcess_ = 0;
  std::int64_t lastGuestNs_ = 0, startedNs_ = 0, lastSecondNs_ = 0, lastLiveNs_ = 0, lastTakenNs_ = 0,
               lastCountersNs_ = 0, lastSizeNs_ = 0;
  std::atomic<std::uint64_t> outputBytes_{0};

  struct App {
    std::int64_t pid = 0, startedNs = 0;
    ProcessInfo info;
    std::vector<std::string> given;  // its command line, if the CLI said it
    bool guest = false, ended = false, described = false;
    int waitStatus = 0;
  };
  std::optional<App> app_;
  std::int64_t lastAppLookNs_ = 0;
  bool terminated_ = false;
};

}  // namespace warpmeter::recorder
