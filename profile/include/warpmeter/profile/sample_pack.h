// SPDX-License-Identifier: Apache-2.0
// The packing of samples, the same on the way to the recorder and in WM_SAMPLE.data: column after column, first the
// ends of the samples, then each metric. The first column holds end[i] - end[i - 1] (end[-1] = start of the batch) as
// an unsigned LEB128 varint; a metric's column holds value[i] - value[i - 1] (value[-1] = 0), zigzag, LEB128;
// differences are taken modulo 2^64, so every int64 can be packed.
// No allocation beyond the result, no exceptions on any input; used by the sampler, the recorder and the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace warpmeter {

// ends and every column of values have the same length; ends rise and are not before start.
std::vector<std::byte> packSamples(std::int64_t start, std::span<const std::int64_t> ends,
                                   std::span<const std::vector<std::int64_t>> values);

struct UnpackedSamples {
  std::vector<std::int64_t> ends;
  std::vector<std::vector<std::int64_t>> values;
};
// nullopt when data is not exactly samples x (1 + metrics) numbers, a number does not fit, or there is no sample.
std::optional<UnpackedSamples> unpackSamples(std::span<const std::byte> data, std::int64_t start, std::size_t samples,
                                             std::size_t metrics);
// The same into vectors whose memory is used again; after false they hold anything.
bool unpackSamples(std::span<const std::byte> data, std::int64_t start, std::size_t samples, std::size_t metrics,
                   std::vector<std::int64_t>& ends, std::vector<std::vector<std::int64_t>>& values);

}  // namespace warpmeter
