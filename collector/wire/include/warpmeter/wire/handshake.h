// SPDX-License-Identifier: Apache-2.0
// How a guest finds the recorder, and what the CLI and the recorder say to each other.
//
// Guest -> recorder: one SOCK_SEQPACKET connection to the Unix socket named by WARPMETER_SOCKET, one Hello with the
// memfd attached (SCM_RIGHTS), close. No answer is waited for: connect() and send() to a listening socket do not block
// as long as its backlog (kBacklog) has room; a full backlog or a dead recorder means "not recorded".
// The recorder takes the pid from SO_PEERCRED and watches the guest with a pidfd.
#pragma once

#include <cstdint>

namespace warpmeter::wire {

inline constexpr std::uint64_t kHelloMagic = 0x6f6c6c6548706d57;  // "WmpHello"
inline constexpr int kBacklog = 512;

// Environment of guests. Set by `warpmeter record` for the application it starts; inherited by its children.
inline constexpr char kEnvSocket[] = "WARPMETER_SOCKET";        // path of the recorder's socket
inline constexpr char kEnvRun[] = "WARPMETER_RUN";              // run id, 32 hexadecimal digits
inline constexpr char kEnvApi[] = "WARPMETER_API";              // work, all, none
inline constexpr char kEnvFlushMs[] = "WARPMETER_FLUSH_MS";
inline constexpr char kEnvLaunchLatency[] = "WARPMETER_LAUNCH_LATENCY";  // "1", "force"
inline constexpr char kEnvExact[] = "WARPMETER_EXACT";          // launches to measure per kernel and configuration
inline constexpr char kEnvPc[] = "WARPMETER_PC";                // PC sampling: "auto", or n of a period of 2^n cycles
inline constexpr char kEnvPcBufferMiB[] = "WARPMETER_PC_BUFFER_MIB";  // size of its hardware buffer, for measurements
inline constexpr char kEnvCuptiPath[] = "WARPMETER_CUPTI";      // the libcupti to use; no other is tried then

struct Hello {
  std::uint64_t magic;
  std::uint32_t wireVersion;
  std::uint32_t reserved;
  unsigned char run[16];
  std::int64_t pid, startTicks;   // in the guest's own pid namespace; for the log only
  std::uint64_t totalBytes;       // of the memfd
};

// CLI <-> recorder: a SOCK_SEQPACKET pair that the recorder inherits as --control-fd N.
enum class ControlKind : std::uint32_t {
  ready = 1,        // recorder: socket is listening, file is created
  failed = 2,       // recorder: could not start; text says why; exitCode for the CLI
  appStarted = 3,   // CLI: pid; text = its arguments, each ended by a zero, as many as fit whole
  appEnded = 4,     // CLI: pid, waitStatus as from waitpid()
  summary = 5,      // recorder: the last message, see Summary
};

struct ControlMessage {
  ControlKind kind;
  std::int32_t exitCode;
  std::int64_t pid;
  std::int32_t waitStatus;
  std::uint32_t words;  // appStarted: arguments in text
  char text[1024];
};

// What was recorded, over all processes. Counts of rows in the file.
struct Summary {
  ControlKind kind;                // summary
  std::uint32_t complete;          // 1 = nothing lost, nothing unknown
  std::int64_t processes, processesRecorded;
  std::int64_t kernels, untimedKernels, copies, copyBytes, memsets, apiCalls, nvtxRanges, syncs;
  std::int64_t lossRows, recordsLost;  // recordsLost -1 = unknown
  std::int64_t selfCostNs;         // at least this much time on the application's threads; -1 = not measured
  std::int64_t firstKernelNs;      // from process start of the process with the first kernel; -1 = none
  std::int64_t fileBytes;
  std::uint32_t journalDeleted;    // 0: file stays WAL
  std::uint32_t gpuCount;
  std::int64_t samples;            // of counters
  char counters[32];               // as WM_SESSION.counters: "sampled", or why there are none
  char countersText[416];          // and what there is to say about it
  char firstLoss[256];             // a line for people about the most important loss, or empty
  char blocked[256];               // "nsys holds CUPTI in process 4711" or empty
  char leftRunning[256];           // "2 processes still ran ..." or empty
  char file[1024];
};

}  // namespace warpmeter::wire
