// SPDX-License-Identifier: Apache-2.0
// How the recorder starts children: the built environment of gpu_query.h, no signal blocked or ignored, nothing open
// but standard input, output and error.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace warpmeter::recorder {

// words[0] is what the child is called; -1 as in, out or err is /dev/null. 0, or the error of posix_spawn; child is
// then -1. Any thread.
int spawnChild(const std::string& program, std::vector<std::string> words, int in, int out, int err, pid_t& child);

}  // namespace warpmeter::recorder
