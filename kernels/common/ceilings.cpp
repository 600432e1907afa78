// SPDX-License-Identifier: Apache-2.0
#include "common/ceilings.h"

namespace warpmeter::kernels {
namespace {

// Multiply-adds of one multiprocessor in one cycle.
struct Rates {
  int major;
  int minor;
  double fp32;
  double fp64;
  double bf16;  // tensor
  double fp16Vector;
  double bf16Vector;
  double int32;
};
constexpr Rates kRates[] = {
    {7, 5, 64, 2, 0, 0, 0, 64},   {8, 0, 64, 32, 1024, 256, 128, 64}, {8, 6, 128, 2, 0, 0, 0, 64},
    {8, 7, 128, 2, 0, 0, 0, 64},  {8, 9, 128, 2, 0, 0, 0, 64},        {9, 0, 128, 64, 2048, 256, 256, 64},
    {10, 0, 128, 64, 0, 0, 0, 0}, {12, 0, 128, 2, 0, 0, 0, 0},
};

}  // namespace

Ceilings ceilingsOf(const Chip& chip) {
  Ceilings ceilings;
  ceilings.dramBytesPerSec = 2 * chip.memoryClockHz * chip.memoryBits / 8;
  const double flopPerRate = 2 * chip.clockHz * chip.processors;
  for (const Rates& rates : kRates) {
    if (rates.major == chip.major && rates.minor == chip.minor) {
      ceilings.fp32PerSec = rates.fp32 * flopPerRate;
      ceilings.fp64PerSec = rates.fp64 * flopPerRate;
      ceilings.bf16PerSec = rates.bf16 * flopPerRate;
      ceilings.tf32PerSec = rates.bf16 / 2 * flopPerRate;
      ceilings.int8PerSec = rates.bf16 * 2 * flopPerRate;
      ceilings.fp16VectorPerSec = rates.fp16Vector * flopPerRate;
      ceilings.bf16VectorPerSec = rates.bf16Vector * flopPerRate;
      ceilings.int32PerSec = rates.int32 * flopPerRate;
    }
  }
  return ceilings;
}

}  // namespace warpmeter::kernels
