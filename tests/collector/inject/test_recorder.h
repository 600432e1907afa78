// SPDX-License-Identifier: Apache-2.0
// A recorder in miniature for tests of the injected library: takes guests in, empties and returns their slots, keeps
// the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "warpmeter/wire/exact.h"
#include "warpmeter/wire/handshake.h"
#include "warpmeter/wire/layout.h"
#include "warpmeter/wire/records.h"
#include "warpmeter/wire/strings.h"

namespace warpmeter::test {

using Bytes = std::vector<std::uint8_t>;

struct RecorderOptions {
  std::uint64_t allowedBytes = 256 * wire::kMiB;
  bool drain = true;        // false: slots are never returned, as if the recorder were dead
  bool waitAtExit = true;
  Bytes configurations;     // exact mode's answer to each guest that asks; empty: none
  std::string refusal;      // or "REASON text"
  bool lease = true;        // false: the counters are taken before the guest could use them
  bool listen = true;       // false: the socket's file is there and nobody listens
};

// One recorded process. Valid until the TestRecorder goes.
class Guest {
 public:
  Guest(int memory, const wire::Hello& hello);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  wire::Hello hello;
  int seals = 0;
  std::int64_t peerPid = 0;
  const wire::Header& header() const { return *static_cast<const wire::Header*>(base_); }
  wire::GuestStatus status() const { return static_cast<wire::GuestStatus>(header().status.load()); }
  std::string text(std::uint64_t reference) const;
  std::map<std::uint64_t, std::string> announced(wire::StringKind kind) const;

  void answerExact(const RecorderOptions& options);
  // Of exact mode; nullptr when there is no room for it.
  wire::ExactArea* exactArea() const { return wire::exactAreaOf(base_); }

  void drain(bool giveBack);  // recorder's thread
  // What slots still hold that nobody completed (the process is dead or at its end).
  void salvage();

  std::vector<Bytes> cuptiBuffers, ownBuffers;  // in order of completion; valid after TestRecorder::stop()
  std::vector<Bytes> salvaged;                  // whole slots of source cupti

 private:
  friend class TestRecorder;
  void* base_ = nullptr;
  wire::Plan plan_;
  std::map<std::uint32_t, std::uint64_t> ownRead_;
};

class TestRecorder {
 public:
  explicit TestRecorder(RecorderOptions options = {});
  ~TestRecorder();
  const std::string& socketPath() const { return path_; }

  // Ends the thread after a last look at all slots. Guests may be read from then on.
  void stop();
  std::size_t guestCount();
  Guest& guest(std::size_t index);  // in order of arrival

 private:
  void run();
  void accept();

  RecorderOptions options_;
  std::string folder_, path_;
  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::thread thread_;
};

// Whole records of a buffer by the guest's own sizes.
template <class Function>
void forEachRecord(const Guest& guest, const Bytes& buffer, Function function) {
  std::size_t at = 0;
  while (at + 8 <= buffer.size()) {
    const std::uint32_t kind = *reinterpret_cast<const std::uint32_t*>(buffer.data() + at);
    const std::size_t bytes = kind < wire::kKindCount ? guest.header().recordBytes[kind] : 0;
    if (bytes == 0 || at + bytes > buffer.size()) return;
    function(kind, buffer.data() + at);
    at += bytes;
  }
}
template <class Function>
void forEachOwn(const Guest& guest, Function function) {
  for (const Bytes& buffer : guest.ownBuffers) {
    for (std::size_t at = 0; at + sizeof(wire::OwnHeader) <= buffer.size();) {
      const auto* header = reinterpret_cast<const wire::OwnHeader*>(buffer.data() + at);
      if (header->bytes < sizeof *header) return;
      function(*header);
      at += header->bytes;
    }
  }
}

}  // namespace warpmeter::test
