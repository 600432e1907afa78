// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/profile/sample_pack.h"

#include <limits>

namespace warpmeter {

namespace {

constexpr unsigned kMore = 0x80, kBitsPerByte = 7;

void put(std::vector<std::byte>& out, std::uint64_t number) {
  while (number >= kMore) {
    out.push_back(static_cast<std::byte>(number | kMore));
    number >>= kBitsPerByte;
  }
  out.push_back(static_cast<std::byte>(number));
}

// Differences are taken modulo 2^64, so that every series of int64 can be packed.
std::uint64_t zigzag(std::uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
std::uint64_t unzigzag(std::uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> data) : at_(data.data()), end_(at_ + data.size()) {}

  // False at the end of the data, and for a number of more than 64 bits.
  bool next(std::uint64_t& number) {
    if (at_ == end_) return false;
    std::uint64_t byte = std::to_integer<std::uint64_t>(*at_++);
    number = byte;
    if (byte < kMore) return true;  // nearly all: columns hold differences
    number &= kMore - 1;
    for (unsigned shift = kBitsPerByte; at_ != end_; shift += kBitsPerByte) {
      byte = std::to_integer<std::uint64_t>(*at_++);
      if (shift == 63 && byte > 1) return false;
      number |= (byte & (kMore - 1)) << shift;
      if (byte < kMore) return true;
    }
    return false;
  }
  bool atEnd() const { return at_ == end_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

}  // namespace

std::vector<std::byte> packSamples(std::int64_t start, std::span<const std::int64_t> ends,
                                   std::span<const std::vector<std::int64_t>> values) {
  std::vector<std::byte> data;
  data.reserve(ends.size() * (1 + values.size()) * 2);
  auto before = static_cast<std::uint64_t>(start);
  for (const std::int64_t end : ends) {
    put(data, static_cast<std::uint64_t>(end) - before);
    before = static_cast<std::uint64_t>(end);
  }
  for (const std::vector<std::int64_t>& column : values) {
    before = 0;
    for (const std::int64_t value : column) {
      put(data, zigzag(static_cast<std::uint64_t>(value) - before));
      before = static_cast<std::uint64_t>(value);
    }
  }
  return data;
}

bool unpackSamples(std::span<const std::byte> data, std::int64_t start, std::size_t samples, std::size_t metrics,
                   std::vector<std::int64_t>& ends, std::vector<std::vector<std::int64_t>>& values) {
  // Every number takes at least a byte: more than that is never allocated, whatever the counts say.
  if (samples == 0 || metrics >= data.size() || samples > data.size() / (1 + metrics)) return false;
  Numbers numbers(data);
  ends.resize(samples);
  values.resize(metrics);
  std::uint64_t number = 0;
  std::int64_t at = start;
  for (std::int64_t& end : ends) {
    if (!numbers.next(number)) return false;
    // In unsigned arithmetic the room above any `at` is exact.
    const std::uint64_t room =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - static_cast<std::uint64_t>(at);
    if (number > room) return false;
    at = static_cast<std::int64_t>(static_cast<std::uint64_t>(at) + number);
    end = at;
  }
  for (std::vector<std::int64_t>& column : values) {
    column.resize(samples);
    std::uint64_t sum = 0;
    for (std::int64_t& value : column) {
      if (!numbers.next(number)) return false;
      sum += unzigzag(number);
      value = static_cast<std::int64_t>(sum);
    }
  }
  return numbers.atEnd();
}

std::optional<UnpackedSamples> unpackSamples(std::span<const std::byte> data, std::int64_t start,
                                             std::size_t samples, std::size_t metrics) {
  UnpackedSamples result;
  if (!unpackSamples(data, start, samples, metrics, result.ends, result.values)) return std::nullopt;
  return result;
}

}  // namespace warpmeter
