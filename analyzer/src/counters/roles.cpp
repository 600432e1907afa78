// SPDX-License-Identifier: Apache-2.0
#include "src/counters/roles.h"

#include <algorithm>

namespace warpmeter::analyzer {
namespace {

struct Name {
  std::string_view text;
  NamedCounter counter;
};

// Names without rollup, in CUPTI's spelling. "_realtime" and ".TriageCompute" variants are stripped before
// the look-up.
constexpr Name kNames[] = {
    {"sm__cycles_active", {Role::smActive}},
    {"sm__cycles_elapsed", {Role::smElapsed}},
    {"sm__warps_active", {Role::warpsActive}},
    {"sm__inst_executed", {Role::instExecuted}},
    {"smsp__inst_executed", {Role::instExecuted}},
    {"sm__inst_issued", {Role::instIssued}},
    {"smsp__inst_issued", {Role::instIssued}},
    {"sm__issue_active", {Role::instIssued, 4}},  // the mean of the four schedulers
    {"smsp__issue_active", {Role::instIssued}},
    {"sm__pipe_tensor_cycles_active", {Role::tensorActive, 1.0 / 4}},  // a pipe in each of the four parts
    {"sm__pipe_alu_cycles_active", {Role::intActive, 1.0 / 4}},
    {"dram__bytes_read", {Role::dramRead}},
    {"dram__bytes_op_read", {Role::dramRead}},
    {"dram__sectors_read", {Role::dramRead, 32}},
    {"dram__bytes_write", {Role::dramWrite}},
    {"dram__bytes_op_write", {Role::dramWrite}},
    {"dram__sectors_write", {Role::dramWrite, 32}},
    {"lts__t_sectors", {Role::l2Sectors}},
    {"lts__t_sectors_lookup_hit", {Role::l2Hits}},
    {"lts__t_sectors_lookup_miss", {Role::l2Misses}},
    {"lts__cycles_elapsed", {Role::l2Elapsed}},
    {"l1tex__t_sectors", {Role::l1Sectors}},
    {"l1tex__t_sectors_lookup_hit", {Role::l1Hits}},
    {"l1tex__data_pipe_lsu_wavefronts", {Role::l1Active}},
    {"pcie__read_bytes", {Role::pcieRead}},
    {"pcie__write_bytes", {Role::pcieWrite}},
    {"nvlrx__bytes", {Role::nvlinkReceived}},
    {"nvltx__bytes", {Role::nvlinkSent}},
};

// Warp instructions of a pipe: those that an SM takes in a cycle are lanes / 32 (CUDA C++ Programming Guide,
// "Arithmetic Instructions"). 0 lanes: not said for the chip, then they are no measure of the pipe.
struct PipeName {
  std::string_view text;
  Role role;
  int lanes, lanesGa100, lanesTuring;  // GA100 and GV100; TU10x
};
constexpr PipeName kPipes[] = {
    {"sm__inst_executed_pipe_fma", Role::fp32Active, 128, 64, 64},
    {"smsp__inst_executed_pipe_fma", Role::fp32Active, 128, 64, 64},
    {"sm__inst_executed_pipe_fmaheavy", Role::fp32Heavy, 128, 0, 0},
    {"sm__inst_executed_pipe_fmalite", Role::fp32Lite, 128, 0, 0},
    {"sm__inst_executed_pipe_alu", Role::intActive, 64, 64, 64},
    {"smsp__inst_executed_pipe_alu", Role::intActive, 64, 64, 64},
};

std::optional<NamedCounter> pipeOf(std::string_view name, std::string_view chip) {
  const bool fp64Of64 = chip == "GH100" || chip.starts_with("GB10"),
             fp64Of32 = chip == "GA100" || chip == "GV100";
  if (name == "sm__inst_executed_pipe_fp64") {
    const int lanes = fp64Of64 ? 64 : fp64Of32 ? 32 : 0;
    return lanes == 0 ? std::nullopt : std::optional{NamedCounter{Role::fp64Active, 32.0 / lanes}};
  }
  // Where FP64 is a side thing, all parts of an SM share one pipe: what its cycles are counted in is not
  // known.
  if (name == "sm__pipe_fp64_cycles_active") {
    return fp64Of64 || fp64Of32 ? std::optional{NamedCounter{Role::fp64Active, 1.0 / 4}} : std::nullopt;
  }
  // With 128 lanes each part has two halves of 16, whose cycles are added; an instruction takes two of one
  // half. (GH100: a loop of one FFMA and one IMAD a turn counts 4 a turn, the same in every launch.)
  if (name == "sm__pipe_fma_cycles_active" && !chip.empty()) {
    const bool of64 = fp64Of32 || chip.starts_with("TU");
    return NamedCounter{Role::fp32Active, of64 ? 1.0 / 4 : 1.0 / 8};
  }
  const auto* pipe = std::ranges::find(kPipes, name, &PipeName::text);
  if (pipe == std::end(kPipes) || chip.empty()) return std::nullopt;
  const int lanes = chip.starts_with("TU")               ? pipe->lanesTuring
                    : chip == "GA100" || chip == "GV100" ? pipe->lanesGa100
                                                         : pipe->lanes;
  return lanes == 0 ? std::nullopt : std::optional{NamedCounter{pipe->role, 32.0 / lanes}};
}

void cut(std::string_view& text, std::string_view tail) {
  if (text.ends_with(tail)) text.remove_suffix(tail.size());
}

constexpr auto kNo = Role::count;
using enum MetricForm::Unit;
constexpr MetricForm kOccupancy[] = {{{Role::warpsActive, kNo}, {Role::smActive, kNo}, perWarpSlotPct}};
constexpr MetricForm kSmActive[] = {{{Role::smActive, kNo}, {Role::smElapsed, kNo}}};
constexpr MetricForm kDramRead[] = {{{Role::dramRead, kNo}, {kNo, kNo}, perLaunch}};
constexpr MetricForm kDramWrite[] = {{{Role::dramWrite, kNo}, {kNo, kNo}, perLaunch}};
constexpr MetricForm kDramRate[] = {{{Role::dramRead, Role::dramWrite}, {kNo, kNo}, perSecond}};
constexpr MetricForm kInstructions[] = {{{Role::instExecuted, kNo}, {kNo, kNo}, perLaunch}};
// Four schedulers an SM. Issued and executed differ by replays, below 1 % on chips since Volta.
constexpr MetricForm kIssue[] = {{{Role::instIssued, kNo}, {Role::smActive, kNo}, ratioPct, 0.25},
                                 {{Role::instExecuted, kNo}, {Role::smActive, kNo}, ratioPct, 0.25}};
constexpr MetricForm kTensor[] = {{{Role::tensorActive, kNo}, {Role::smActive, kNo}}};
constexpr MetricForm kFp32[] = {{{Role::fp32Active, kNo}, {Role::smActive, kNo}},
                                {{Role::fp32Heavy, Role::fp32Lite}, {Role::smActive, kNo}}};
constexpr MetricForm kFp64[] = {{{Role::fp64Active, kNo}, {Role::smActive, kNo}}};
constexpr MetricForm kInt[] = {{{Role::intActive, kNo}, {Role::smActive, kNo}}};
// A slice of the L2 takes three sectors (96 B) a cycle: lts__t_sectors.sum.peak_sustained of ncu is 282 on an
// H200, whose lts__cycles_elapsed.sum counts 94 slices.
constexpr MetricForm kL2[] = {{{Role::l2Sectors, kNo}, {Role::l2Elapsed, kNo}, ratioPct, 1.0 / 3}};
constexpr MetricForm kL2Hit[] = {{{Role::l2Hits, kNo}, {Role::l2Hits, Role::l2Misses}},
                                 {{Role::l2Hits, kNo}, {Role::l2Sectors, kNo}}};
// One wavefront a cycle and SM.
constexpr MetricForm kL1[] = {{{Role::l1Active, kNo}, {Role::smElapsed, kNo}}};
constexpr MetricForm kL1Hit[] = {{{Role::l1Hits, kNo}, {Role::l1Sectors, kNo}}};
constexpr MetricForm kPcie[] = {{{Role::pcieRead, Role::pcieWrite}, {kNo, kNo}, perSecond}};
constexpr MetricForm kNvlink[] = {{{Role::nvlinkReceived, Role::nvlinkSent}, {kNo, kNo}, perSecond}};

using K = KernelCounters;
constexpr MetricTable kTables[] = {
    {&K::occupancyPct, kOccupancy},
    {&K::smActivePct, kSmActive},
    {&K::dramReadBytes, kDramRead},
    {&K::dramWriteBytes, kDramWrite},
    {&K::dramBytesPerSec, kDramRate},
    {&K::instructions, kInstructions},
    {&K::issuePct, kIssue},
    {&K::tensorPct, kTensor},
    {&K::fp32Pct, kFp32},
    {&K::fp64Pct, kFp64},
    {&K::intPct, kInt},
    {&K::l2Pct, kL2},
    {&K::l2HitPct, kL2Hit},
    {&K::l1Pct, kL1},
    {&K::l1HitPct, kL1Hit},
    {&K::pcieBytesPerSec, kPcie},
    {&K::nvlinkBytesPerSec, kNvlink},
};

}  // namespace

std::optional<NamedCounter> counterOf(std::string_view metric, std::string_view chip) {
  // "TPC.TriageCompute.sm__inst_executed_realtime.sum" -> "sm__inst_executed"
  if (const auto group = metric.find("Triage"); group != std::string_view::npos) {
    if (const auto dot = metric.find('.', group); dot != std::string_view::npos)
      metric.remove_prefix(dot + 1);
    // Its warp counters did not reproduce ncu's occupancy.
    if (metric.starts_with("sm__warps_active") || metric.starts_with("tpc__warps_active"))
      return std::nullopt;
  }
  if (!metric.ends_with(".sum")) return std::nullopt;
  cut(metric, ".sum");
  cut(metric, "_realtime");
  const auto* known = std::ranges::find(kNames, metric, &Name::text);
  return known == std::end(kNames) ? pipeOf(metric, chip) : std::optional{known->counter};
}

RoleSet MetricForm::roles() const {
  RoleSet out;
  for (const auto& roles : {numerator, denominator}) {
    for (const Role r : roles) {
      if (r != Role::count) out.set(static_cast<std::size_t>(r));
    }
  }
  return out;
}

std::span<const MetricTable> metricTables() { return kTables; }

}  // namespace warpmeter::analyzer
