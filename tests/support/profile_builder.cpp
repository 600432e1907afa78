// SPDX-License-Identifier: Apache-2.0
#include "support/profile_builder.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <unordered_map>

#include "support/profile_dsl.h"
#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::support {
namespace {

std::int64_t lookUp(std::string_view what,
                    std::initializer_list<std::pair<std::string_view, std::int64_t>> list) {
  for (const auto& [name, number] : list) {
    if (name == what) return number;
  }
  throw BadLine("unknown: " + std::string(what));
}

std::int64_t memoryKind(const DslLine& line, std::string_view key, std::string_view fallback) {
  return lookUp(
      line.text(key).value_or(std::string(fallback)),
      {{"pageable", 0}, {"pinned", 1}, {"device", 2}, {"array", 3}, {"managed", 4}, {"unknown", 7}});
}

std::vector<std::string> words(const std::string& text, char separator = ' ') {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

class DslWriter {
 public:
  explicit DslWriter(ProfileWriter& writer) : writer_(writer) {}

  Result<void> line(const DslLine& l) {
    using Method = Result<void> (DslWriter::*)(const DslLine&);
    static const std::unordered_map<std::string, Method> kVerbs{
        {"process", &DslWriter::process}, {"gpu", &DslWriter::gpu},
        {"thread", &DslWriter::thread},   {"kernel", &DslWriter::kernel},
        {"untimed", &DslWriter::untimed}, {"api", &DslWriter::api},
        {"memcpy", &DslWriter::memcpy},   {"memset", &DslWriter::memset},
        {"sync", &DslWriter::sync},       {"nvtx", &DslWriter::nvtx},
        {"domain", &DslWriter::domain},   {"overhead", &DslWriter::overhead},
        {"mark", &DslWriter::mark},       {"loss", &DslWriter::loss},
        {"cost", &DslWriter::cost},       {"stream", &DslWriter::stream},
        {"ceiling", &DslWriter::ceiling}, {"sampleset", &DslWriter::sampleSet},
        {"samples", &DslWriter::samples}, {"pc", &DslWriter::pc},
        {"pcrun", &DslWriter::pcRun}};
    const auto verb = kVerbs.find(l.word(0));
    if (verb == kVerbs.end()) throw BadLine("unknown verb: " + l.word(0));
    return (this->*verb->second)(l);
  }

 private:
  std::int64_t intern(std::string_view text) { return writer_.intern(text).value; }
  template <class Row>
  Result<void> one(const Row& row) {
    return writer_.append(std::span<const Row>(&row, 1));
  }

  template <class Row>
  void place(const DslLine& l, Row& row) {
    row.deviceId = l.number("gpu", 0);
    row.contextId = l.number("ctx", 1);
    row.streamId = l.number("stream", 7);
    row.correlationId = l.number("corr", 0);
    row.globalPid = makeGlobalPid(l.process(1).first).value;
  }
  static std::int64_t thread(const DslLine& l, std::size_t i) {
    const auto [pid, tid] = l.process(i);
    return makeGlobalTid(pid, tid).value;
  }

  Result<void> process(const DslLine& l) {
    ProcessInfo p;
    p.pid = l.process(1).first;
    p.globalPid = makeGlobalPid(p.pid);
    p.name = l.text("name").value_or("");
    p.argv = words(l.text("argv").value_or(""));
    p.startNs = l.timeOf("start", kNull);
    p.startUncertaintyNs = l.timeOf("uncertainty", kNull);
    p.exitNs = l.timeOf("exit", kNull);
    p.exitHow = l.text("how").value_or("");
    p.parentPid = l.number("parent", kNull);
    p.cuptiVersion = l.number("cupti", kNull);
    p.status = l.text("status").value_or("recorded");
    return writer_.put(p);
  }

  Result<void> gpu(const DslLine& l) {
    GpuInfo g;
    g.id = g.cuDevice = l.time(1);
    g.name = l.text("name").value_or("Test GPU");
    g.uuid = l.text("uuid").value_or("");
    const std::string cc = l.text("cc").value_or("9.0");
    g.computeMajor = parseTime(cc.substr(0, cc.find('.')));
    g.computeMinor = parseTime(cc.substr(cc.find('.') + 1));
    g.smCount = l.number("sms", 132);
    g.memoryBandwidth = l.number("bandwidth", kNull);
    g.clockRate = l.number("clock", kNull);
    g.uuid = l.text("uuid").value_or("");
    return writer_.put(g);
  }

  Result<void> thread(const DslLine& l) { return one(ThreadRow{intern(l.word(2)), kNull, thread(l, 1)}); }

  KernelRow kernelRow(const DslLine& l) {
    KernelRow k;
    place(l, k);
    k.demangledName = k.shortName = intern(l.word(2));
    k.mangledName = l.text("mangled") ? intern(*l.text("mangled")) : k.demangledName;
    k.launchType = 1;
    k.registersPerThread = l.number("regs", 16);
    const auto grid = l.dims("grid", 1), block = l.dims("block", 1), cluster = l.dims("cluster", 0);
    k.gridX = grid[0], k.gridY = grid[1], k.gridZ = grid[2];
    k.blockX = block[0], k.blockY = block[1], k.blockZ = block[2];
    k.clusterX = cluster[0], k.clusterY = cluster[1], k.clusterZ = cluster[2];
    k.staticSharedMemory = l.number("static", 0);
    k.dynamicSharedMemory = l.number("dynamic", 0);
    k.localMemoryPerThread = l.number("local", 0);
    k.localMemoryTotal = 0;
    k.gridId = 0;
    k.sharedMemoryExecuted = l.number("executed", kNull);
    k.sharedMemoryRequestedPercentage = l.number("carveout", kNull);
    k.graphNodeId = l.number("node", kNull);
    k.graphId = l.number("graph", kNull);
    k.maxActiveClusters = l.number("mac", kNull);
    return k;
  }

  Result<void> kernel(const DslLine& l) {
    KernelRow k = kernelRow(l);
    std::tie(k.start, k.end) = l.span(3);
    return one(k);
  }
  Result<void> untimed(const DslLine& l) {
    const KernelRow k = kernelRow(l);
    return writer_.appendUntimed(std::span<const KernelRow>(&k, 1));
  }

  Result<void> api(const DslLine& l) {
    ApiRow a;
    a.globalTid = thread(l, 1);
    a.nameId = intern(l.word(2));
    std::tie(a.start, a.end) = l.span(3);
    a.eventClass = l.flag("driver") ? 1 : 0;
    a.correlationId = l.number("corr", kNull);
    a.returnValue = l.number("ret", 0);
    return one(a);
  }

  Result<void> memcpy(const DslLine& l) {
    MemcpyRow m;
    place(l, m);
    m.copyKind = lookUp(l.word(2), {{"HtoD", 1}, {"DtoH", 2}, {"DtoD", 8}, {"HtoH", 9}, {"PtoP", 10}});
    std::tie(m.start, m.end) = l.span(3);
    m.bytes = l.number("bytes", 0);
    m.srcKind = memoryKind(l, "src", m.copyKind == 1 ? "pinned" : "device");
    m.dstKind = memoryKind(l, "dst", m.copyKind == 2 ? "pinned" : "device");
    return one(m);
  }

  Result<void> memset(const DslLine& l) {
    MemsetRow m;
    place(l, m);
    std::tie(m.start, m.end) = l.span(2);
    m.value = 0;
    m.bytes = l.number("bytes", 0);
    m.memKind = memoryKind(l, "dst", "device");
    return one(m);
  }

  Result<void> sync(const DslLine& l) {
    SyncRow s;
    place(l, s);
    std::tie(s.start, s.end) = l.span(2);
    s.syncType = l.number("type", 3);
    s.eventId = 4294967295;
    return one(s);
  }

  Result<void> nvtx(const DslLine& l) {
    NvtxRow n;
    n.globalTid = thread(l, 1);
    n.textId = intern(l.word(2));
    n.domainId = l.number("domain", 0);
    n.color = l.number("color", kNull);
    if (l.flag("mark")) {
      n.eventType = 34;
      n.start = l.time(3);
    } else {
      n.eventType = l.flag("startend") ? 60 : 59;
      std::tie(n.start, n.end) = l.span(3);
      if (l.flag("open")) n.end = kNull;
    }
    return one(n);
  }

  Result<void> domain(const DslLine& l) {
    NvtxRow n;
    n.globalTid = thread(l, 1);
    n.start = 0;
    n.eventType = 75;
    n.domainId = l.time(2);
    n.textId = intern(l.word(3));
    return one(n);
  }

  Result<void> overhead(const DslLine& l) {
    OverheadRow o;
    o.globalTid = thread(l, 1);
    o.eventClass = 103;
    o.overheadType = l.time(2);
    std::tie(o.start, o.end) = l.span(3);
    o.correlationId = l.number("corr", kNull);
    if (l.text("name")) o.nameId = intern(*l.text("name"));
    return one(o);
  }

  Result<void> mark(const DslLine& l) {
    MarkRow m;
    m.globalTid = thread(l, 1);
    m.kind = lookUp(l.word(2), {{"processStart", 1},
                                {"injectionEntered", 2},
                                {"injectionDone", 3},
                                {"cuInitFinished", 4},
                                {"contextCreated", 5},
                                {"contextDestroyed", 6},
                                {"moduleLoaded", 7},
                                {"moduleUnloaded", 8},
                                {"jitStarted", 9},
                                {"processExit", 10}});
    m.t = l.time(3);
    m.bytes = l.text("ns") ? l.timeOf("ns", 0) : l.number("bytes", kNull);
    m.contextId = l.number("ctx", kNull);
    m.moduleId = l.number("module", kNull);
    return one(m);
  }

  Result<void> loss(const DslLine& l) {
    LossRow r;
    r.kind = intern(l.word(1));
    r.count = l.number("count", kNull);
    r.fromNs = l.timeOf("from", kNull);
    r.toNs = l.timeOf("to", kNull);
    r.globalPid = l.text("pid") ? makeGlobalPid(l.number("pid", 0)).value : kNull;
    r.why = intern(l.text("why").value_or("test"));
    return one(r);
  }

  Result<void> cost(const DslLine& l) {
    return one(SelfCostRow{makeGlobalPid(l.process(1).first).value, intern(l.word(2)), l.timeOf("ns", 0),
                           l.number("count", 1)});
  }

  Result<void> stream(const DslLine& l) {
    StreamRow s;
    s.processId = l.process(1).first;
    s.streamId = l.time(2);
    s.contextId = l.number("ctx", 1);
    s.priority = 0;
    s.flag = 1;
    return one(s);
  }

  Result<void> ceiling(const DslLine& l) {
    return writer_.put(
        CeilingInfo{l.time(1), l.word(2), std::stod(l.word(3)), l.text("source").value_or("calibrated")});
  }

  Result<void> sampleSet(const DslLine& l) {
    return writer_.put(SampleSetInfo{l.time(2), l.time(1), l.text("chip").value_or("GH100"),
                                     words(l.text("metrics").value_or(""), ',')});
  }

  Result<void> samples(const DslLine& l) {
    const auto [from, to] = l.span(2);
    const std::int64_t interval = l.timeOf("interval", 2000);
    std::vector<std::int64_t> ends;
    for (std::int64_t end = from + interval; end <= to; end += interval) ends.push_back(end);
    std::vector<std::vector<std::int64_t>> values;
    for (const std::string& value : words(l.text("values").value_or(""), ','))
      values.emplace_back(ends.size(), parseSize(value));
    PackedSamples packed{l.time(1),
                         from,
                         ends.empty() ? from : ends.back(),
                         interval,
                         static_cast<std::int64_t>(ends.size()),
                         static_cast<std::int64_t>(values.size()),
                         packSamples(from, ends, values)};
    return one(packed);
  }

  Result<void> pc(const DslLine& l) {
    return one(PcSamples{makeGlobalPid(l.process(1).first).value, l.word(2), l.time(3),
                         "smsp__pcsamp_warps_issue_stalled_" + l.word(4), l.time(5), l.text("file").value_or(""),
                         l.number("line", kNull)});
  }

  Result<void> pcRun(const DslLine& l) {
    return one(PcRun{makeGlobalPid(l.process(1).first).value, l.time(2), "GH100", l.number("period", kNull),
                     l.number("samples", 0), l.number("other", 0), l.number("dropped", 0)});
  }

  ProfileWriter& writer_;
};

SessionInfo sessionOf(const DslLine& l) {
  SessionInfo s;
  s.utcEpochNs = l.number("epoch", 1'700'000'000'000'000'000);
  s.startedNs = l.timeOf("started", 0);
  s.endedNs = l.timeOf("ended", 0);
  s.endedHow = l.text("how").value_or("exited(0)");
  s.hostname = "test";
  s.counters = l.text("counters").value_or("not_requested");
  s.nvtxRequested = l.number("nvtx", 0) != 0;
  s.apiMode = l.text("api").value_or("work");
  return s;
}

// Calls visit for every line that says something; BadLine becomes an Error with the line's number.
Result<void> eachLine(std::string_view text, const std::function<Result<void>(const DslLine&)>& visit) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    try {
      const DslLine line(text.substr(at, end - at));
      if (!line.empty()) {
        if (auto ok = visit(line); !ok) return ok;
      }
    } catch (const BadLine& bad) {
      return Error{ErrorKind::usage, "line " + std::to_string(number) + ": " + bad.what()};
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<void> writeProfile(const std::filesystem::path& path, std::string_view text, bool finished) {
  SessionInfo session = sessionOf(DslLine("session"));
  auto found = eachLine(text, [&](const DslLine& line) {
    if (line.word(0) == "session") session = sessionOf(line);
    return Result<void>{};
  });
  if (!found) return found;
  auto writer = ProfileWriter::create(path, session, {.overwrite = true});
  if (!writer) return writer.error();
  DslWriter dsl(*writer);
  auto written = eachLine(
      text, [&](const DslLine& line) { return line.word(0) == "session" ? Result<void>{} : dsl.line(line); });
  if (!written) return written;
  if (auto ok = writer->commit(); !ok) return ok;
  if (!finished) return {};
  auto closed = writer->finish(session);
  return closed ? Result<void>{} : Result<void>{closed.error()};
}

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "warpmeter-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace warpmeter::support
