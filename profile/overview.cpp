// SPDX-License-Identifier: Apache-2.0
// WM_OVERVIEW: for every lane (process, device, context, stream) and every 1/4096 of the run the time in
// which something ran there (union, not sum) and the kernel that filled most of it. One pass over the rows in
// order of start, which the indexes on start give without sorting.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "finish.h"

namespace warpmeter {

namespace {

constexpr std::int64_t kBuckets = 4096;

struct Scale {
  std::int64_t start = 0, bucketNs = 1;
  std::int64_t bucketOf(std::int64_t t) const { return (t - start) / bucketNs; }
  std::int64_t startOf(std::int64_t bucket) const { return start + bucket * bucketNs; }
};

struct Bucket {
  std::int64_t busyNs = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> kernels;  // shortName, ns

  void addKernel(std::int64_t name, std::int64_t ns) {
    for (auto& [known, sum] : kernels) {
      if (known == name) {
        sum += ns;
        return;
      }
    }
    kernels.emplace_back(name, ns);
  }
  std::int64_t dominant() const {
    const auto most = std::max_element(kernels.begin(), kernels.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == kernels.end() ? kNull : most->first;
  }
};

using LaneKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

struct Lane {
  std::int64_t busyUntil = std::numeric_limits<std::int64_t>::min();
  std::map<std::int64_t, Bucket> open;  // buckets that later rows may still add to
};

class Overview {
 public:
  Overview(Scale scale, Statement& insert) : scale_(scale), insert_(insert) {}

  bool add(const LaneKey& key, std::int64_t start, std::int64_t end, std::int64_t name) {
    Lane& lane = lanes_[key];
    // Rows come in order of start, so what lies before this row's bucket is complete.
    if (!write(key, lane, scale_.bucketOf(start))) return false;
    // Only what the row adds to the union counts, for busyNs and for its kernel: each bucket is visited about
    // once, however many rows overlap.
    const std::int64_t newFrom = std::max(start, lane.busyUntil);
    for (std::int64_t b = scale_.bucketOf(newFrom); newFrom < end && scale_.startOf(b) < end; ++b) {
      const std::int64_t ns = std::min(end, scale_.startOf(b + 1)) - std::max(newFrom, scale_.startOf(b));
      Bucket& bucket = lane.open[b];
      bucket.busyNs += ns;
      if (!isNull(name)) bucket.addKernel(name, ns);
    }
    lane.busyUntil = std::max(lane.busyUntil, end);
    return true;
  }

  bool finish() {
    for (auto& [key, lane] : lanes_) {
      if (!write(key, lane, std::numeric_limits<std::int64_t>::max())) return false;
    }
    return true;
  }

 private:
  bool write(const LaneKey& key, Lane& lane, std::int64_t before) {
    while (!lane.open.empty() && lane.open.begin()->first < before) {
      const auto& [number, bucket] = *lane.open.begin();
      const auto& [globalPid, deviceId, contextId, streamId] = key;
      int index = 0;
      for (const std::int64_t value :
           {globalPid, deviceId, contextId, streamId, number, bucket.busyNs, bucket.dominant()}) {
        insert_.bind(++index, value);
      }
      if (insert_.run() != SQLITE_OK) return false;
      lane.open.erase(lane.open.begin());
    }
    return true;
  }

  Scale scale_;
  Statement& insert_;
  std::map<LaneKey, Lane> lanes_;
};

// Rows with impossible times are left out: one of them would stretch the run, and the buckets, beyond all
// memory.
#define WARPMETER_PLAUSIBLE \
  " WHERE \"end\" >= start AND start > -1152921504606846976 AND \"end\" < 1152921504606846976 "

constexpr const char* kRange =
    "SELECT min(s), max(e) FROM (SELECT min(start) AS s, max(\"end\") AS e FROM "
    "CUPTI_ACTIVITY_KIND_KERNEL " WARPMETER_PLAUSIBLE
    "UNION ALL SELECT min(start), max(\"end\") FROM CUPTI_ACTIVITY_KIND_MEMCPY " WARPMETER_PLAUSIBLE
    "UNION ALL SELECT min(start), max(\"end\") FROM CUPTI_ACTIVITY_KIND_MEMSET" WARPMETER_PLAUSIBLE ")";

constexpr const char* kRows =
    "SELECT globalPid, deviceId, contextId, streamId, start, \"end\", shortName FROM "
    "CUPTI_ACTIVITY_KIND_KERNEL " WARPMETER_PLAUSIBLE
    "UNION ALL SELECT globalPid, deviceId, contextId, streamId, start, \"end\", NULL "
    "FROM CUPTI_ACTIVITY_KIND_MEMCPY " WARPMETER_PLAUSIBLE
    "UNION ALL SELECT globalPid, deviceId, contextId, streamId, start, \"end\", NULL "
    "FROM CUPTI_ACTIVITY_KIND_MEMSET" WARPMETER_PLAUSIBLE " ORDER BY start";

#undef WARPMETER_PLAUSIBLE

bool fill(Db& db) {
  Statement range;
  if (range.prepare(db.get(), kRange) != SQLITE_OK || range.step() != SQLITE_ROW) return false;
  const std::int64_t first = range.integer(0), last = range.integer(1);
  range.reset();
  if (isNull(first)) return true;  // no GPU work
  const Scale scale{first, std::max<std::int64_t>(1, (last - first + kBuckets - 1) / kBuckets)};

  Statement session, insert, rows;
  if (session.prepare(db.get(), "UPDATE WM_SESSION SET overviewStart = ?, overviewBucketNs = ?") !=
          SQLITE_OK ||
      insert.prepare(db.get(), "INSERT INTO WM_OVERVIEW VALUES (?, ?, ?, ?, ?, ?, ?)") != SQLITE_OK ||
      rows.prepare(db.get(), kRows) != SQLITE_OK) {
    return false;
  }
  session.bind(1, scale.start);
  session.bind(2, scale.bucketNs);
  if (session.run() != SQLITE_OK) return false;
  Overview overview(scale, insert);
  int rc = SQLITE_OK;
  while ((rc = rows.step()) == SQLITE_ROW) {
    const LaneKey key{rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3)};
    if (!overview.add(key, rows.integer(4), rows.integer(5), rows.integer(6))) return false;
  }
  return rc == SQLITE_DONE && overview.finish();
}

}  // namespace

Result<void> writeOverview(Db& db, const std::filesystem::path& path) {
  if (db.exec("BEGIN; DELETE FROM WM_OVERVIEW") == SQLITE_OK && fill(db) && db.exec("COMMIT") == SQLITE_OK)
    return {};
  Error error = toError(db.get(), path, "write the overview");
  db.exec("ROLLBACK");
  return error;
}

}  // namespace warpmeter
