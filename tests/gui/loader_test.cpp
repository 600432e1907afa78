// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QFile>
#include <algorithm>
#include <chrono>
#include <thread>

#include "gui/small_profile.h"

namespace warpmeter::gui {
namespace {

using test::waitUntil;
using test::writeManyKernels;
using test::writeSmallProfile;

struct Recorder {
  explicit Recorder(ProfileLoader& loader) {
    QObject::connect(&loader, &ProfileLoader::loaded, &loader,
                     [this](const auto& p) { profiles.push_back(p); });
    QObject::connect(&loader, &ProfileLoader::failed, &loader, [this](const QString& m) { errors << m; });
    QObject::connect(&loader, &ProfileLoader::progressed, &loader,
                     [this](double f) { fractions.push_back(f); });
  }
  bool finished() const { return !errors.isEmpty() || (!profiles.empty() && profiles.back()->complete()); }
  std::vector<std::shared_ptr<const LoadedProfile>> profiles;
  QStringList errors;
  std::vector<double> fractions;
};

TEST(ProfileLoader, GivesGpuWorkFirstAndThenEverything) {
  const auto small = writeSmallProfile();
  ProfileLoader loader;
  Recorder seen(loader);
  loader.load(small->path);
  EXPECT_TRUE(loader.isLoading());
  ASSERT_TRUE(waitUntil([&] { return seen.finished(); }));
  ASSERT_TRUE(seen.errors.isEmpty()) << seen.errors.first().toStdString();
  ASSERT_EQ(seen.profiles.size(), 2u);
  EXPECT_FALSE(seen.profiles[0]->complete());
  EXPECT_EQ(seen.profiles[0]->view->kernelCount(), 4u);
  EXPECT_EQ(seen.profiles[1]->run->apiCalls, 2);
  EXPECT_EQ(seen.profiles[1]->run->nvtxRanges, 2);
  EXPECT_FALSE(loader.isLoading());
  ASSERT_FALSE(seen.fractions.empty());
  EXPECT_TRUE(std::is_sorted(seen.fractions.begin(), seen.fractions.end()));
}

TEST(ProfileLoader, SaysWhatIsWrongWithAFile) {
  const auto small = writeSmallProfile();
  const QString text = small->dir.filePath("notes.txt");
  QFile file(text);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("not a profile, but long enough to be read as one by mistake");
  file.close();
  for (const QString& path : {small->dir.filePath("absent.sqlite"), text, small->dir.path()}) {
    ProfileLoader loader;
    Recorder seen(loader);
    loader.load(path);
    ASSERT_TRUE(waitUntil([&] { return seen.finished(); }));
    ASSERT_EQ(seen.errors.size(), 1) << path.toStdString();
    EXPECT_TRUE(seen.errors[0].contains(path)) << seen.errors[0].toStdString();
    EXPECT_FALSE(seen.errors[0].contains(QChar(u'\n')));
    EXPECT_TRUE(seen.profiles.empty());
  }
}

TEST(ProfileLoader, AStaleLoadDeliversNothing) {
  const auto many = writeManyKernels(200'000);
  const auto small = writeSmallProfile();
  ProfileLoader loader;
  Recorder seen(loader);
  loader.load(many->path);
  loader.load(small->path);
  ASSERT_TRUE(waitUntil([&] { return seen.finished(); }));
  for (const auto& profile : seen.profiles) EXPECT_EQ(profile->fileName, "small.wm.sqlite");
  EXPECT_TRUE(seen.errors.isEmpty());
}

// The first file's results lie in the event queue already when the second is asked for.
TEST(ProfileLoader, AFinishedButUnseenLoadIsStaleToo) {
  const auto old = writeSmallProfile(QStringLiteral("old.wm.sqlite"));
  const auto small = writeSmallProfile();
  ProfileLoader loader;
  Recorder seen(loader);
  loader.load(old->path);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(500));  // on a slow machine it is merely the test above
  loader.load(small->path);
  ASSERT_TRUE(waitUntil([&] { return seen.finished() && seen.profiles.size() >= 2; }));
  for (const auto& profile : seen.profiles) EXPECT_EQ(profile->fileName, "small.wm.sqlite");
}

TEST(ProfileLoader, MayDieWhileLoading) {
  const auto many = writeManyKernels(200'000);
  int late = 0;
  {
    ProfileLoader loader;
    QObject::connect(&loader, &ProfileLoader::loaded, qApp, [&late] { ++late; });
    loader.load(many->path);
  }
  QCoreApplication::processEvents();
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace warpmeter::gui
