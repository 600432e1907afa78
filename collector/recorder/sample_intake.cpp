// SPDX-License-Identifier: Apache-2.0
#include "sample_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace warpmeter::recorder {
namespace {

constexpr std::uint32_t kGpusMax = 64, kMetricsMax = 256;
constexpr std::int64_t kSetsMax = 1024;
constexpr std::size_t kNameMax = 200, kTextMax = 400;
constexpr std::int64_t kTimeMax = std::int64_t{1} << 62;
// Reasons of analyzer/names.h that a sampler can have.
constexpr std::string_view kReasons[] = {"no_permission", "counters_busy", "unsupported_chip", "gpu_shared", "not_recorded"};
constexpr char kNotRecorded[] = "not_recorded", kTooFewSamples[] = "too_few_samples", kSampled[] = "sampled";

// Texts that are each ended by a zero; nullopt: they are not.
std::optional<std::vector<std::string>> texts(std::span<const std::byte> payload) {
  std::vector<std::string> result;
  std::string_view left(reinterpret_cast<const char*>(payload.data()), payload.size());
  while (!left.empty()) {
    const auto end = left.find('\0');
    if (end == left.npos) return std::nullopt;
    result.emplace_back(left.substr(0, end));
    left.remove_prefix(end + 1);
  }
  return result;
}

bool isName(const std::string& text) {
  return !text.empty() && text.size() <= kNameMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// One line for people, whatever was sent.
std::string line(std::string text) {
  if (text.size() > kTextMax) text.resize(kTextMax);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

void SampleIntake::take(std::span<const std::byte> whole, SampleRows& rows) {
  wire::SamplerMessage message;
  if (whole.size() < sizeof message) return;
  std::memcpy(&message, whole.data(), sizeof message);
  const auto payload = whole.subspan(sizeof message);
  bool good = true;
  switch (message.kind) {
    case wire::SamplerKind::gpu: good = takeGpu(message, payload); break;
    case wire::SamplerKind::set: good = takeSet(message, payload); break;
    case wire::SamplerKind::batch: good = takeBatch(message, payload, rows); break;
    case wire::SamplerKind::hole: good = takeHole(message, payload); break;
    case wire::SamplerKind::unavailable: good = takeUnavailable(message, payload); break;
    case wire::SamplerKind::cost: cpuNs_ = std::max(cpuNs_, message.fromNs); break;
    case wire::SamplerKind::paused: break;
  }
  if (!good) {
    session_.losses.add(loss::kSamples, "messages of the sampler that cannot be right were left out", 1, kNull, kNull, {});
  }
}

bool SampleIntake::takeGpu(const wire::SamplerMessage& message, std::span<const std::byte> payload) {
  auto words = texts(payload);
  if (!words || words->size() != 2 || message.gpu >= kGpusMax || !isName((*words)[0]) || !isName((*words)[1])) return false;
  gpus_[message.gpu] = {(*words)[0], (*words)[1]};
  return true;
}

bool SampleIntake::takeSet(const wire::SamplerMessage& message, std::span<const std::byte> payload) {
  auto words = texts(payload);
  const auto gpu = gpus_.find(message.gpu);
  if (!words || gpu == gpus_.end() || words->empty() || words->size() > kMetricsMax || words->size() != message.metrics ||
      !std::all_of(words->begin(), words->end(), isName)) {
    return false;
  }
  const SetKey key{message.gpu, message.set};
  if (const auto known = sets_.find(key); known != sets_.end() && known->second.info.metrics == *words) return true;
  if (setIds_ >= kSetsMax) return false;
  std::erase_if(waiting_, [&](const Waiting& w) { return w.key == key; });  // of the number's earlier meaning
  Set set;
  set.info.setId = ++setIds_;
  set.info.chip = gpu->second.chip;
  set.info.metrics = std::move(*words);
  sets_[key] = std::move(set);
  return true;
}

bool SampleIntake::takeBatch(const wire::SamplerMessage& message, std::span<const std::byte> payload, SampleRows& rows) {
  const SetKey key{message.gpu, message.set};
  const auto set = sets_.find(key);
  if (set == sets_.end() || message.metrics != set->second.info.metrics.size()) return false;
  if (message.fromNs < 0 || message.toNs <= message.fromNs || message.toNs > kTimeMax) return false;
  auto unpacked = unpackSamples(payload, message.fromNs, message.samples, message.metrics);
  if (!unpacked || unpacked->ends.back() != message.toNs) return false;
  for (const auto& column : unpacked->values) {
    if (std::any_of(column.begin(), column.end(), [](std::int64_t value) { return value < 0; })) return false;
  }
  // Ends are packed as differences: in the file's time they are the same bytes.
  for (std::int64_t& end : unpacked->ends) end -= session_.startRealtimeNs;
  PackedSamples batch;
  batch.setId = set->second.info.setId;
  batch.startNs = message.fromNs - session_.startRealtimeNs;
  batch.endNs = unpacked->ends.back();
  batch.intervalNs = message.intervalNs == 0 ? kNull : static_cast<std::int64_t>(message.intervalNs);
  batch.samples = message.samples;
  batch.metrics = message.metrics;
  lastEndNs_ = std::max(lastEndNs_, batch.endNs);
  if (!capture_.active()) {
    batch.data.assign(payload.begin(), payload.end());
    keep(key, std::move(batch), std::move(*unpacked), rows);
    return true;
  }
  // Samples that lie wholly inside the windows: the kernels of others are not in the file.
  const auto inside = [this](std::int64_t t) { return capture_.overlaps(t, t); };
  std::int64_t before = batch.startNs;
  for (std::size_t i = 0; i < unpacked->ends.size();) {
    const std::size_t first = i;
    const std::int64_t start = before;
    while (i < unpacked->ends.size() && inside(before) && inside(unpacked->ends[i])) before = unpacked->ends[i++];
    if (i > first) {
      PackedSamples part = batch;
      UnpackedSamples some;
      const auto cut = [&](const std::vector<std::int64_t>& all) {
        return std::vector<std::int64_t>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                         all.begin() + static_cast<std::ptrdiff_t>(i));
      };
      some.ends = cut(unpacked->ends);
      for (const auto& column : unpacked->values) some.values.push_back(cut(column));
      part.startNs = start;
      part.endNs = some.ends.back();
      part.samples = static_cast<std::int64_t>(some.ends.size());
      part.data = packSamples(start, some.ends, some.values);
      keep(key, std::move(part), std::move(some), rows);
    } else {
      before = unpacked->ends[i++];
    }
  }
  return true;
}

void SampleIntake::keep(const SetKey& key, PackedSamples batch, UnpackedSamples&& unpacked, SampleRows& rows) {
  if (const GpuInfo* gpu = findGpu_(gpus_[key.first].uuid)) {
    handOut(*gpu, sets_[key], std::move(batch), std::move(unpacked), rows);
    return;
  }
  if (waitingBytes_ + batch.data.size() > kWaitingBytes) {
    session_.losses.add(loss::kSamples, "samples of a GPU that no recorded process had used yet", 1, batch.startNs,
                        batch.endNs, {});
    return;
  }
  waitingBytes_ += batch.data.size();
  waiting_.push_back({key, std::move(batch)});
}

void SampleIntake::gpuKnown(SampleRows& rows) {
  std::vector<Waiting> left;
  for (Waiting& w : waiting_) {
    const GpuInfo* gpu = findGpu_(gpus_[w.key.first].uuid);
    if (gpu == nullptr) {
      left.push_back(std::move(w));
      continue;
    }
    waitingBytes_ -= w.batch.data.size();
    auto unpacked = unpackSamples(w.batch.data, w.batch.startNs, static_cast<std::size_t>(w.batch.samples),
                                  static_cast<std::size_t>(w.batch.metrics));
    if (unpacked) handOut(*gpu, sets_[w.key], std::move(w.batch), std::move(*unpacked), rows);
  }
  waiting_ = std::move(left);
}

void SampleIntake::handOut(const GpuInfo& gpu, Set& set, PackedSamples batch, UnpackedSamples&& unpacked, SampleRows& rows) {
  if (!set.handedOut) {
    set.handedOut = true;
    set.info.gpuId = gpu.id;
    rows.sets.push_back(set.info);
  }
  SampleBatch samples;
  samples.setId = batch.setId;
  samples.startNs = batch.startNs;
  samples.endNs = std::move(unpacked.ends);
  samples.values = std::move(unpacked.values);
  metricRows_.add(gpu, set.info, samples, rows.metrics, rows.metricRows);
  samples_ += batch.samples;
  rows.batches.push_back(std::move(batch));
}

bool SampleIntake::takeHole(const wire::SamplerMessage& message, std::span<const std::byte> payload) {
  if (message.fromNs < 0 || message.toNs < message.fromNs || message.toNs > kTimeMax) return false;
  std::string why(reinterpret_cast<const char*>(payload.data()), payload.size());
  why = line(why.substr(0, why.find('\0')));
  lost(why.empty() ? "no samples" : why.c_str(), 1, message.fromNs, message.toNs);
  return true;
}

void SampleIntake::lost(const char* why, std::int64_t count, std::int64_t fromRealtimeNs, std::int64_t toRealtimeNs) {
  const auto time = [this](std::int64_t t) { return std::clamp<std::int64_t>(t, 0, kTimeMax) - session_.startRealtimeNs; };
  const std::int64_t from = time(fromRealtimeNs), to = time(toRealtimeNs);
  if (capture_.active() && !capture_.overlaps(from, to)) return;
  session_.losses.add(loss::kSamples, why, count, from, to, {});
}

bool SampleIntake::takeUnavailable(const wire::SamplerMessage&, std::span<const std::byte> payload) {
  auto words = texts(payload);
  if (!words || words->size() != 2) return false;
  if (!reason_.empty()) return true;  // the first is as good as any other
  const bool known = std::find(std::begin(kReasons), std::end(kReasons), (*words)[0]) != std::end(kReasons);
  reason_ = known ? (*words)[0] : kNotRecorded;
  reasonText_ = line(known || !(*words)[1].empty() ? (*words)[1] : (*words)[0]);
  return true;
}

void SampleIntake::ended(const std::string& failure, std::int64_t cpuNs, std::int64_t atNs) {
  if (cpuNs >= 0) cpuNs_ = cpuNs;  // the system's count, of the whole process
  failure_ = failure;
  if (failure.empty() || samples_ == 0) return;
  session_.losses.add(loss::kSamples, failure, 1, lastEndNs_, std::max(atNs, lastEndNs_), {});
}

SampleIntake::Verdict SampleIntake::verdict() const {
  if (samples_ > 0) return {kSampled, !reason_.empty() ? reasonText_ : failure_};
  if (!reason_.empty()) return {reason_, reasonText_};
  if (!failure_.empty()) return {kNotRecorded, failure_};
  return {kTooFewSamples, "the run ended before the first sample"};
}

}  // namespace warpmeter::recorder
