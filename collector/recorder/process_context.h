// SPDX-License-Identifier: Apache-2.0
// What turns the numbers of one guest's records into those of the file: times, correlation ids, names, threads.
// Used by the writer thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "correlation.h"
#include "guest_memory.h"
#include "loss_table.h"
#include "warpmeter/profile/ids.h"

namespace warpmeter::recorder {

using Intern = std::function<std::int64_t(std::string_view)>;

struct KernelNames {
  std::int64_t mangled = kNull, demangled = kNull, shortName = kNull;
};

// Shared by all processes of a recording.
struct Session {
  std::int64_t startRealtimeNs = 0;      // time 0 of the file
  Intern intern;
  LossTable losses;
  std::uint32_t processIndexes = 0;      // handed out
  bool keepNestedDriverCalls = false;    // --api all
  bool storeApi = true;                  // false: --api none
};

class ProcessContext {
 public:
  ProcessContext(Session& session, std::shared_ptr<const GuestMemory> memory, std::int64_t pid);

  Session& session() { return session_; }
  const GuestMemory& memory() const { return *memory_; }
  std::int64_t pid() const { return pid_; }
  GlobalPid globalPid() const { return globalPid_; }

  // Session time of a CUPTI time stamp. CUPTI counts CLOCK_REALTIME on Linux; where a guest's first stamps lie
  // hours away from now (a user-set or other clock), the pair it took at start is applied instead.
  std::int64_t time(std::uint64_t cuptiNs);
  std::int64_t cuptiTime(std::int64_t realtimeNs) const { return realtimeNs - clockOffsetNs_; }
  std::int64_t ownTime(std::int64_t realtimeNs) const { return realtimeNs - session_.startRealtimeNs; }
  std::int64_t correlation(std::uint32_t id) { return correlations_.fileId(id); }
  std::uint32_t index() const { return correlations_.index(); }

  // Also notes the thread, see takeNewThreads(). 0 -> NULL.
  std::int64_t thread(std::uint32_t tid);
  std::unordered_set<std::int64_t> takeNewThreads() { return std::exchange(newThreads_, {}); }

  // A kernel's name from the field of its record. A raw pointer (a record that the completion walk never saw) is
  // looked up among the announced ones; else "(name lost)", counted.
  const KernelNames& kernelNames(std::uint64_t field);
  std::int64_t textId(std::uint64_t reference);            // interned text; kNull for kNoString
  std::string text(std::uint64_t reference);
  std::int64_t apiName(bool driver, std::uint32_t cbid);   // "cbid N" until announced

  void setContextDevice(std::uint32_t context, std::uint32_t device) { contextDevice_[context] = device; }
  std::int64_t deviceOf(std::uint32_t context) const;

  void release() { memory_.reset(); }                       // no record may come afterwards
  void setDead() { dead_ = true; }                          // its tables will not grow any more
  void countLoss(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t atNs = kNull);

 private:
  void readAnnounced();
  const KernelNames& intern(std::uint64_t reference);

  Session& session_;
  std::shared_ptr<const GuestMemory> memory_;
  std::int64_t pid_;
  GlobalPid globalPid_;
  CorrelationIds correlations_;
  bool dead_ = false;

  bool clockChecked_ = false;
  std::int64_t clockOffsetNs_ = 0;

  std::unordered_map<std::uint64_t, KernelNames> kernels_;   // by reference
  std::unordered_map<std::uint64_t, std::int64_t> texts_;
  std::uint64_t lastKernelReference_ = 0;
  const KernelNames* lastKernel_ = nullptr;
  std::uint64_t announcedCursor_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> nameOfPointer_;   // guest's pointer -> newest reference
  std::unordered_map<std::uint64_t, std::uint64_t> apiReference_;    // driver << 32 | cbid -> reference
  std::unordered_map<std::uint64_t, std::int64_t> apiId_;
  KernelNames lost_;

  std::unordered_map<std::uint32_t, std::uint32_t> contextDevice_;
  std::unordered_set<std::uint32_t> threads_;
  std::uint32_t lastTid_ = 0;
  std::unordered_set<std::int64_t> newThreads_;
};

}  // namespace warpmeter::recorder
