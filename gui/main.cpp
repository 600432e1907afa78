// SPDX-License-Identifier: Apache-2.0
#include "app.h"

int main(int argc, char** argv) { return warpmeter::gui::runApp(argc, argv); }
