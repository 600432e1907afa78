// SPDX-License-Identifier: Apache-2.0
#include "gui/small_profile.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <string>

#include "support/profile_builder.h"

namespace warpmeter::gui::test {
namespace {

constexpr const char* kHead = R"(
session how=exited(0) ended=600us nvtx=1 api=work
process 100 name=train how=exited(0) status=recorded
gpu 0 name="NVIDIA H200" cc=9.0 sms=132
)";

constexpr const char* kBody = R"(
kernel 100 alpha 100us..200us stream=7  corr=1 grid=528 block=256  regs=64
kernel 100 beta  200us..250us stream=7  corr=2 grid=528 block=1024 regs=64
kernel 100 alpha 300us..320us stream=7  corr=3 grid=528 block=256  regs=64
kernel 100 alpha 150us..400us stream=13 corr=4 grid=528 block=256  regs=64
memcpy 100 HtoD  450us..500us stream=13 corr=9 bytes=1MiB src=pageable dst=device
api 100/100 cudaLaunchKernel_v7000 90us..95us corr=1
api 100/100 cuLaunchKernel 91us..93us corr=1 driver
nvtx 100/100 step 80us..600us
nvtx 100/100 inner 90us..300us
)";

std::unique_ptr<SmallProfile> write(const QString& name, const std::string& text) {
  auto small = std::make_unique<SmallProfile>();
  EXPECT_TRUE(small->dir.isValid());
  small->path = small->dir.filePath(name);
  const Result<void> written = support::writeProfile(small->path.toStdString(), text);
  if (!written) ADD_FAILURE() << written.error().message;
  return small;
}

}  // namespace

std::unique_ptr<SmallProfile> writeSmallProfile(const QString& name) {
  return write(name, std::string(kHead) + kBody);
}

std::unique_ptr<SmallProfile> writeLossyProfile() {
  return write(QStringLiteral("lossy.wm.sqlite"),
               std::string(kHead) + kBody + "loss pool_empty count=12 pid=100 why=\"no buffer was free\"\n");
}

std::unique_ptr<SmallProfile> writeCountersProfile() {
  return write(QStringLiteral("counters.wm.sqlite"), std::string(kHead) + kBody + R"(
ceiling 0 dram 4.2e12
sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__cycles_elapsed.sum,sm__warps_active.sum,dram__bytes_read.sum,dram__bytes_write.sum
samples 1 0..100us      interval=2us values=0,500000,0,0,0
samples 1 100us..200us  interval=2us values=500000,500000,16000000,6000000,1000000
samples 1 200us..250us  interval=2us values=400000,500000,6400000,1000000,3000000
samples 1 300us..400us  interval=2us values=500000,500000,24000000,7000000,500000
)");
}

std::unique_ptr<SmallProfile> writePcProfile() {
  return write(QStringLiteral("pc.wm.sqlite"), std::string(kHead) + kBody + R"(
pc 100 alpha 16 long_scoreboard            600 file=/src/alpha.cu line=17
pc 100 alpha 16 long_scoreboard_not_issued 500 file=/src/alpha.cu line=17
pc 100 alpha 32 selected                   250 file=/src/alpha.cu line=18
pc 100 alpha 48 barrier                    150
pc 100 beta   0 wait                        30
)");
}

std::unique_ptr<SmallProfile> writeManyKernels(int kernels) {
  std::string text = kHead;
  for (int i = 0; i < kernels; ++i) {
    const std::int64_t start = std::int64_t{i} * 1500;
    text += "kernel 100 many " + std::to_string(start) + ".." + std::to_string(start + 1000) +
            " stream=7 corr=" + std::to_string(i + 1) + " grid=528 block=256 regs=64\n";
  }
  return write(QStringLiteral("many.wm.sqlite"), text);
}

bool waitUntil(const std::function<bool()>& done) {
  QElapsedTimer timer;
  timer.start();
  while (!done() && timer.elapsed() < 20'000) QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
  return done();
}

std::shared_ptr<const LoadedProfile> loadAll(const QString& path) {
  ProfileLoader loader;
  std::shared_ptr<const LoadedProfile> out;
  QString error;
  QObject::connect(&loader, &ProfileLoader::loaded, &loader, [&out](const auto& profile) {
    if (profile->complete()) out = profile;
  });
  QObject::connect(&loader, &ProfileLoader::failed, &loader,
                   [&error](const QString& message) { error = message; });
  loader.load(path);
  EXPECT_TRUE(waitUntil([&] { return out || !error.isEmpty(); })) << "timed out";
  EXPECT_TRUE(error.isEmpty()) << error.toStdString();
  return out;
}

}  // namespace warpmeter::gui::test
