// SPDX-License-Identifier: Apache-2.0
// Counters: sets and batches of samples, values of single launches, stall reasons, ceilings.
#include <cmath>

#include "statement_row.h"
#include "writer_impl.h"

namespace warpmeter {

Result<void> ProfileWriter::Impl::beginUnlessClosed() {
  if (Result<void> r = refuseUnlessOpen(); !r) return r;
  return begin();
}

Result<void> ProfileWriter::put(const SampleSetInfo& set) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow remove(w.db, "DELETE FROM WM_SAMPLE_SET WHERE setId = ?");
  remove << set.setId;
  bool ok = remove.run();
  StatementRow row(w.db, "INSERT INTO WM_SAMPLE_SET VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; ok && i < set.metrics.size(); ++i) {
    row << set.setId << set.gpuId << set.chip << static_cast<std::int64_t>(i) << set.metrics[i];
    ok = row.run();
  }
  if (!ok) return w.error("write a set of metrics");
  return {};
}

Result<void> ProfileWriter::append(std::span<const PackedSamples> batches) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow row(w.db, "INSERT INTO WM_SAMPLE VALUES (?, ?, ?, ?, ?, ?)");
  for (const PackedSamples& batch : batches) {
    row << batch.setId << batch.startNs << batch.endNs << batch.intervalNs << batch.samples
        << std::span<const std::byte>(batch.data);
    if (!row.run()) return w.error("write samples");
    ++w.rows;
  }
  return w.checkFileSizeLimit();
}

Result<void> ProfileWriter::append(std::span<const RangedValue> values) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow row(w.db, "INSERT INTO WM_RANGED VALUES (?, ?, ?, ?, ?)");
  std::int64_t refused = 0;
  for (const RangedValue& v : values) {
    if (!std::isfinite(v.value)) {  // SQLite would take it for NULL
      ++refused;
      continue;
    }
    row << v.globalPid << v.correlationId << v.configuration << intern(v.metric).value << v.value;
    if (!row.run()) return w.error("write counters of launches");
    ++w.rows;
  }
  if (refused > 0) {
    if (Result<void> r = w.sayRefused("WM_RANGED", refused); !r) return r;
  }
  return w.checkFileSizeLimit();
}

Result<void> ProfileWriter::append(std::span<const PcSamples> samples) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow row(w.db, "INSERT INTO WM_PC VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const PcSamples& s : samples) {
    row << s.globalPid << intern(s.function).value << s.pcOffset << intern(s.stallReason).value << s.samples
        << (s.file.empty() ? kNull : intern(s.file).value) << s.line;
    if (!row.run()) return w.error("write stall reasons");
    ++w.rows;
  }
  return w.checkFileSizeLimit();
}

Result<void> ProfileWriter::append(std::span<const PcRun> runs) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow row(w.db, "INSERT INTO WM_PC_RUN VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const PcRun& run : runs) {
    row << run.globalPid << run.deviceId << run.chip << run.periodCycles << run.samples << run.otherKernels << run.dropped;
    if (!row.run()) return w.error("write what PC sampling did");
    ++w.rows;
  }
  return w.checkFileSizeLimit();
}

Result<void> ProfileWriter::put(const CeilingInfo& c) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  if (!std::isfinite(c.value)) return w.sayRefused("WM_CEILING", 1);
  StatementRow row(w.db, "INSERT OR REPLACE INTO WM_CEILING VALUES (?, ?, ?, ?)");
  row << c.gpuId << c.kind << c.value << c.source;
  if (!row.run()) return w.error("write a ceiling");
  return {};
}

Result<void> ProfileWriter::put(const GpuMetricInfo& m) {
  Impl& w = *impl_;
  if (Result<void> r = w.beginUnlessClosed(); !r) return r;
  StatementRow remove(w.db, "DELETE FROM TARGET_INFO_GPU_METRICS WHERE typeId = ? AND metricId = ?");
  remove << m.typeId << m.metricId;
  StatementRow row(w.db, "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (?, ?, ?, ?, ?)");
  row << m.typeId << m.sourceId << m.typeName << m.metricId << m.metricName;
  if (!remove.run() || !row.run()) return w.error("write the name of a metric");
  return {};
}

}  // namespace warpmeter
