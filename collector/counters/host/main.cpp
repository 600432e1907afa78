// SPDX-License-Identifier: Apache-2.0
#include "range_main.h"
#include "sampler_process.h"

int main(int argc, char** argv) {
  using namespace warpmeter::sampler;
  return isRangeCommand(argc, argv) ? rangeMain(argc, argv) : samplerMain(argc, argv);
}
