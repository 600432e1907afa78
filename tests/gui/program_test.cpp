// SPDX-License-Identifier: Apache-2.0
// warpmeter-gui as a program: pictures without a display, exit codes, one line for bad input.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QSet>

#include "gui/small_profile.h"

namespace warpmeter::gui {
namespace {

struct Outcome {
  int code = -1;
  QString out, err;
};

Outcome runGui(const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
  process.setProcessEnvironment(environment);
  process.start(QStringLiteral(WARPMETER_BINARY_DIR "/bin/warpmeter-gui"), arguments);
  if (!process.waitForFinished(60'000)) process.kill();
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          QString::fromUtf8(process.readAllStandardOutput()),
          QString::fromUtf8(process.readAllStandardError())};
}

bool isOneLine(const QString& text) { return text.endsWith(u'\n') && text.count(u'\n') == 1; }

TEST(Program, RendersAPictureWithoutADisplay) {
  const auto small = test::writeSmallProfile();
  const QString picture = small->dir.filePath("out.png");
  const Outcome outcome = runGui({small->path, "--screenshot", picture, "--size", "1000x600"});
  EXPECT_EQ(outcome.code, 0) << outcome.err.toStdString();
  EXPECT_TRUE(outcome.err.isEmpty()) << outcome.err.toStdString();
  const QImage image(picture);
  ASSERT_EQ(image.size(), QSize(1000, 600));
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) colors.insert(image.pixel(x, y));
  }
  EXPECT_GT(colors.size(), 20);
}

TEST(Program, StrictTellsALossyRecording) {
  const auto small = test::writeSmallProfile();
  const QString picture = small->dir.filePath("out.png");
  EXPECT_EQ(runGui({small->path, "--screenshot", picture, "--strict"}).code, 0);
  const auto lossy = test::writeLossyProfile();
  EXPECT_EQ(runGui({lossy->path, "--screenshot", picture}).code, 0);
  EXPECT_EQ(runGui({lossy->path, "--screenshot", picture, "--strict"}).code, 3);
}

TEST(Program, BadInputIsOneLineAndTwo) {
  const auto small = test::writeSmallProfile();
  const QString picture = small->dir.filePath("out.png");
  const QString empty = small->dir.filePath("empty.sqlite");
  ASSERT_TRUE(QFile(empty).open(QIODevice::WriteOnly));
  for (const QString& path : {small->dir.filePath("absent.sqlite"), small->dir.path(), empty}) {
    const Outcome outcome = runGui({path, "--screenshot", picture});
    EXPECT_EQ(outcome.code, 2) << path.toStdString();
    EXPECT_TRUE(isOneLine(outcome.err) && outcome.err.contains(path)) << outcome.err.toStdString();
    EXPECT_FALSE(QFile::exists(picture));
  }
}

TEST(Program, BadUsageIsOneLineAndTwo) {
  const auto small = test::writeSmallProfile();
  for (const QStringList& arguments :
       {QStringList{}, QStringList{small->path, "--size", "wide"},
        QStringList{small->path, "--size", "10x10"}, QStringList{small->path, "--no-such-option"},
        QStringList{small->path},  // no display for a window
        QStringList{small->path, "--screenshot", small->dir.filePath("no/such/folder.png")}}) {
    const Outcome outcome = runGui(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments.join(' ').toStdString();
    EXPECT_TRUE(isOneLine(outcome.err)) << outcome.err.toStdString();
  }
}

TEST(Program, HelpNeedsNoDisplay) {
  const Outcome outcome = runGui({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.contains("--screenshot") && outcome.err.isEmpty());
}

TEST(Program, OpensRealNsysFiles) {
  const QString folder = QStringLiteral(WARPMETER_DATA_DIR "/nsys/");
  const auto small = test::writeSmallProfile();
  int opened = 0;
  for (const char* name : {"a100_cloverleaf", "h100_2gpu_1s", "rtx4060ti_streams", "unversioned_2021"}) {
    const QString path = folder + name + ".sqlite";
    if (!QFile::exists(path)) continue;
    ++opened;
    const QString picture = small->dir.filePath(QString(name) + ".png");
    const Outcome outcome = runGui({path, "--screenshot", picture, "--size", "1600x900"});
    EXPECT_EQ(outcome.code, 0) << outcome.err.toStdString();
    EXPECT_EQ(QImage(picture).size(), QSize(1600, 900));
  }
  if (opened == 0) GTEST_SKIP() << "the public nsys files are not at " << folder.toStdString();
}

}  // namespace
}  // namespace warpmeter::gui
