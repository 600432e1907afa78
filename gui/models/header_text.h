// SPDX-License-Identifier: Apache-2.0
// The two lines at the top of the window: can the recording be trusted, and what was recorded.
#pragma once

#include <QString>

#include "models/profile_loader.h"

namespace warpmeter::gui {

struct HeaderText {
  bool complete = true;  // false: something is missing, shown as a warning
  QString quality;       // first line
  QString run;           // second line
  QString details;       // every loss with its reason, one a line; empty when nothing was lost
};

HeaderText headerText(const LoadedProfile& profile);

}  // namespace warpmeter::gui
