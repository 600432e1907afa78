// SPDX-License-Identifier: Apache-2.0
// A Qt application for the tests of one binary, without a display.
#pragma once

#include <gtest/gtest.h>

#include <QtGlobal>
#include <memory>

namespace warpmeter::gui::test {

template <class Application>
class QtEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    app_ = std::make_unique<Application>(argc_, argv_);
  }
  void TearDown() override { app_.reset(); }

 private:
  char name_[10] = "gui_tests";
  char* argv_[2] = {name_, nullptr};
  int argc_ = 1;
  std::unique_ptr<Application> app_;
};

}  // namespace warpmeter::gui::test
