// SPDX-License-Identifier: Apache-2.0
#include "models/profile_loader.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <filesystem>

namespace warpmeter::gui {
namespace {

using analyzer::ProfileView;
using analyzer::Tables;
using analyzer::Timeline;

// The part of the progress bar that the first picture takes.
constexpr double kFirstPart = 0.4;

std::optional<TimeSpan> workOf(const ProfileView& view) {
  std::optional<TimeSpan> work;
  const auto add = [&work](const analyzer::Spans& spans) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!work) work = TimeSpan{spans.startNs(i), spans.endNs(i)};
      work->startNs = std::min(work->startNs, spans.startNs(i));
      work->endNs = std::max(work->endNs, spans.endNs(i));
    }
  };
  for (const analyzer::StreamLane& lane : view.streams()) {
    add(lane.kernels);
    add(lane.copies);
  }
  return work;
}

Result<std::shared_ptr<LoadedProfile>> pictureOf(ProfileView view, const QString& path,
                                                 std::stop_token stop) {
  auto out = std::make_shared<LoadedProfile>();
  out->fileName = QFileInfo(path).fileName();
  out->view = std::make_shared<const ProfileView>(std::move(view));
  Result<Timeline> timeline = Timeline::build(out->view, stop);
  if (!timeline) return std::move(timeline).error();
  out->timeline = std::make_shared<const Timeline>(std::move(*timeline));
  out->colors = SpanColors(*out->timeline);
  out->all = {out->view->range().beginNs, out->view->range().endNs};
  out->work = workOf(*out->view).value_or(out->all);
  return out;
}

Result<ProfileView> firstPart(const QString& path, const analyzer::LoadOptions& options) {
  Result<ProfileReader> reader = ProfileReader::open(QFile::encodeName(path).toStdString());
  if (!reader) return std::move(reader).error();
  return ProfileView::load({std::make_shared<const ProfileReader>(std::move(*reader))}, options);
}

Result<std::shared_ptr<LoadedProfile>> summarized(std::shared_ptr<LoadedProfile> profile,
                                                  std::stop_token stop) {
  auto kernels = analyzer::summarizeKernels(*profile->view, stop);
  if (!kernels) return std::move(kernels).error();
  auto run = analyzer::summarizeRun(*profile->view, {}, stop);
  if (!run) return std::move(run).error();
  auto counters = analyzer::summarizeCounters(*profile->view, stop);
  if (!counters) return std::move(counters).error();
  auto stalls = analyzer::summarizeStalls(*profile->view, stop);
  if (!stalls) return std::move(stalls).error();
  profile->stalls = std::move(*stalls);
  profile->counterLanes =
      std::make_shared<const std::vector<analyzer::CounterLane>>(analyzer::counterLanes(profile->view));
  profile->bounds = analyzer::boundsOf(*profile->view, *kernels, *counters);
  profile->counters = std::move(*counters);
  // The first look-up of a call builds its index: here, not under the first hover.
  if (!profile->view->processes().empty()) (void)profile->view->apiCall(0, 0);
  profile->kernels = std::move(*kernels);
  profile->run = std::move(*run);
  return profile;
}

}  // namespace

ProfileLoader::ProfileLoader(QObject* parent) : QObject(parent) {}

ProfileLoader::~ProfileLoader() {
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
}

void ProfileLoader::load(const QString& path) {
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
  loading_ = true;
  worker_ = std::jthread([this, path, generation = ++generation_](std::stop_token stop) {
    run(path, generation, std::move(stop));
  });
}

template <class Apply>
void ProfileLoader::deliver(std::uint64_t generation, Apply apply) {
  QMetaObject::invokeMethod(
      this,
      [this, generation, apply = std::move(apply)] {
        if (generation == generation_) apply();
      },
      Qt::QueuedConnection);
}

void ProfileLoader::run(const QString& path, std::uint64_t generation, std::stop_token stop) {
  const auto fail = [&](const Error& error) {
    if (error.kind == ErrorKind::cancelled) return;
    deliver(generation, [this, message = QString::fromStdString(error.message)] {
      loading_ = false;
      emit failed(message);
    });
  };
  const auto progress = [&](double from, double to) {
    return [this, generation, from, to](double fraction) {
      deliver(generation, [this, at = from + fraction * (to - from)] { emit progressed(at); });
    };
  };

  analyzer::LoadOptions options{Tables::kernels | Tables::copies, stop, progress(0, kFirstPart)};
  Result<ProfileView> view = firstPart(path, options);
  if (!view) return fail(view.error());
  auto first = pictureOf(*view, path, stop);
  if (!first) return fail(first.error());
  deliver(generation, [this, profile = Profile(*first)] { emit loaded(profile); });

  options.tables = Tables::all;
  options.progress = progress(kFirstPart, 1);
  view = view->withTables(options);
  if (!view) return fail(view.error());
  auto second = pictureOf(*view, path, stop);
  if (second) second = summarized(*second, stop);
  if (!second) return fail(second.error());
  deliver(generation, [this, profile = Profile(*second)] {
    loading_ = false;
    emit loaded(profile);
  });
}

}  // namespace warpmeter::gui
