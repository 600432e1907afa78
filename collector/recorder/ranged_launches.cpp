// SPDX-License-Identifier: Apache-2.0
#include "ranged_launches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "warpmeter/wire/exact.h"

namespace warpmeter::recorder {
namespace {

// Ranges are made one at a time and wait for an idle GPU, so only the last few before an interval can concern
// it.
constexpr int kWindowsBack = 32;

}  // namespace

RangedLaunches::~RangedLaunches() {
  if (spoolFd_ >= 0) close(spoolFd_);
}

bool RangedLaunches::openSpool() {
  if (spoolFd_ >= 0) return true;
  const std::string folder = spoolPath_.substr(0, spoolPath_.rfind('/') + 1);
  spoolFd_ = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (spoolFd_ < 0) spoolFd_ = memfd_create("warpmeter-ranges", MFD_CLOEXEC);
  return spoolFd_ >= 0;
}

bool RangedLaunches::spool(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = write(spoolFd_, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void RangedLaunches::configurations(std::vector<std::byte> bytes) {
  if (!wire::soundConfigurations(bytes.data(), bytes.size())) return;
  const std::string chip = reinterpret_cast<const wire::Configurations*>(bytes.data())->chip;
  configurations_[chip] = std::move(bytes);
}

bool RangedLaunches::take(std::int64_t globalPid, std::span<const std::byte> bytes,
                          const std::function<std::int64_t(std::int64_t)>& toSessionNs,
                          const std::function<std::int64_t(std::uint32_t)>& toFileId) {
  wire::RangedImageRecord record{};
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  record.chip[sizeof record.chip - 1] = 0;
  const auto known = configurations_.find(record.chip);
  if (record.launches == 0 || record.launches > wire::kMaxRanges ||
      record.imageBytes > bytes.size() - sizeof record || record.dropped != 0 ||
      known == configurations_.end()) {
    return false;
  }
  const auto* all = reinterpret_cast<const wire::Configurations*>(known->second.data());
  if (record.configuration >= all->count || !openSpool()) return false;
  const wire::Configuration& configuration = all->entries[record.configuration];
  const char* names = reinterpret_cast<const char*>(all) + configuration.namesOffset;

  wire::RangeRequest request{};
  request.magic = wire::kRangeRequestMagic;
  request.metrics = configuration.metrics;
  request.namesBytes = configuration.namesBytes;
  request.ranges = record.launches;
  request.imageBytes = record.imageBytes;
  request.tag = images_.size();
  std::memcpy(request.chip, record.chip, sizeof request.chip);
  const off_t before = lseek(spoolFd_, 0, SEEK_END);
  if (!spool(&request, sizeof request) || !spool(names, configuration.namesBytes) ||
      !spool(bytes.data() + sizeof record, record.imageBytes)) {
    [[maybe_unused]] const int ignored =
        ftruncate(spoolFd_, before);  // half a request would spoil those behind it
    return false;
  }
  Image image{globalPid, record.configuration, {}, {}};
  for (const char* at = names; at < names + configuration.namesBytes; at += image.metrics.back().size() + 1) {
    image.metrics.emplace_back(at);
  }
  for (std::uint32_t i = 0; i < record.launches; ++i) {
    const wire::RangedLaunch& launch = record.launch[i];
    if ((launch.flags & wire::kRangeFailed) != 0) continue;
    Window window{toSessionNs(launch.pushedNs),
                  toSessionNs(launch.poppedNs),
                  toFileId(launch.correlationId),
                  globalPid,
                  static_cast<std::uint32_t>(images_.size()),
                  i,
                  launch.kernel,
                  record.configuration,
                  kNull,
                  kNull,
                  {}};
    for (const Interval& interval : recent_) touch(window, interval);
    windows_.emplace(window.pushedNs, std::move(window));
  }
  images_.push_back(std::move(image));
  return true;
}

void RangedLaunches::touch(Window& window, const Interval& interval) {
  if (interval.end <= window.pushedNs) return;
  if (interval.kernel && interval.correlationId == window.correlationId &&
      interval.globalPid == window.globalPid) {
    window.kernelEnd = interval.end;
    window.device = interval.device;
    return;
  }
  const auto [at, fresh] = window.others.emplace(Where{interval.globalPid, interval.device}, interval.start);
  if (!fresh) at->second = std::min(at->second, interval.start);
}

void RangedLaunches::add(const Interval& interval) {
  recent_.push_back(interval);
  auto at = windows_.lower_bound(interval.end);  // opened before the interval's end
  for (int i = 0; i < kWindowsBack && at != windows_.begin(); ++i) touch((--at)->second, interval);
}

void RangedLaunches::see(const RowBatch& rows, const Place& from, std::int64_t nowNs) {
  const auto each = [&](const auto& list, std::size_t first, bool kernel) {
    for (const auto& row : std::span(list).subspan(first)) {
      if (isNull(row.start) || isNull(row.end)) continue;
      add({row.start, row.end, row.correlationId, row.globalPid, nowNs,
           static_cast<std::int32_t>(row.deviceId), kernel});
    }
  };
  each(rows.kernels, from.kernels, true);
  each(rows.copies, from.copies, false);
  each(rows.memsets, from.memsets, false);
  while (!recent_.empty() && (recent_.size() > kKeptRows || nowNs - recent_.front().seenNs > kKeptNs))
    recent_.pop_front();
}

bool RangedLaunches::wasAlone(const Window& window, const GpuOf& gpuOf) const {
  const std::int64_t gpu = gpuOf(window.globalPid, window.device);
  const auto same = [&](const Where& where) {
    if (where.first == window.globalPid) return where.second == window.device;
    const std::int64_t other = gpuOf(where.first, where.second);
    return isNull(gpu) || isNull(other) || gpu == other;
  };
  const std::int64_t until = std::max(window.kernelEnd + kAfterKernelNs, window.poppedNs);
  return std::ranges::none_of(window.others,
                              [&](const auto& entry) { return entry.second < until && same(entry.first); });
}

void RangedLaunches::readReplies(std::span<const std::byte> replies, Outcome& outcome) {
  while (replies.size() >= sizeof(wire::RangeReply)) {
    wire::RangeReply reply{};
    std::memcpy(&reply, replies.data(), sizeof reply);
    replies = replies.subspan(sizeof reply);
    if (reply.magic != wire::kRangeReplyMagic || reply.tag >= images_.size()) break;
    Image& image = images_[reply.tag];
    if (reply.error != 0) {
      outcome.problem = fmt::format("CUPTI could not evaluate a counter data image (error {})", reply.error);
      continue;
    }
    const std::size_t count = std::size_t{reply.metrics} * reply.ranges, bytes = count * sizeof(double);
    if (reply.metrics != image.metrics.size() || reply.ranges > wire::kMaxRanges || bytes > replies.size())
      break;
    image.values.resize(count);
    std::memcpy(image.values.data(), replies.data(), bytes);
    image.evaluated = true;
    replies = replies.subspan(bytes);
  }
}

RangedLaunches::Outcome RangedLaunches::finish(const GpuOf& gpuOf, const Evaluate& evaluate) {
  Outcome outcome;
  if (windows_.empty()) return outcome;
  const auto replies = lseek(spoolFd_, 0, SEEK_SET) == 0
                           ? evaluate(spoolFd_)
                           : Result<std::vector<std::byte>>(Error{ErrorKind::io, "lseek"});
  if (replies) {
    readReplies(*replies, outcome);
  } else {
    outcome.problem = replies.error().message;
  }
  std::set<std::pair<std::int64_t, std::uint32_t>> kernels;
  for (const auto& [pushed, window] : windows_) {
    const Image& image = images_[window.image];
    if (isNull(window.kernelEnd)) {
      ++outcome.unchecked;
    } else if (!wasAlone(window, gpuOf)) {
      ++outcome.overlapped;
    } else if (!image.evaluated) {
      ++outcome.failed;
    } else {
      ++outcome.launches;
      kernels.emplace(window.globalPid, window.kernel);
      for (std::size_t m = 0; m < image.metrics.size(); ++m) {
        const double value = image.values[window.range * image.metrics.size() + m];
        if (!std::isfinite(value)) continue;  // a ratio of nothing, or not countable on this instance
        RangedValue row;
        row.globalPid = window.globalPid;
        row.correlationId = window.correlationId;
        row.configuration = window.configuration;
        row.metric = image.metrics[m];
        row.value = value;
        outcome.values.push_back(std::move(row));
      }
    }
  }
  outcome.kernels = static_cast<std::int64_t>(kernels.size());
  return outcome;
}

}  // namespace warpmeter::recorder
