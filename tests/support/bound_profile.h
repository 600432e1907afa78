// SPDX-License-Identifier: Apache-2.0
// A profile (support/profile_builder.h) of one kernel on an H200 that reads and writes 4.00 TB/s in equal
// parts while it runs: bound by DRAM, mixed access, occupancy held by its registers.
#pragma once

#include <string>

namespace warpmeter::support {

inline std::string dramBoundProfile(const std::string& kernel, const std::string& uuid = "aaaa") {
  std::string text =
      "session started=0 ended=20ms how=exited(0) counters=sampled\n"
      "process 1 name=app argv=app start=0 exit=20ms how=exited(0)\n"
      "gpu 0 name=\"NVIDIA H200\" cc=9.0 sms=132 uuid=" +
      uuid +
      "\n"
      "sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__cycles_elapsed.sum,sm__warps_active.sum,"
      "sm__inst_executed.sum,dram__bytes_read.sum,dram__bytes_write.sum\n";
  for (int i = 0; i < 100; ++i) {
    const auto at = [&](int us) { return std::to_string(100 * i + us) + "us"; };
    text += "kernel 1 " + kernel + " " + at(0) + ".." + at(40) + " corr=" + std::to_string(i + 1) +
            " grid=65536 block=256 regs=64\n"
            "samples 1 " +
            at(0) + ".." + at(40) +
            " interval=10us values=2000000,2000000,40000000,200000,20000000,20000000\n"
            "samples 1 " +
            at(40) + ".." + at(100) + " interval=10us values=0,2000000,0,0,0,0\n";
  }
  return text;
}

}  // namespace warpmeter::support
