// SPDX-License-Identifier: Apache-2.0
// Stands in for warpmeter-recorder: speaks the control protocol and does what the output's name asks for
// (its environment is built, so the name is the only way to tell it):
//   refuse*  answers `failed`;  die*  ends after `ready`;  mute*  ends before it;  incomplete*  reports
//   losses;  left*  tells of a process that runs on.
// Writes its environment to OUTPUT.env and what it was told to OUTPUT.log.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/profile_builder.h"
#include "warpmeter/wire/handshake.h"

using namespace warpmeter;

namespace {

constexpr char kProfile[] =
    "session started=0 ended=2s how=exited(0)\n"
    "process 100 name=app start=0 exit=2s how=exited(0)\n"
    "gpu 0 name=\"NVIDIA H200\" cc=9.0 sms=132\n"
    "kernel 100 saxpy 1s..1500ms grid=1024 block=256 regs=16\n";

void answer(int fd, wire::ControlKind kind, const char* text) {
  wire::ControlMessage m{};
  m.kind = kind;
  m.exitCode = 125;
  std::snprintf(m.text, sizeof m.text, "%s", text);
  (void)send(fd, &m, sizeof m, MSG_NOSIGNAL);
}

int listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return listen(fd, 8) == 0 ? fd : -1;
}

wire::Summary summaryFor(const std::string& output, bool complete) {
  wire::Summary s{};
  s.kind = wire::ControlKind::summary;
  s.complete = complete;
  s.processes = s.processesRecorded = 1;
  s.kernels = 1;
  s.selfCostNs = -1;
  s.firstKernelNs = 1'000'000'000;
  s.journalDeleted = 1;
  s.recordsLost = complete ? 0 : 7;
  s.fileBytes = static_cast<std::int64_t>(std::filesystem::file_size(output));
  if (!complete) std::snprintf(s.firstLoss, sizeof s.firstLoss, "--max-size reached");
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  int control = -1;
  std::string output, words, socketPath;
  for (int i = 1; i < argc; ++i) {
    words += std::string(argv[i]) + "\n";
    if (i + 1 < argc && !std::strcmp(argv[i], "--control-fd")) control = std::atoi(argv[i + 1]);
    if (i + 1 < argc && !std::strcmp(argv[i], "--output")) output = argv[i + 1];
    if (i + 1 < argc && !std::strcmp(argv[i], "--socket")) socketPath = argv[i + 1];
  }
  const std::string name = std::filesystem::path(output).filename();
  if (name.starts_with("refuse")) {
    answer(control, wire::ControlKind::failed, "the disk is full");
    return 0;
  }
  if (name.starts_with("mute")) return 7;
  if (!support::writeProfile(output, kProfile)) return 8;
  const int listening = listenAt(socketPath);
  std::ofstream environment(output + ".env"), log(output + ".log");
  for (char** e = environ; *e; ++e) environment << *e << "\n";
  environment.close();
  log << words << "session leader " << (getsid(0) == getpid()) << "\n" << std::flush;
  answer(control, wire::ControlKind::ready, "");
  if (name.starts_with("die")) return 9;

  wire::ControlMessage m{};
  while (recv(control, &m, sizeof m, 0) == static_cast<ssize_t>(sizeof m)) {
    log << static_cast<int>(m.kind) << " " << m.waitStatus << "\n" << std::flush;
    if (m.kind != wire::ControlKind::appEnded) continue;
    if (accept(listening, nullptr, nullptr) >= 0) log << "a guest connected\n" << std::flush;
    auto s = summaryFor(output, !name.starts_with("incomplete"));
    if (name.starts_with("left")) std::snprintf(s.leftRunning, sizeof s.leftRunning, "1 process still ran (7 x\x1b[31m)");
    (void)send(control, &s, sizeof s, MSG_NOSIGNAL);
    return 0;
  }
  return 0;
}
