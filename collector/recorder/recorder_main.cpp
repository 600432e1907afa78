// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <cstdio>

#include "gpu_query.h"
#include "proc_info.h"
#include "recorder.h"
#include "warpmeter/recorder/recorder.h"

namespace warpmeter::recorder {
namespace {

constexpr int kExitUsage = 2, kExitOurs = 125;

// The terminal's Ctrl-C and hangup are for the application; a file size limit must come back as an error, not kill.
// SIGTERM (from outside) ends the recording in order.
int prepareSignals() {
  for (const int signal : {SIGXFSZ, SIGPIPE, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Each guest takes two descriptors; a shell's soft limit is no decision about us.
void allowOpenFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

SessionInfo newSession(const Options& options) {
  const ClockRow now = readClocks();
  SessionInfo session;
  session.utcEpochNs = now.realtimeNs;
  session.monotonicNs = now.monotonicNs;
  session.boottimeNs = now.boottimeNs;
  session.hostname = hostName();
  session.warpmeterVersion = options.version;
  session.driverVersion = driverVersion();
  session.counters = options.sampleCounters || options.exactCounters || options.pcCounters ? "not_recorded" : "not_requested";
  session.nvtxRequested = options.nvtxRequested;
  session.apiMode = nameOf(options.api);
  return session;
}

int fail(Control& control, const Error& error) {
  if (!control.existed()) fmt::print(stderr, "warpmeter-recorder: {}\n", error.message);
  control.failed(error.message, kExitOurs);
  return kExitOurs;
}

}  // namespace

int recorderMain(int argc, char** argv) {
  const auto options = parseOptions(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}\n", options.error().message);
    return kExitUsage;
  }
  if (options->queryGpus) return queryGpusMain();
  allowOpenFiles();
  const int signalFd = prepareSignals();
  Control control(options->controlFd);
  auto listener = Listener::open(options->socketPath, options->run);
  if (!listener) return fail(control, listener.error());
  SessionInfo session = newSession(*options);
  WriterOptions writerOptions;
  writerOptions.overwrite = options->force;
  auto writer = ProfileWriter::create(options->output, session, writerOptions);
  if (!writer) return fail(control, writer.error());
  return Recorder(*options, control, std::move(*listener), std::move(*writer), session).run(signalFd);
}

}  // namespace warpmeter::recorder
