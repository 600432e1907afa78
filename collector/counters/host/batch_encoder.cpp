// SPDX-License-Identifier: Apache-2.0
#include "batch_encoder.h"

#include <algorithm>
#include <cmath>

#include "warpmeter/profile/sample_pack.h"

namespace warpmeter::sampler {
namespace {

constexpr double kMaxValue = 9007199254740992.0;  // 2^53: a double counts up to here

}  // namespace

void BatchEncoder::Loss::add(std::int64_t from, std::int64_t to, std::uint64_t count) {
  fromNs = samples == 0 ? from : std::min(fromNs, from);
  toNs = samples == 0 ? to : std::max(toNs, to);
  samples += count;
}

void BatchEncoder::beginBurst(std::uint32_t set, std::size_t columns, std::int64_t intervalNs) {
  set_ = set;
  intervalNs_ = intervalNs;
  lastEndNs_ = 0;
  first_ = true;
  row_.assign(columns, 0);
  values_.assign(columns, {});
}

void BatchEncoder::add(const SampleBlock& block) {
  // Two stamps of one moment may differ by rounding.
  const std::int64_t tolerance = std::max<std::int64_t>(1, intervalNs_ / 16);
  for (std::size_t i = 0; i < block.samples(); ++i) {
    const std::int64_t start = block.startNs[i], end = block.endNs[i];
    if (std::abs(start - lastEndNs_) > tolerance || end <= lastEndNs_) flush();
    if (first_) {
      first_ = false;  // may hold what was counted before sampling began: CUPTI's documentation, "outlier"
      lastEndNs_ = end;
      continue;
    }
    if (end <= start || end <= lastEndNs_ || !roundRow(block.values.data() + i * block.columns)) {
      invalidHere_.add(start, std::max(start, end), 1);
      ++invalid_;
      flush();
      lastEndNs_ = std::max(lastEndNs_, end);
      continue;
    }
    if (ends_.empty()) startNs_ = start;
    ends_.push_back(end);
    for (std::size_t c = 0; c < row_.size(); ++c) values_[c].push_back(row_[c]);
    lastEndNs_ = end;
    if (ends_.size() == kMaxBatchSamples) flush();
  }
}

bool BatchEncoder::roundRow(const double* row) {
  for (std::size_t c = 0; c < row_.size(); ++c) {
    if (!(row[c] >= 0 && row[c] < kMaxValue)) return false;  // NaN too
    row_[c] = std::llround(row[c]);
  }
  return true;
}

void BatchEncoder::flush() {
  if (ends_.empty()) return;
  wire::SamplerMessage m = newMessage(wire::SamplerKind::batch, gpu_);
  m.set = set_;
  m.fromNs = startNs_;
  m.toNs = ends_.back();
  m.samples = static_cast<std::uint32_t>(ends_.size());
  m.metrics = static_cast<std::uint32_t>(values_.size());
  m.intervalNs = static_cast<std::uint32_t>(intervalNs_);
  const std::vector<std::byte> payload = packSamples(startNs_, ends_, values_);
  m.bytes = payload.size();
  if (sink_.put(m, payload, true)) {
    sent_ += ends_.size();
    tell(refused_, "samples that the recorder did not take in time");
  } else {
    dropped_ += ends_.size();
    refused_.add(startNs_, ends_.back(), ends_.size());
  }
  ends_.clear();
  for (auto& column : values_) column.clear();
}

void BatchEncoder::endBurst() {
  flush();
  tell(invalidHere_, "samples without a value");
}

void BatchEncoder::tellLosses() {
  endBurst();
  tell(refused_, "samples that the recorder did not take in time");
}

void BatchEncoder::tell(Loss& loss, const char* why) {
  if (loss.samples == 0) return;
  sendHole(sink_, gpu_, loss.fromNs, loss.toNs, std::to_string(loss.samples) + " " + why);
  loss = {};
}

}  // namespace warpmeter::sampler
