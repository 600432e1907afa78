// SPDX-License-Identifier: Apache-2.0
// A library with CUPTI's name and none of its functions.
extern "C" __attribute__((visibility("default"))) int warpmeterBrokenCupti() { return 0; }
