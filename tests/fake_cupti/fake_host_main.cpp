// SPDX-License-Identifier: Apache-2.0
#include "fake_host.h"

int main(int argc, char** argv) { return warpmeter::fake::runHost(argc, argv); }
