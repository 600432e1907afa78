// SPDX-License-Identifier: Apache-2.0
// What a GPU could do at most, from its clocks and widths: the programs say how close they come.
#pragma once

namespace warpmeter::kernels {

struct Chip {
  int major;
  int minor;
  int processors;
  double clockHz;        // highest clock of the multiprocessors
  double memoryClockHz;  // highest memory clock; data moves on both edges
  int memoryBits;        // width of the memory bus
};

// 0 = not known. FLOP/s; a multiply-add is two. Tensor rates: dense, sums in FP32, by the fastest
// instructions of the chip.
struct Ceilings {
  double dramBytesPerSec = 0;
  double fp32PerSec = 0;
  double fp64PerSec = 0;
  double bf16PerSec = 0;
  double tf32PerSec = 0;
  double int8PerSec = 0;
  // Of the ordinary units.
  double fp16VectorPerSec = 0;
  double bf16VectorPerSec = 0;
  double int32PerSec = 0;
};

// FP32 and FP64: table "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide 13.0.
// INT32: units in the same guide's notes on architectures. Tensor, and FP16 and BF16 of the ordinary units:
// NVIDIA's papers on the A100 and H100 architectures; other chips have none here.
Ceilings ceilingsOf(const Chip& chip);

}  // namespace warpmeter::kernels
