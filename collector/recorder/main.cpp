// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/recorder/recorder.h"

int main(int argc, char** argv) { return warpmeter::recorder::recorderMain(argc, argv); }
