// SPDX-License-Identifier: Apache-2.0
// ProfileLoader: opens a profile beside the GUI thread. Every member is called, and every signal arrives, on
// the thread that owns the object; a result that a newer load() has made stale is dropped before anybody sees
// it.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "models/span_colors.h"
#include "models/time_axis.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/counter_lanes.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/run_summary.h"
#include "warpmeter/analyzer/stalls.h"
#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::gui {

// Everything that the window shows of a file. Immutable.
struct LoadedProfile {
  QString fileName;
  std::shared_ptr<const analyzer::ProfileView> view;
  std::shared_ptr<const analyzer::Timeline> timeline;
  SpanColors colors;
  TimeSpan all;   // everything in the file
  TimeSpan work;  // first start to last end on any GPU; `all` without GPU work
  // In the second part only:
  std::optional<analyzer::KernelSummary> kernels;
  std::optional<analyzer::RunSummary> run;
  std::shared_ptr<const std::vector<analyzer::CounterLane>> counterLanes;
  std::optional<analyzer::CounterSummary> counters;
  std::optional<analyzer::BoundSummary> bounds;  // one for each of counters->kernels
  std::optional<analyzer::StallSummary> stalls;
  bool complete() const { return run.has_value(); }
};

class ProfileLoader : public QObject {
  Q_OBJECT
 public:
  explicit ProfileLoader(QObject* parent = nullptr);
  ~ProfileLoader() override;  // asks the running load to stop and waits for it

  // Starts loading; a load that still runs is stopped first and delivers nothing any more.
  void load(const QString& path);
  bool isLoading() const { return loading_; }

 signals:
  void progressed(double fraction);
  // Comes twice: with what runs on the GPU as early as possible, then with host calls, NVTX and summaries.
  void loaded(std::shared_ptr<const warpmeter::gui::LoadedProfile> profile);
  void failed(QString message);  // one complete line

 private:
  using Profile = std::shared_ptr<const LoadedProfile>;
  void run(const QString& path, std::uint64_t generation, std::stop_token stop);
  // Calls `apply` on the owner's thread unless a newer load has begun by then.
  template <class Apply>
  void deliver(std::uint64_t generation, Apply apply);

  std::uint64_t generation_ = 0;  // owner's thread only
  bool loading_ = false;
  std::jthread worker_;
};

}  // namespace warpmeter::gui
