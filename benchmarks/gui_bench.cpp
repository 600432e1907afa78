// SPDX-License-Identifier: Apache-2.0
// The window on one million kernels: from the file to the first picture, and the time of a frame.
// Offscreen platform: the pixels are really painted, only not shown. The file is made once, in $TMPDIR.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "warpmeter/profile/writer.h"
#include "widgets/main_window.h"

namespace {

using namespace warpmeter;

constexpr std::int64_t kKernels = 1'000'000;
constexpr std::int64_t kStreams = 8;
constexpr std::int64_t kFunctions = 40;
constexpr std::int64_t kPid = 4711;
constexpr std::int64_t kStepNs = 3'000;  // from launch to launch; the run takes 3 s

void orDie(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "gui_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}

KernelRow kernelRow(std::int64_t i, const std::vector<StringId>& names) {
  // Linear congruential numbers: the same file everywhere.
  const std::uint64_t random = static_cast<std::uint64_t>(i) * 6364136223846793005u + 1442695040888963407u;
  KernelRow row;
  row.start = i * kStepNs;
  row.end = row.start + 1'000 + static_cast<std::int64_t>(random >> 50);  // up to 17 us
  row.deviceId = 0;
  row.contextId = 1;
  row.streamId = 7 + i % kStreams;
  row.correlationId = i + 1;
  row.globalPid = makeGlobalPid(kPid).value;
  const StringId name = names[static_cast<std::size_t>(random >> 33) % names.size()];
  row.demangledName = row.shortName = row.mangledName = name.value;
  row.registersPerThread = 40;
  row.gridX = 1024;
  row.blockX = 256;
  row.gridY = row.gridZ = row.blockY = row.blockZ = 1;
  row.staticSharedMemory = row.dynamicSharedMemory = row.localMemoryPerThread = row.localMemoryTotal = 0;
  row.gridId = i + 1;
  return row;
}

void writeProfile(const std::string& path) {
  Result<ProfileWriter> created = ProfileWriter::create(path, SessionInfo{}, {.overwrite = true});
  if (!created) orDie(created.error());
  ProfileWriter& writer = *created;
  ProcessInfo process;
  process.globalPid = makeGlobalPid(kPid);
  process.pid = kPid;
  process.name = "million";
  orDie(writer.put(process));
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.computeMajor = 9;
  gpu.computeMinor = 0;
  gpu.smCount = 132;
  orDie(writer.put(gpu));

  std::vector<StringId> names;
  for (std::int64_t i = 0; i < kFunctions; ++i) names.push_back(writer.intern("kernel_" + std::to_string(i)));
  const StringId launch = writer.intern("cudaLaunchKernel_v7000");
  std::vector<KernelRow> kernels;
  std::vector<ApiRow> calls;
  for (std::int64_t i = 0; i < kKernels; ++i) {
    kernels.push_back(kernelRow(i, names));
    calls.push_back({i * kStepNs - 2'500, i * kStepNs - 500, 0, makeGlobalTid(kPid, kPid).value, i + 1,
                     launch.value, 0, kNull});
    if (kernels.size() < 50'000 && i + 1 < kKernels) continue;
    orDie(writer.append(std::span<const KernelRow>(kernels)));
    orDie(writer.append(std::span<const ApiRow>(calls)));
    orDie(writer.commit());
    kernels.clear();
    calls.clear();
  }
  SessionInfo session;
  session.endedNs = kKernels * kStepNs;
  session.endedHow = "exited(0)";
  const Result<bool> finished = writer.finish(session);
  if (!finished) orDie(finished.error());
}

const QString& profilePath() {
  static const auto dir = std::make_unique<QTemporaryDir>();
  static const QString path = [] {
    const QString file = dir->filePath(QStringLiteral("million.wm.sqlite"));
    writeProfile(file.toStdString());
    return file;
  }();
  return path;
}

std::unique_ptr<gui::MainWindow> newWindow() {
  auto window = std::make_unique<gui::MainWindow>();
  window->resize(1600, 900);
  window->show();
  QApplication::processEvents();
  QObject::connect(window.get(), &gui::MainWindow::openFailed, [](const QString& message) {
    std::fprintf(stderr, "gui_bench: %s\n", qPrintable(message));
    std::exit(1);
  });
  return window;
}

// File on disk (page cache warm) to painted kernels.
void firstPicture(benchmark::State& state) {
  profilePath();
  double cpuSeconds = 0;  // of all threads, so that a busy machine can be told from a slow program
  for (auto _ : state) {
    const auto window = newWindow();
    bool painted = false, opened = false;
    QObject::connect(window->timeline(), &gui::TimelineView::firstFramePainted,
                     [&painted] { painted = true; });
    QObject::connect(window.get(), &gui::MainWindow::opened, [&opened] { opened = true; });
    QElapsedTimer timer;
    timer.start();
    const std::clock_t cpu = std::clock();
    window->open(profilePath());
    while (state.range(0) == 0 ? !painted : !opened)
      QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    state.SetIterationTime(static_cast<double>(timer.nsecsElapsed()) * 1e-9);
    cpuSeconds += static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  }
  state.counters["cpu_ms"] = benchmark::Counter(cpuSeconds * 1e3, benchmark::Counter::kAvgIterations);
}

// One frame while the view moves: the draw list is made anew each time. Visible part of the run = 1 / range.
void frame(benchmark::State& state) {
  // Never destroyed: a static window would go after the application object, which it needs.
  static gui::MainWindow* const window = [] {
    auto made = newWindow();
    bool opened = false;
    QObject::connect(made.get(), &gui::MainWindow::opened, [&opened] { opened = true; });
    made->open(profilePath());
    while (!opened) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    return made.release();
  }();
  gui::ViewState& view = *window->state();
  view.selectFunction(state.range(1) != 0 ? std::optional<std::uint32_t>(0) : std::nullopt);
  const gui::TimeSpan all = view.limits();
  const std::int64_t length = all.lengthNs() / state.range(0);
  std::int64_t at = all.startNs + (all.lengthNs() - length) / 2;
  std::int64_t step = length / 200;
  double slowest = 0;
  for (auto _ : state) {
    at += step;
    step = -step;
    view.setVisible({at, at + length});
    if (state.range(0) == 1) view.setVisible({at + 1000 * (step > 0), at + length});
    QElapsedTimer timer;
    timer.start();
    window->timeline()->viewport()->repaint();
    slowest = std::max(slowest, static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  }
  state.counters["slowest_ms"] = slowest;
  state.counters["rects"] = static_cast<double>(window->timeline()->drawList().rectCount());
}

}  // namespace

BENCHMARK(firstPicture)
    ->ArgName("everything")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK(frame)
    ->ArgNames({"zoom", "selected"})
    ->ArgsProduct({{1, 10, 100, 1'000, 10'000, 100'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(
      [](QtMsgType, const QMessageLogContext&, const QString&) {});  // platform plugin chatter
  QApplication app(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
