// SPDX-License-Identifier: Apache-2.0
// Exact mode inside the recorded process: user ranges around the first launches of each distinct kernel after
// its first one, one configuration (a set of metrics that fits into one pass) per launch, the program
// otherwise untouched.
//
// Everything happens in callbacks of driver API launches, on the launching thread: there the context is
// current, and NVIDIA's own injection sample starts and ends its sessions there too. One thread at a time has
// the turn; the others launch without a range meanwhile. Nothing here holds a lock that a CUPTI callback
// could need. Never ranged: the first launch of a kernel (it may load code), NCCL, cooperative and graph
// launches, and anything while any stream of the process captures: a range would invalidate the capture.
// Captures are counted by the driver's begin and end calls from the process' start on (cuStreamIsCapturing is
// not among the calls that CUPTI allows inside a callback), and a capture that begins while a range is open
// waits until it is closed. Any error of CUPTI ends the mode for this process, with the reason in the shared
// memory; the program goes on.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "warpmeter/counters_guest/slots.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::counters {

// What the mode needs of the process it is in. Functions may be called on any thread.
struct ExactHost {
  wire::ExactArea* area = nullptr;  // nullptr: the mapping had no room
  CUpti_SubscriberHandle subscriber = nullptr;
  const char* libraryPath = "";                                   // of the libcupti in use
  std::uint32_t launchesPerKernel = 0;                            // 0 = off
  TakeSlot takeSlot = nullptr;
  GiveSlot giveSlot = nullptr;
  void (*runBeforeExit)() noexcept =
      nullptr;  // the driver has its exit handlers by now: put ours before them
};

// Switches the callbacks on. Called once, after the recording was attached; does nothing with
// launchesPerKernel 0.
void exactBegin(const ExactHost& host) noexcept;

// A driver API callback; false: it is none of exact mode's calls.
bool exactCallback(CUpti_CallbackId id, const CUpti_CallbackData& call) noexcept;

// A context is about to be destroyed or reset (API callback, enter): an open session is closed and sent.
void exactContextEnds() noexcept;
// A module was loaded: new kernels may follow.
void exactModuleLoaded() noexcept;

// Regularly, on our own thread: switches callbacks off when nothing is left to do, and on again for a look.
void exactTick() noexcept;

// The process is ending, its driver still there: an open session is closed and sent.
void exactAtExit() noexcept;
// In a forked child: nothing of it is true any more.
void exactForget() noexcept;

}  // namespace warpmeter::counters
