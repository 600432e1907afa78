// SPDX-License-Identifier: Apache-2.0
// report --json; its shape is docs/report.schema.json.
#include <algorithm>

#include "cli/comparison.h"
#include "cli/occupancy_text.h"
#include "cli/report.h"
#include "cli/report_counters.h"
#include "cli/report_counters_json.h"
#include "cli/report_stalls.h"
#include "warpmeter/analyzer/format.h"
#include "warpmeter/analyzer/metric.h"

namespace warpmeter::cli {
namespace {

Json statsJson(const analyzer::DurationStats& t) {
  if (t.count == 0)
    return Json{{"totalNs", 0},     {"medianNs", nullptr}, {"meanNs", nullptr},
                {"minNs", nullptr}, {"maxNs", nullptr},    {"p95Ns", nullptr}};
  return Json{{"totalNs", t.totalNs}, {"medianNs", t.medianNs}, {"meanNs", t.meanNs()},
              {"minNs", t.minNs},     {"maxNs", t.maxNs},       {"p95Ns", t.p95Ns}};
}

std::string text(std::string_view view) { return std::string(view); }

Json processesJson(const ReportData& data) {
  Json out = Json::array();
  for (const auto& p : data.view.processes()) {
    const auto& i = p.info;
    out.push_back(Json{{"pid", i.pid},
                       {"parentPid", intOrNull(i.parentPid)},
                       {"name", i.name},
                       {"argv", i.argv},
                       {"startNs", intOrNull(i.startNs)},
                       {"startUncertaintyNs", intOrNull(i.startUncertaintyNs)},
                       {"exitNs", intOrNull(i.exitNs)},
                       {"exitHow", i.exitHow},
                       {"status", i.status},
                       {"cuptiVersion", intOrNull(i.cuptiVersion)},
                       {"cuptiPath", i.cuptiPath}});
  }
  return out;
}

Json gpusJson(const ReportData& data) {
  Json out = Json::array();
  for (const auto& g : data.view.gpus()) {
    const auto& i = g.info;
    out.push_back(
        Json{{"id", i.id},
             {"described", g.described},
             {"name", i.name},
             {"uuid", i.uuid},
             {"computeMajor", intOrNull(i.computeMajor)},
             {"computeMinor", intOrNull(i.computeMinor)},
             {"smCount", intOrNull(i.smCount)},
             {"totalMemoryBytes", intOrNull(i.totalMemory)},
             {"memoryBandwidthBytesPerSec", intOrNull(i.memoryBandwidth)},
             {"limitsFrom", i.limitSource},
             {"ceilings", ceilingsJson(data, static_cast<std::size_t>(&g - data.view.gpus().data()))}});
  }
  return out;
}

Json qualityJson(const analyzer::Quality& q) {
  Json losses = Json::array();
  for (const auto& l : q.losses)
    losses.push_back(Json{{"kind", l.kind},
                          {"why", l.why},
                          {"count", orNull(l.count)},
                          {"fromNs", orNull(l.fromNs)},
                          {"toNs", orNull(l.toNs)}});
  Json costs = Json::array();
  for (const auto& c : q.ownCosts)
    costs.push_back(Json{{"what", c.what},
                         {"ns", intOrNull(c.ns)},
                         {"count", intOrNull(c.count)},
                         {"pid", pidOf(c.globalPid)}});
  const bool known = q.lossesRecorded;  // an nsys export does not say what was lost
  return Json{
      {"complete", known ? Json(q.complete) : Json(nullptr)},
      {"unfinished", q.unfinished},
      {"launches", q.launches},
      {"timed", q.timed},
      {"lostRecords", known ? Json(q.lostRecords) : Json(nullptr)},
      {"unknownLosses", q.unknownLosses || !known},
      {"losses", losses},
      {"ownCostNs", orNull(q.ownCostNs)},
      {"ownCostPct", orNull(q.ownCostPct)},
      {"ownCosts", costs},
      {"countersReason", analyzer::reasonFromId(q.countersReason) ? Json(q.countersReason) : Json(nullptr)}};
}

Json idleJson(const ReportData& data, const std::vector<analyzer::IdlePart>& parts) {
  Json out = Json::array();
  for (const auto& p : parts)
    out.push_back(Json{{"cause", idOf(p.cause)},
                       {"api", p.api ? Json(text(data.view.name(p.api))) : Json(nullptr)},
                       {"ns", p.ns}});
  return out;
}

Json timeJson(const ReportData& data) {
  const auto& t = data.run.time;
  return Json{{"beginNs", t.beginNs},      {"endNs", t.endNs},
              {"wallNs", t.wallNs()},      {"startUpNs", t.startUpNs}, {"startUpCopyNs", t.startUpCopyNs},
              {"busyNs", t.busyNs},        {"kernelNs", t.kernelNs},
              {"copyNs", t.copyNs},        {"bothNs", t.bothNs},
              {"idleNs", t.idleNs},        {"idle", idleJson(data, t.idle)},
              {"shutDownNs", t.shutDownNs}};
}

Json countsJson(const analyzer::RunSummary& r) {
  return Json{{"kernels", r.kernels},     {"untimed", r.untimed},
              {"copies", r.copies},       {"copyBytes", r.copyBytes},
              {"memsets", r.memsets},     {"apiCalls", r.apiCalls},
              {"streams", r.streamsUsed}, {"gpus", r.gpusUsed},
              {"processes", r.processes}, {"processesWithGpuWork", r.processesWithGpuWork}};
}

// Achieved occupancy of a run without counters: the reason that the recording gives.
analyzer::Metric unmeasured(const ReportData& data) {
  using analyzer::Reason;
  if (data.fromNsys()) return analyzer::Metric::missing(Reason::notRecorded);
  return analyzer::Metric::missing(
      analyzer::reasonFromId(data.run.quality.countersReason)
          .value_or(data.counters.quality.reason.value_or(Reason::notRequested)));
}

Json distinctJson(const ReportData& data, const analyzer::DistinctSummary& d) {
  const auto& distinct = data.view.distinctKernels()[d.distinct];
  const auto& c = data.view.configs()[distinct.config];
  Json out{{"grid", dimsToJson(distinct.grid)},
           {"block", dimsToJson(c.block)},
           {"cluster", c.clusterBlocks() > 0 ? dimsToJson(c.cluster) : Json(nullptr)},
           {"joinedGrids", distinct.joinedGrids},
           {"gpu", c.gpu == analyzer::kNone ? Json(nullptr) : Json(data.view.gpus()[c.gpu].info.id)},
           {"registersPerThread", c.registers},
           {"staticSharedBytes", c.staticShared},
           {"dynamicSharedBytes", c.dynamicShared},
           {"executedSharedBytes", intOrNull(c.executedShared)},
           {"localPerThreadBytes", c.localPerThread},
           {"launches", d.time.count + d.untimed},
           {"untimed", d.untimed},
           {"sharePct", d.sharePct}};
  out.update(statsJson(d.time));
  out["occupancy"] = d.occupancy ? occupancyJson(*d.occupancy) : Json(nullptr);
  out["occupancyReason"] = d.occupancy ? Json(nullptr) : Json(d.occupancyReason);
  const auto* counters = countersOf(data, d.distinct);
  out["achievedOccupancyPct"] =
      toJson(counters && data.counters.quality.any ? counters->occupancyPct : unmeasured(data));
  addCountersJson(out, data, d);
  const auto* comparison = comparisonOf(data, d.distinct);
  out["reference"] = comparison ? toJson(*comparison) : Json(nullptr);
  return out;
}

Json kernelsJson(const ReportData& data, const ReportOptions& options) {
  std::vector<std::size_t> indices;
  if (!options.kernel.empty())
    indices = matchingFunctions(data, options.kernel);
  else
    for (std::size_t i = 0;
         i < std::min(options.top.value_or(data.kernels.functions.size()), data.kernels.functions.size());
         ++i)
      indices.push_back(i);
  Json out = Json::array();
  for (const auto index : indices) {
    const auto& f = data.kernels.functions[index];
    Json kernel{{"name", f.shortName},
                {"demangledName", f.demangledName},
                {"launches", f.launches()},
                {"untimed", f.untimed},
                {"sharePct", f.sharePct}};
    kernel.update(statsJson(f.time));
    kernel["joinedGrids"] = f.joinedGrids;
    kernel["stalls"] = stallsJson(data, f);
    kernel["distinct"] = Json::array();
    for (const auto& d : f.distinct) kernel["distinct"].push_back(distinctJson(data, d));
    out.push_back(std::move(kernel));
  }
  return out;
}

Json concurrencyJson(const ReportData& data) {
  Json out = Json::array();
  for (const auto& c : data.gpus) {
    Json streams = Json::array();
    for (const auto& s : c.streams) {
      const auto& lane = data.view.streams()[s.stream];
      streams.push_back(
          Json{{"streamId", lane.streamId},
               {"contextId", lane.contextId},
               {"pid", lane.process == analyzer::kNone ? Json(nullptr)
                                                       : Json(data.view.processes()[lane.process].info.pid)},
               {"busyNs", s.busyNs},
               {"operations", s.operations}});
    }
    out.push_back(
        Json{{"gpu", c.gpu == analyzer::kNone ? Json(nullptr) : Json(data.view.gpus()[c.gpu].info.id)},
             {"windowNs", c.windowNs()},
             {"busyNs", c.busyNs},
             {"kernelNs", c.kernelNs},
             {"copyNs", c.copyNs},
             {"bothNs", c.bothNs},
             {"depthNs", c.depthNs},
             {"streams", streams},
             {"matrixNs", c.matrixNs},
             {"gapCount", c.gapCount},
             {"gapNs", c.gapNs},
             {"idle", idleJson(data, c.idle)},
             {"operations", c.operations},
             {"untimed", c.untimed}});
  }
  return out;
}

Json coldJson(const ReportData& data) {
  Json out = Json::array();
  for (const auto& c : data.coldStarts) {
    Json bars = Json::array(), first = Json::array();
    for (const auto& b : c.bars)
      bars.push_back(Json{{"phase", idOf(b.phase)}, {"ns", orNull(b.ns)}, {"count", b.count}});
    for (const auto& f : c.firstLaunches) {
      const auto& function = data.view.functions()[f.function];
      first.push_back(Json{{"name", text(data.view.name(function.shortName))},
                           {"launchId", f.rowid},
                           {"atNs", f.atNs},
                           {"hostNs", orNull(f.hostNs)},
                           {"gpuNs", f.gpuNs},
                           {"laterLaunches", f.laterLaunches},
                           {"laterHostNs", orNull(f.laterHostNs)},
                           {"laterGpuNs", orNull(f.laterGpuNs)}});
    }
    out.push_back(Json{{"pid", data.view.processes()[c.process].info.pid},
                       {"totalNs", c.totalNs()},
                       {"beginNs", c.beginNs},
                       {"beginKnown", c.beginKnown},
                       {"beginUncertaintyNs", c.beginUncertaintyNs},
                       {"firstKernelNs", c.firstKernelNs},
                       {"phases", bars},
                       {"firstLaunches", first}});
  }
  return out;
}

Json copiesJson(const ReportData& data) {
  const auto& c = data.copies;
  Json groups = Json::array();
  for (const auto& g : c.groups) {
    Json group{{"kind", text(analyzer::textOf(g.kind))},
               {"source", text(analyzer::textOf(g.source))},
               {"destination", text(analyzer::textOf(g.destination))},
               {"pageable", g.pageable},
               {"count", g.time.count},
               {"bytes", g.bytes},
               {"bytesPerSec", orNull(g.bytesPerSec())}};
    group.update(statsJson(g.time));
    groups.push_back(std::move(group));
  }
  return Json{{"copies", c.copies},
              {"memsets", c.memsets},
              {"bytes", c.bytes},
              {"timeNs", c.timeNs},
              {"unionNs", c.unionNs},
              {"hiddenNs", c.hiddenNs},
              {"pageableCopies", c.pageableCopies},
              {"pageableBytes", c.pageableBytes},
              {"pageableNs", c.pageableNs},
              {"pageableExposedNs", c.pageableExposedNs},
              {"groups", groups}};
}

Json nvtxJson(const ReportData& data) {
  Json rows = Json::array();
  for (const auto& r : data.nvtx->rows) {
    Json row{{"domain", text(data.view.name(r.domain))},
             {"text", text(data.view.name(r.text))},
             {"ranges", r.time.count},
             {"marks", r.marks}};
    row.update(statsJson(r.time));
    row.update(Json{{"kernels", r.kernels}, {"kernelNs", r.kernelNs}, {"projectedNs", r.projectedNs}});
    rows.push_back(std::move(row));
  }
  return Json{{"ranges", rows},
              {"kernelsOutside", data.nvtx->kernelsOutside},
              {"kernelsUnlinked", data.nvtx->kernelsUnlinked}};
}

std::string evidenceKey(const analyzer::Evidence& e) {
  using enum analyzer::Unit;
  switch (e.unit) {
    case ns:
      return e.name + "Ns";
    case bytes:
      return e.name + "Bytes";
    case bytesPerSec:
      return e.name + "BytesPerSec";
    case percent:
      return e.name + "Pct";
    case none:
    case count:
      return e.name;
  }
  return e.name;
}

Json findingsJson(const ReportData& data) {
  Json out = Json::array();
  for (const auto& f : data.findings) {
    Json evidence = Json::object();
    for (const auto& e : f.evidence) evidence[evidenceKey(e)] = e.value;
    out.push_back(Json{{"id", analyzer::named(f.id).id},
                       {"confidence", idOf(f.confidence)},
                       {"subject", Json{{"kind", idOf(f.subject.kind)}, {"text", f.subject.text}}},
                       {"recoverableLowNs", f.recoverableLowNs},
                       {"recoverableHighNs", f.recoverableHighNs},
                       {"evidence", evidence},
                       {"text", f.text},
                       {"advice", f.advice}});
  }
  return out;
}

}  // namespace

Json reportJson(const ReportData& data, const ReportOptions& options) {
  Json json = jsonFor("report");
  json["file"] = Json{{"path", data.file.string()},
                      {"kind", data.fromNsys() ? "nsys" : "warpmeter"},
                      {"schemaVersion", data.reader().schemaVersion()}};
  json["quality"] = qualityJson(data.run.quality);
  json["processes"] = processesJson(data);
  json["gpus"] = gpusJson(data);
  json["time"] = timeJson(data);
  json["counts"] = countsJson(data.run);
  json["counters"] = countersJson(data);
  json["pcSamples"] = pcSamplesJson(data);
  json["kernels"] = kernelsJson(data, options);
  json["concurrency"] = concurrencyJson(data);
  json["coldStarts"] = coldJson(data);
  json["copies"] = copiesJson(data);
  if (data.nvtx) json["nvtx"] = nvtxJson(data);
  json["findings"] = findingsJson(data);
  return json;
}

}  // namespace warpmeter::cli
