// SPDX-License-Identifier: Apache-2.0
// Counters: sets and batches of samples, values of single launches, stall reasons, ceilings.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reader_impl.h"
#include "warpmeter/profile/sample_pack.h"

namespace warpmeter {

namespace {

// A set with more metrics than this is a damaged file: one pass of the hardware has fewer counters.
constexpr std::int64_t kMetricsMax = 4096;

const SampleSetInfo* setOf(const std::vector<SampleSetInfo>& sets, std::int64_t id) {
  const auto at = std::ranges::lower_bound(sets, id, {}, &SampleSetInfo::setId);
  return at != sets.end() && at->setId == id ? &*at : nullptr;
}

}  // namespace

Result<std::vector<SampleSetInfo>> ProfileReader::sampleSets() const {
  std::vector<SampleSetInfo> sets;
  if (!impl_->hasTable("WM_SAMPLE_SET")) return sets;
  bool ordered = true;
  const Result<void> read = impl_->forEach(
      "SELECT setId, gpuId, chip, position, metric FROM WM_SAMPLE_SET ORDER BY setId, position",
      [&](const Statement& row) {
        if (sets.empty() || sets.back().setId != row.integer(0)) {
          sets.push_back({row.integer(1), row.integer(0), row.text(2), {}});
        }
        const auto position = static_cast<std::int64_t>(sets.back().metrics.size());
        ordered = ordered && row.integer(3) == position && position < kMetricsMax;
        if (ordered) sets.back().metrics.push_back(row.text(4));
      });
  if (!read) return read.error();
  if (!ordered) {
    return Error{ErrorKind::truncated, fmt::format("{}: the list of sampled metrics (WM_SAMPLE_SET) is damaged",
                                                   path().string())};
  }
  return sets;
}

Result<void> ProfileReader::readSamples(const std::function<void(const SampleBatch&)>& visit,
                                        std::stop_token stop) const {
  const Result<std::vector<SamplePlace>> places = samplePlaces();
  return places ? readSamples(*places, visit, std::move(stop)) : places.error();
}

Result<std::vector<SamplePlace>> ProfileReader::samplePlaces() const {
  std::vector<SamplePlace> places;
  if (!impl_->hasTable("WM_SAMPLE")) return places;
  Result<std::vector<SampleSetInfo>> sets = sampleSets();
  if (!sets) return std::move(sets).error();
  // Sorted here rather than by SQLite, which would carry the samples through its sorter.
  Result<void> read = impl_->forEach(
      "SELECT start, rowid, setId, samples, length(data) FROM WM_SAMPLE", [&](const Statement& row) {
        SamplePlace place{row.integer(0), row.integer(1), row.integer(2), 0};
        const SampleSetInfo* set = setOf(*sets, place.setId);
        if (set != nullptr && row.integer(3) > 0 && row.integer(4) > 0) {
          const auto fit = static_cast<std::size_t>(row.integer(4)) / (1 + set->metrics.size());
          place.samples = std::min(static_cast<std::size_t>(row.integer(3)), fit);
        }
        places.push_back(place);
      });
  if (!read) return read.error();
  std::ranges::stable_sort(places, {}, &SamplePlace::startNs);
  return places;
}

Result<void> ProfileReader::readSamples(std::span<const SamplePlace> places,
                                        const std::function<void(const SampleBatch&)>& visit,
                                        std::stop_token stop) const {
  if (places.empty()) return {};
  Result<std::vector<SampleSetInfo>> sets = sampleSets();
  if (!sets) return std::move(sets).error();
  Result<ConnectionPool::Lease> db = impl_->pool.take(path());
  if (!db) return std::move(db).error();
  Statement statement;
  if (statement.prepare((*db)->get(),
                        "SELECT setId, start, end, intervalNs, samples, data FROM WM_SAMPLE WHERE rowid = ?1") !=
      SQLITE_OK) {
    return impl_->error(**db, "read samples");
  }
  SampleBatch batch;
  for (const SamplePlace& place : places) {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, fmt::format("{}: cancelled", path().string())};
    const auto damaged = [&](std::string_view what) {
      return Error{ErrorKind::truncated,
                   fmt::format("{}: the samples in row {} of WM_SAMPLE are damaged: {}", path().string(),
                               place.rowid, what)};
    };
    statement.reset();
    statement.bind(1, place.rowid);
    const int rc = statement.step();
    if (rc == SQLITE_DONE) continue;  // nobody deletes rows, but that is no reason to fail
    if (rc != SQLITE_ROW) return impl_->error(**db, "read samples");
    const SampleSetInfo* set = setOf(*sets, statement.integer(0));
    if (set == nullptr) return damaged("their set of metrics is not in the file");
    batch.setId = set->setId;
    batch.startNs = statement.integer(1);
    batch.intervalNs = statement.integer(3);
    const std::int64_t samples = statement.integer(4);
    if (isNull(batch.startNs) || samples <= 0) return damaged("no start or no number of samples");
    if (!unpackSamples(statement.blob(5), batch.startNs, static_cast<std::size_t>(samples), set->metrics.size(),
                       batch.endNs, batch.values)) {
      return damaged(fmt::format("not {} samples of {} metrics", samples, set->metrics.size()));
    }
    if (batch.endNs.back() != statement.integer(2)) return damaged("they do not end when the row says");
    visit(batch);
  }
  return {};
}

Result<std::vector<RangedValue>> ProfileReader::rangedValues() const {
  std::vector<RangedValue> result;
  if (!impl_->hasTable("WM_RANGED")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT globalPid, correlationId, configuration, m.value, r.value FROM WM_RANGED AS r "
      "LEFT JOIN StringIds AS m ON m.id = metric ORDER BY r.rowid",
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.integer(2), row.text(3), row.real(4)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<PcSamples>> ProfileReader::pcSamples() const {
  std::vector<PcSamples> result;
  if (!impl_->hasTable("WM_PC")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT globalPid, f.value, pcOffset, s.value, samples, l.value, line FROM WM_PC AS p "
      "LEFT JOIN StringIds AS f ON f.id = function LEFT JOIN StringIds AS s ON s.id = stallReason "
      "LEFT JOIN StringIds AS l ON l.id = file ORDER BY p.rowid",
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.text(1), row.integer(2), row.text(3), row.integer(4), row.text(5),
                          row.integer(6)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<PcRun>> ProfileReader::pcRuns() const {
  std::vector<PcRun> result;
  if (!impl_->hasTable("WM_PC_RUN")) return result;
  const Result<void> read = impl_->forEach(
      "SELECT globalPid, deviceId, chip, periodCycles, samples, otherKernels, dropped FROM WM_PC_RUN ORDER BY rowid",
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.text(2), row.integer(3), row.integer(4), row.integer(5),
                          row.integer(6)});
      });
  if (!read) return read.error();
  return result;
}

Result<std::vector<CeilingInfo>> ProfileReader::ceilings() const {
  std::vector<CeilingInfo> result;
  if (!impl_->hasTable("WM_CEILING")) return result;
  const Result<void> read =
      impl_->forEach("SELECT gpuId, kind, value, source FROM WM_CEILING ORDER BY gpuId, kind",
                     [&](const Statement& row) {
                       result.push_back({row.integer(0), row.text(1), row.real(2), row.text(3)});
                     });
  if (!read) return read.error();
  return result;
}

Result<std::vector<GpuMetricInfo>> ProfileReader::gpuMetrics() const {
  std::vector<GpuMetricInfo> result;
  if (!impl_->hasTable("TARGET_INFO_GPU_METRICS")) return result;
  const Result<void> read = impl_->forEach(
      impl_->select("TARGET_INFO_GPU_METRICS", {"typeId", "sourceId", "metricId", "typeName", "metricName"}),
      [&](const Statement& row) {
        result.push_back({row.integer(0), row.integer(1), row.integer(2), row.text(3), row.text(4)});
      });
  if (!read) return read.error();
  return result;
}

}  // namespace warpmeter
