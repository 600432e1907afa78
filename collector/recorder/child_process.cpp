// SPDX-License-Identifier: Apache-2.0
#include "child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "gpu_query.h"

namespace warpmeter::recorder {

int spawnChild(const std::string& program, std::vector<std::string> words, int in, int out, int err, pid_t& child) {
  std::vector<std::string> environment = childEnvironment();
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto give = [&actions](int fd, int as) {
    if (fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions, fd, as);
    } else {
      posix_spawn_file_actions_addopen(&actions, as, "/dev/null", O_RDWR, 0);
    }
  };
  give(in, STDIN_FILENO);
  give(out, STDOUT_FILENO);
  give(err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) child = -1;
  return error;
}

}  // namespace warpmeter::recorder
