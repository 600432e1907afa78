// SPDX-License-Identifier: Apache-2.0
#include "cli/report_counters_json.h"

#include "cli/report_counters.h"

namespace warpmeter::cli {
namespace {

Json positiveOrNull(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

Json boundJson(const analyzer::KernelBound& b) {
  const bool measured = b.bound != analyzer::Bound::notMeasured;
  Json shares = Json::object();
  for (const auto& s : b.shares) shares[std::string(analyzer::named(s.unit).id) + "Pct"] = toJson(s.pct);
  return Json{{"id", analyzer::named(b.bound).id},
              {"sharePct", orNull(b.sharePct)},
              {"shareOf", b.shareOf.empty() ? Json(nullptr) : Json(b.shareOf)},
              {"confidence", measured ? Json(idOf(b.confidence)) : Json(nullptr)},
              {"reason", b.reason ? Json(analyzer::named(*b.reason).id) : Json(nullptr)},
              {"why", b.why},
              {"shares", std::move(shares)},
              {"flopPerSec", orNull(b.flopPerSec)},
              {"flopPerByte", orNull(b.flopPerByte)}};
}

Json countersJson(const ReportData& data) {
  const auto& q = data.counters.quality;
  return Json{{"any", q.any},
              {"reason", q.reason ? Json(analyzer::named(*q.reason).id) : Json(nullptr)},
              {"reasonText", q.reasonText},
              {"samples", q.samples},
              {"dropped", q.dropped},
              {"sampledNs", q.sampledNs},
              {"runNs", q.runNs},
              {"medianIntervalNs", q.medianIntervalNs},
              {"holes", q.holes},
              {"holesNs", q.holesNs},
              {"rangedLaunches", q.rangedLaunches},
              {"foreignPct", q.foreignPct},
              {"gpuShared", q.gpuShared},
              {"measuredKernels", q.measured},
              {"kernels", data.kernels.distinctCount}};
}

Json ceilingsJson(const ReportData& data, std::size_t gpu) {
  if (gpu >= data.bounds.ceilings.size() || !data.bounds.ceilings[gpu]) return nullptr;
  const auto& c = *data.bounds.ceilings[gpu];
  return Json{{"source", idOf(c.source)},
              {"from", c.from},
              {"dramBytesPerSec", positiveOrNull(c.dramBytesPerSec)},
              {"fp32PerSec", positiveOrNull(c.fp32PerSec)},
              {"fp64PerSec", positiveOrNull(c.fp64PerSec)},
              {"tensorBf16PerSec", positiveOrNull(c.tensorBf16PerSec)}};
}

void addCountersJson(Json& out, const ReportData& data, const analyzer::DistinctSummary& distinct) {
  const auto* c = data.counters.quality.any ? countersOf(data, distinct.distinct) : nullptr;
  const auto* b = boundOf(data, distinct.distinct);
  out["counters"] = c ? Json{{"smActivePct", toJson(c->smActivePct)},
                             {"dramReadBytes", toJson(c->dramReadBytes)},
                             {"dramWriteBytes", toJson(c->dramWriteBytes)},
                             {"dramBytesPerSec", toJson(c->dramBytesPerSec)},
                             {"instructions", toJson(c->instructions)},
                             {"issuePct", toJson(c->issuePct)},
                             {"tensorPct", toJson(c->tensorPct)},
                             {"fp32Pct", toJson(c->fp32Pct)},
                             {"fp64Pct", toJson(c->fp64Pct)},
                             {"intPct", toJson(c->intPct)},
                             {"l2Pct", toJson(c->l2Pct)},
                             {"l2HitPct", toJson(c->l2HitPct)},
                             {"l1Pct", toJson(c->l1Pct)},
                             {"l1HitPct", toJson(c->l1HitPct)},
                             {"pcieBytesPerSec", toJson(c->pcieBytesPerSec)},
                             {"nvlinkBytesPerSec", toJson(c->nvlinkBytesPerSec)}}
                      : Json(nullptr);
  if (c && b) {
    out["bound"] = boundJson(*b);
    return;
  }
  analyzer::KernelBound none;
  none.reason = out["achievedOccupancyPct"]["reason"].is_string()
                    ? analyzer::reasonFromId(out["achievedOccupancyPct"]["reason"].get<std::string>())
                    : std::nullopt;
  out["bound"] = boundJson(none);
}

}  // namespace warpmeter::cli
