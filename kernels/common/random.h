// SPDX-License-Identifier: Apache-2.0
// The same random numbers on every machine for the same seed (std::uniform_real_distribution does not
// promise that).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace warpmeter::kernels {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::int64_t seed) : state_(static_cast<std::uint64_t>(seed)) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [-1, 1), 24 bits: exact in float.
  float symmetric() {
    return static_cast<float>(static_cast<std::int64_t>(next() >> 40) - (1 << 23)) * 0x1p-23f;
  }

  std::vector<float> vector(std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) {
      value = symmetric();
    }
    return values;
  }

  // Whole numbers from -limit to limit: sums of them are exact in float, in any order, while they stay below
  // 2^24.
  std::vector<float> wholeNumbers(std::int64_t size, int limit) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) {
      value = static_cast<float>(static_cast<int>((next() >> 32) * (2u * limit + 1) >> 32) - limit);
    }
    return values;
  }

  // Unsigned words in structures of whole words, such as uint4.
  template <class T>
  std::vector<T> bits(std::int64_t size) {
    std::vector<T> values(static_cast<std::size_t>(size));
    auto* const bytes = reinterpret_cast<unsigned char*>(values.data());
    const std::size_t count = values.size() * sizeof(T);
    for (std::size_t i = 0; i < count; i += 8) {
      const std::uint64_t word = next();
      std::memcpy(bytes + i, &word, std::min<std::size_t>(8, count - i));
    }
    return values;
  }

 private:
  std::uint64_t state_;
};

}  // namespace warpmeter::kernels
