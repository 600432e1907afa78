// SPDX-License-Identifier: Apache-2.0
// Getting CUPTI to deliver to us: a list of steps, each with its undo. The first failing step that nothing works
// without takes all earlier ones back and leaves the application as if we had never been there.
#pragma once

#include <cstdint>

#include "nvtx.h"
#include "session.h"

namespace warpmeter::inject {

// Once per process, inside cuInit().
void attachCuda() noexcept;

// Loads CUPTI and writes its version, path and record sizes into the header. Called before the handshake when CUDA
// comes first, else at attachCuda().
void identifyCupti() noexcept;

struct AttachStep {
  const char* name;
  bool required;
  CUptiResult (*run)(Session& session);
  void (*undo)(Session& session);  // may be nullptr
};
struct AttachSteps {
  const AttachStep* first;
  int count;
};
AttachSteps attachSteps() noexcept;

// Runs the steps on session.cupti.functions; true = recording. Sets the status either way. Exposed for tests.
bool runAttachSteps(Session& session) noexcept;

}  // namespace warpmeter::inject
