// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/span_lod.h"

#include <algorithm>
#include <array>
#include <bit>

namespace warpmeter::analyzer {
namespace {

constexpr std::size_t kGroup = 64;  // spans (or groups) under one entry of longest_
constexpr std::size_t kSamples =
    16;  // spans looked at for the dominant one of a column: each is a cache miss

}  // namespace

SpanIndex::SpanIndex(const Spans& spans, std::vector<std::uint32_t> items, Column<std::uint32_t> key)
    : spans_(spans),
      items_(std::move(items)),
      key_(std::move(key)),
      count_(items_.empty() ? spans.size() : items_.size()) {
  busy_.reserve(count_);
  lastEnd_.reserve(count_);
  std::vector<std::int64_t> level;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::int64_t start = startOf(i), end = endOf(i);
    const std::int64_t covered = i == 0 ? start : std::max(lastEnd_.back(), start);
    busy_.push_back((i == 0 ? 0 : busy_.back()) + std::max<std::int64_t>(end - covered, 0));
    lastEnd_.push_back(i == 0 ? end : std::max(lastEnd_.back(), end));
    if (i % kGroup == 0) level.push_back(0);
    level.back() = std::max(level.back(), end - start);
  }
  while (!level.empty()) {
    longest_.push_back(level);
    if (level.size() == 1) break;
    std::vector<std::int64_t> above((level.size() + kGroup - 1) / kGroup, 0);
    for (std::size_t i = 0; i < level.size(); ++i) above[i / kGroup] = std::max(above[i / kGroup], level[i]);
    level = std::move(above);
  }
}

std::uint32_t SpanIndex::itemOf(std::size_t position) const {
  return items_.empty() ? static_cast<std::uint32_t>(position) : items_[position];
}
std::int64_t SpanIndex::startOf(std::size_t position) const { return spans_.startNs(itemOf(position)); }
std::int64_t SpanIndex::endOf(std::size_t position) const { return spans_.endNs(itemOf(position)); }

std::size_t SpanIndex::firstNotBefore(std::int64_t t) const {
  if (items_.empty()) {
    const auto starts = spans_.start.span();
    return static_cast<std::size_t>(std::ranges::lower_bound(starts, t) - starts.begin());
  }
  const auto start = [&](std::uint32_t item) { return spans_.startNs(item); };
  return static_cast<std::size_t>(std::ranges::lower_bound(items_, t, {}, start) - items_.begin());
}

// All spans that started before t, as one union, minus what of it lies behind t: every span of it began
// before t, so that part is one piece up to the largest end.
std::int64_t SpanIndex::busyUntil(std::int64_t t) const {
  const std::size_t started = firstNotBefore(t);
  if (started == 0) return 0;
  return busy_[started - 1] - std::max<std::int64_t>(lastEnd_[started - 1] - t, 0);
}

std::int64_t SpanIndex::busyNs(std::int64_t t0, std::int64_t t1) const {
  return t0 < t1 ? busyUntil(t1) - busyUntil(t0) : 0;
}

std::uint32_t SpanIndex::itemAt(std::int64_t t, std::int64_t toleranceNs) const {
  if (count_ == 0) return kNone;
  const std::size_t after = firstNotBefore(t + 1);  // spans before it started at or before t
  std::uint32_t best = kNone;
  std::int64_t bestDistance = toleranceNs + 1;
  const auto consider = [&](std::size_t position) {
    const std::int64_t start = startOf(position), end = endOf(position);
    const std::int64_t distance = t < start ? start - t : t >= end && end > start ? t - end + 1 : t - start;
    const bool covers = start <= t && t < end;
    if (const std::int64_t d = covers ? 0 : distance; d < bestDistance) {
      best = itemOf(position);
      bestDistance = d;
    }
  };
  // Behind the running maximum of the ends nothing earlier can reach t.
  for (std::size_t i = after; i-- > 0 && bestDistance > 0;) {
    if (lastEnd_[i] < t - toleranceNs) break;
    consider(i);
    if (after - i > 4 * kGroup) break;  // a crowd within the tolerance: the nearest ones were seen
  }
  if (after < count_ && bestDistance > 0) consider(after);
  return best;
}

void SpanIndex::collectBars(std::size_t first, std::size_t last, std::int64_t minNs,
                            std::vector<Bar>& out) const {
  // Walks the tree of longest spans and enters only groups that hold a bar.
  std::size_t i = first;
  while (i < last) {
    std::size_t width = kGroup;
    std::size_t skipped = 0;
    for (const auto& level : longest_) {
      if (i % width != 0 || i + width > last || level[i / width] >= minNs) break;
      skipped = width;
      width *= kGroup;
    }
    if (skipped > 0) {
      i += skipped;
      continue;
    }
    const std::size_t groupEnd = std::min(last, (i / kGroup + 1) * kGroup);
    for (; i < groupEnd; ++i) {
      const std::int64_t start = startOf(i), end = endOf(i);
      if (end - start >= minNs) out.push_back({itemOf(i), start, end});
    }
  }
}

std::uint32_t SpanIndex::dominant(std::size_t first, std::size_t last, std::int64_t t0,
                                  std::int64_t t1) const {
  // Positions that are multiples of a power of two: the same ones while the picture is panned.
  const std::size_t stride =
      std::bit_ceil(std::max<std::size_t>(1, (last - first + kSamples - 1) / kSamples));
  struct Share {
    std::uint32_t key, item;
    std::int64_t ns;
  };
  std::array<Share, kSamples> shares;
  std::size_t used = 0;
  std::size_t i = (first + stride - 1) / stride * stride;
  if (i >= last) i = first;
  for (; i < last; i += stride) {
    const std::int64_t ns = std::min(endOf(i), t1) - std::max(startOf(i), t0);
    if (ns < 0) continue;
    const std::uint32_t item = itemOf(i);
    const std::uint32_t key = key_.empty() ? item : key_[item];
    auto* const end = shares.data() + used;
    auto* const it = std::find_if(shares.data(), end, [&](const Share& s) { return s.key == key; });
    if (it != end) {
      it->ns += ns;
    } else if (used < kSamples) {
      shares[used++] = {key, item, ns};
    }
  }
  if (used == 0) return itemOf(first);
  return std::max_element(shares.data(), shares.data() + used,
                          [](const Share& a, const Share& b) { return a.ns < b.ns; })
      ->item;
}

void SpanIndex::picture(std::int64_t t0, std::int64_t t1, int pixels, RowPicture& out) const {
  out.bars.clear();
  out.columns.clear();
  if (t0 >= t1 || pixels <= 0 || count_ == 0) return;
  const double nsPerPixel = static_cast<double>(t1 - t0) / pixels;
  const auto minNs = std::max<std::int64_t>(1, static_cast<std::int64_t>(nsPerPixel));
  const std::size_t last = firstNotBefore(t1);
  // From the first span that can still be running at t0: the running maximum of the ends never falls.
  const auto reaches =
      std::upper_bound(lastEnd_.begin(), lastEnd_.begin() + static_cast<std::ptrdiff_t>(last), t0);
  const auto first = static_cast<std::size_t>(reaches - lastEnd_.begin());
  collectBars(first, last, minNs, out.bars);
  std::erase_if(out.bars, [&](const Bar& b) { return b.endNs <= t0; });

  const auto edge = [&](int pixel) { return t0 + static_cast<std::int64_t>(nsPerPixel * pixel); };
  std::size_t bar = 0;
  std::int64_t coveredTo = t0;  // up to here a bar covers everything since its start
  for (int pixel = 0; pixel < pixels;) {
    const std::int64_t begin = edge(pixel), end = std::max(edge(pixel + 1), begin + 1);
    while (bar < out.bars.size() && out.bars[bar].startNs <= begin)
      coveredTo = std::max(coveredTo, out.bars[bar++].endNs);
    if (coveredTo >= end) {  // hidden behind a bar
      ++pixel;
      continue;
    }
    const std::size_t from = static_cast<std::size_t>(
        std::upper_bound(lastEnd_.begin(), lastEnd_.begin() + static_cast<std::ptrdiff_t>(last), begin) -
        lastEnd_.begin());
    const std::size_t to = firstNotBefore(end);
    if (from >= to) {
      // Nothing until the next span starts: go straight to its column.
      if (from >= last) break;
      const int next = static_cast<int>(static_cast<double>(startOf(from) - t0) / nsPerPixel);
      pixel = std::max(pixel + 1, next);
      continue;
    }
    const bool onlyBars = to - from == 1 && endOf(from) - startOf(from) >= minNs;
    if (!onlyBars) {
      const double busy = static_cast<double>(busyNs(begin, end)) / static_cast<double>(end - begin);
      out.columns.push_back({pixel, static_cast<float>(std::min(1.0, busy)), dominant(from, to, begin, end)});
    }
    ++pixel;
  }
}

}  // namespace warpmeter::analyzer
