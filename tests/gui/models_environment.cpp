// SPDX-License-Identifier: Apache-2.0
#include <QGuiApplication>

#include "gui/qt_environment.h"

// No Widgets here: the link would fail if a model used one.
[[maybe_unused]] static const auto* const kEnvironment =
    testing::AddGlobalTestEnvironment(new warpmeter::gui::test::QtEnvironment<QGuiApplication>);
