// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <QApplication>
#include <QImage>
#include <QPixmap>
#include <QStyleFactory>
#include <cstdio>
#include <cstdlib>

#include "models/theme.h"
#include "options.h"
#include "widgets/main_window.h"

namespace warpmeter::gui {
namespace {

constexpr int kBadInput = 2;
constexpr int kIncomplete = 3;

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// Qt aborts without a display; a picture needs none, and a window deserves a better message.
bool choosePlatform(const Options& options) {
  if (isSet("QT_QPA_PLATFORM")) return true;
  const bool display = isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
  if (!options.screenshot.empty()) {
    if (!display) ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    return true;
  }
  if (!display)
    std::fputs("warpmeter-gui: no display (DISPLAY is not set); --screenshot OUT.png works without one\n",
               stderr);
  return display;
}

// Qt reports on stderr what no user can act on (a missing XDG_RUNTIME_DIR, window hints of a platform
// plugin).
void onlyRealTrouble(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtDebugMsg || type == QtInfoMsg || (type == QtWarningMsg && !isSet("QT_LOGGING_RULES"))) return;
  std::fprintf(stderr, "warpmeter-gui: %s\n", message.toLocal8Bit().constData());
}

void chooseLook(const Options& options) {
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));  // the same on every desktop
  if (options.theme == "dark") QApplication::setPalette(darkPalette());
  if (options.theme == "light") QApplication::setPalette(lightPalette());
}

int saveScreenshot(MainWindow& window, const Options& options) {
  const QString path = QString::fromLocal8Bit(options.screenshot.c_str());
  if (!window.grab().save(path, "PNG")) {
    std::fprintf(stderr, "warpmeter-gui: cannot write %s: is its folder there and writable?\n",
                 options.screenshot.c_str());
    return kBadInput;
  }
  return options.strict && !window.profile()->run->quality.complete ? kIncomplete : 0;
}

}  // namespace

int runApp(int argc, char** argv) {
  const auto parsed = parseOptions(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const Options& options = std::get<Options>(parsed);
  if (!choosePlatform(options)) return kBadInput;

  qInstallMessageHandler(onlyRealTrouble);
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("warpmeter-gui"));
  chooseLook(options);
  MainWindow window;
  window.resize(options.size);
  QObject::connect(&window, &MainWindow::openFailed, &app, [](const QString& message) {
    std::fprintf(stderr, "warpmeter-gui: %s\n", message.toLocal8Bit().constData());
    QApplication::exit(kBadInput);
  });
  if (!options.screenshot.empty()) {
    QObject::connect(&window, &MainWindow::opened, &app,
                     [&] { QApplication::exit(saveScreenshot(window, options)); });
  }
  window.show();
  window.open(QString::fromLocal8Bit(options.file.c_str()));
  return QApplication::exec();
}

}  // namespace warpmeter::gui
