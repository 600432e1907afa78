// SPDX-License-Identifier: Apache-2.0
#include <QApplication>

#include "gui/qt_environment.h"

[[maybe_unused]] static const auto* const kEnvironment =
    testing::AddGlobalTestEnvironment(new warpmeter::gui::test::QtEnvironment<QApplication>);
