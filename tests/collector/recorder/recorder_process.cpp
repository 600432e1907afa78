// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recorder_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace warpmeter::test {

RecorderProcess::RecorderProcess(const RecorderCommand& command) {
  char folder[] = "/tmp/warpmeter-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = folder;
  socketPath_ = folder_ + "/socket";
  output_ = command.output.empty() ? folder_ + "/out.wm.sqlite" : command.output;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
  std::vector<std::string> arguments = {WARPMETER_RECORDER, "--run", kRun, "--socket", socketPath_, "--output", output_,
                                        "--control-fd", "9"};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + fakeFolder() + "/lib"};
  environment.insert(environment.end(), command.environment.begin(), command.environment.end());
  std::vector<char*> argv, envp;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  for (std::string& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], 9);
    if (command.fileSizeLimit != 0) {
      const rlimit limit{command.fileSizeLimit, command.fileSizeLimit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(ends[1]);
  control_ = ends[0];
  if (recv(control_, &first_, sizeof first_, 0) != static_cast<ssize_t>(sizeof first_)) first_ = {};
}

RecorderProcess::~RecorderProcess() {
  closeControl();
  if (waitStatus_ == -1) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &waitStatus_, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RecorderProcess::closeControl() {
  if (control_ >= 0) close(control_);
  control_ = -1;
}

void RecorderProcess::send(wire::ControlKind kind, pid_t pid, int waitStatus) {
  wire::ControlMessage message{};
  message.kind = kind;
  message.pid = pid;
  message.waitStatus = waitStatus;
  (void)::send(control_, &message, sizeof message, MSG_NOSIGNAL);
}
void RecorderProcess::appStarted(pid_t pid) { send(wire::ControlKind::appStarted, pid, 0); }
void RecorderProcess::appEnded(pid_t pid, int waitStatus) { send(wire::ControlKind::appEnded, pid, waitStatus); }

GuestCommand RecorderProcess::guest(std::vector<std::string> arguments, std::vector<std::string> environment) const {
  GuestCommand command;
  command.arguments = std::move(arguments);
  command.environment = std::move(environment);
  command.environment.push_back(std::string("WARPMETER_RUN=") + kRun);
  command.socketPath = socketPath_;
  return command;
}

GuestResult RecorderProcess::record(std::vector<std::string> arguments, std::vector<std::string> environment) {
  GuestProcess process(guest(std::move(arguments), std::move(environment)));
  appStarted(process.pid());
  GuestResult result = process.wait();
  appEnded(process.pid(), result.waitStatus);
  return result;
}

std::optional<wire::Summary> RecorderProcess::finish() {
  wire::Summary summary{};
  const ssize_t n = control_ >= 0 ? recv(control_, &summary, sizeof summary, 0) : -1;
  waitpid(pid_, &waitStatus_, 0);
  if (n != static_cast<ssize_t>(sizeof summary) || summary.kind != wire::ControlKind::summary) return std::nullopt;
  return summary;
}

namespace {

template <class Row>
void readAll(const ProfileReader& reader, std::vector<Row>& rows) {
  (void)reader.read(RowRange{}, ProfileReader::Visit<Row>([&rows](std::span<const Row> some, std::span<const std::int64_t>) {
                      rows.insert(rows.end(), some.begin(), some.end());
                    }));
}

template <class Value>
void take(Result<Value> result, Value& value) {
  if (result) value = std::move(*result);
}

}  // namespace

Recorded::Recorded(const std::string& path) {
  auto opened = ProfileReader::open(path);
  if (!opened) {
    error = opened.error().message;
    return;
  }
  const ProfileReader& reader = *opened;
  readAll(reader, kernels);
  (void)reader.readUntimed(RowRange{}, [this](std::span<const KernelRow> some, std::span<const std::int64_t>) {
    untimed.insert(untimed.end(), some.begin(), some.end());
  });
  readAll(reader, apis);
  readAll(reader, copies);
  readAll(reader, syncs);
  readAll(reader, nvtx);
  readAll(reader, marks);
  take(reader.threads(), threads);
  take(reader.losses(), losses);
  take(reader.processes(), processes);
  take(reader.gpus(), gpus);
  take(reader.cudaDevices(), devices);
  take(reader.contexts(), contexts);
  take(reader.streams(), streams);
  take(reader.clocks(), clocks);
  take(reader.selfCosts(), costs);
  take(reader.session(), session);
  unfinished = reader.unfinished();
  if (const auto strings = reader.strings()) {
    for (const auto& entry : *strings) strings_[entry.id] = entry.text;
  }
}

std::string Recorded::text(std::int64_t id) const {
  const auto at = strings_.find(id);
  return at == strings_.end() ? std::string() : at->second;
}

std::set<std::int64_t> Recorded::gridX() const {
  std::set<std::int64_t> result;
  for (const KernelRow& row : kernels) result.insert(row.gridX);
  for (const KernelRow& row : untimed) result.insert(row.gridX);
  return result;
}

std::string Recorded::lossText() const {
  std::string result;
  for (const LossInfo& loss : losses) {
    result += loss.kind + ": " + loss.why + " (" + (isNull(loss.count) ? "unknown" : std::to_string(loss.count)) + ")\n";
  }
  return result;
}

}  // namespace warpmeter::test
