// SPDX-License-Identifier: Apache-2.0
#include "range_main.h"
#include "sampler_process.h"
#include "source_lines.h"

int main(int argc, char** argv) {
  using namespace warpmeter::sampler;
  if (isRangeCommand(argc, argv)) return rangeMain(argc, argv);
  return isLineCommand(argc, argv) ? lineMain(argc, argv) : samplerMain(argc, argv);
}
