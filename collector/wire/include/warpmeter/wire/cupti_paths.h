// SPDX-License-Identifier: Apache-2.0
// Where a CUPTI is looked for when nobody names one: the same list for the injected library and the counter sampler,
// so that both end up with the same copy. A list instead of a look into /usr/local: the guest opens no directory.
#pragma once

namespace warpmeter::wire {

inline constexpr const char* kCuptiSonames[] = {"libcupti.so.13", "libcupti.so.12"};

// Toolkits, newest layout first, and the folders below them that may hold libcupti.
inline constexpr const char* kCudaToolkits[] = {
    "/usr/local/cuda",      "/usr/local/cuda-13.4", "/usr/local/cuda-13.3", "/usr/local/cuda-13.2",
    "/usr/local/cuda-13.1", "/usr/local/cuda-13.0", "/usr/local/cuda-12.9", "/usr/local/cuda-12.8",
    "/usr/local/cuda-12.6", "/usr/local/cuda-12.5", "/usr/local/cuda-12.4", "/opt/cuda"};
inline constexpr const char* kCuptiFolders[] = {"lib64", "extras/CUPTI/lib64", "lib", "targets/x86_64-linux/lib"};

}  // namespace warpmeter::wire
