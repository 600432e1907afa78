// SPDX-License-Identifier: Apache-2.0
// A small profile on disk whose every number is known to the GUI tests.
#pragma once

#include <QString>
#include <QTemporaryDir>
#include <functional>
#include <memory>

#include "models/profile_loader.h"

namespace warpmeter::gui::test {

// One process "train" (pid 100) on one H200. Times in us:
//   stream 7:  alpha 100-200, beta 200-250, alpha 300-320 (one launch each; alpha 256 threads, beta 1024)
//   stream 13: alpha 150-400, copy host to device 450-500
//   thread 100: cudaLaunchKernel 90-95, nested driver call 91-93; NVTX "step" 80-600 with "inner" 90-300 in
//   it
struct SmallProfile {
  QTemporaryDir dir;
  QString path;
};
std::unique_ptr<SmallProfile> writeSmallProfile(const QString& name = QStringLiteral("small.wm.sqlite"));
// The same, but 12 records were lost.
std::unique_ptr<SmallProfile> writeLossyProfile();
// The small profile with sampled counters: busy from 100 to 400 us, with a hole from 250 to 300 us.
std::unique_ptr<SmallProfile> writeCountersProfile();

// The small profile with 1000 PC samples of alpha, 600 of them at alpha.cu:17, and 30 of beta.
std::unique_ptr<SmallProfile> writePcProfile();

// `kernels` launches of "many", 1 us each, on stream 7, with 500 ns between them.
std::unique_ptr<SmallProfile> writeManyKernels(int kernels);

// Runs the event loop until `done`; false after 20 s.
bool waitUntil(const std::function<bool()>& done);

// Everything of the file, or a failure of the test and null.
std::shared_ptr<const LoadedProfile> loadAll(const QString& path);

}  // namespace warpmeter::gui::test
