// SPDX-License-Identifier: Apache-2.0
#include "range_configs.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "warpmeter/wire/exact.h"

namespace warpmeter::sampler {
namespace {

constexpr std::string_view kCyclesActive = "sm__cycles_active.sum", kCyclesElapsed = "sm__cycles_elapsed.sum";

// What is worth measuring, best first; of several names the first that the chip has.
struct Wish {
  std::string_view names[2];  // the second may be empty
};

constexpr Wish kFirst[] = {{{kCyclesActive}},
                           {{"sm__warps_active.sum"}},
                           {{kCyclesElapsed}},
                           {{"sm__inst_executed.sum"}},
                           {{"dram__bytes_read.sum", "dram__bytes_op_read.sum"}},  // second: GB20x
                           {{"dram__bytes_write.sum", "dram__bytes_op_write.sum"}}};
// In this order three configurations hold them all on GH100.
constexpr Wish kBasic[] = {{{"sm__pipe_tensor_cycles_active.sum", "sm__inst_executed_pipe_tensor.sum"}},
                           {{"sm__pipe_fma_cycles_active.sum", "sm__inst_executed_pipe_fma.sum"}},
                           {{"sm__pipe_fp64_cycles_active.sum", "sm__inst_executed_pipe_fp64.sum"}},
                           {{"sm__issue_active.sum", "smsp__issue_active.sum"}},
                           {{"lts__t_sectors.sum"}},
                           {{"lts__t_sectors_lookup_hit.sum"}},
                           {{"l1tex__t_sectors.sum"}},
                           {{"l1tex__t_sectors_lookup_hit.sum"}},
                           {{"sm__pipe_alu_cycles_active.sum", "sm__inst_executed_pipe_alu.sum"}}};
constexpr Wish kFull[] = {
    {{"lts__t_sectors_op_read.sum"}},
    {{"lts__t_sectors_op_write.sum"}},
    {{"lts__t_requests.sum"}},
    {{"lts__cycles_active.sum"}},
    {{"l1tex__t_requests.sum"}},
    {{"l1tex__data_pipe_lsu_wavefronts.sum"}},
    {{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}},
    {{"l1tex__data_bank_conflicts_pipe_lsu.sum"}},
    {{"sm__inst_executed_pipe_fma.sum"}},
    {{"sm__inst_executed_pipe_alu.sum"}},
    {{"sm__inst_executed_pipe_fp64.sum"}},
    {{"sm__inst_executed_pipe_tensor.sum"}},
    {{"sm__inst_executed_pipe_fp16.sum"}},
    {{"sm__inst_executed_pipe_xu.sum"}},
    {{"sm__inst_executed_pipe_lsu.sum"}},
    {{"sm__inst_executed_pipe_uniform.sum"}},
    {{"smsp__thread_inst_executed.sum"}},
    {{"smsp__warps_eligible.sum"}},
    {{"sm__ctas_launched.sum"}},
    {{"smsp__issue_active.sum"}},
    {{"smsp__warps_issue_stalled_long_scoreboard.sum"}},
    {{"smsp__warps_issue_stalled_short_scoreboard.sum"}},
    {{"smsp__warps_issue_stalled_wait.sum"}},
    {{"smsp__warps_issue_stalled_barrier.sum"}},
    {{"smsp__warps_issue_stalled_lg_throttle.sum"}},
    {{"smsp__warps_issue_stalled_mio_throttle.sum"}},
    {{"smsp__warps_issue_stalled_math_pipe_throttle.sum"}},
    {{"smsp__warps_issue_stalled_not_selected.sum"}},
    {{"smsp__warps_issue_stalled_no_instruction.sum"}},
    {{"smsp__warps_issue_stalled_imc_miss.sum"}},
    {{"smsp__warps_issue_stalled_dispatch_stall.sum"}},
    {{"smsp__warps_issue_stalled_drain.sum"}},
    {{"smsp__warps_issue_stalled_membar.sum"}},
    {{"smsp__warps_issue_stalled_branch_resolving.sum"}},
    {{"smsp__warps_issue_stalled_sleeping.sum"}},
    {{"smsp__warps_issue_stalled_tex_throttle.sum"}},
    {{"smsp__warps_issue_stalled_gmma.sum"}},
    {{"smsp__warps_issue_stalled_misc.sum"}},
    {{"smsp__warps_issue_stalled_selected.sum"}},
};

// Each question costs about 5 ms, and a program may be waiting: kFirst is asked for as a whole first, and a
// set that has turned down several wishes in a row counts as full.
class Packing {
 public:
  Packing(PassCounter& passes, std::size_t most) : passes_(passes), most_(most) {}

  // All of kFirst in one configuration; false: the first two do not fit.
  bool begin() {
    Set& set = sets_.emplace_back();
    for (const std::size_t name : {0, 1}) {
      set.metrics.clear();
      for (const Wish& wish : kFirst)
        set.metrics.emplace_back(wish.names[wish.names[name].empty() ? 0 : name]);
      if (passes_.fitsOnePass(set.metrics)) return true;
    }
    set.metrics.clear();
    for (std::size_t i = 0; i < std::size(kFirst); ++i) {
      const bool placed = add(set, kFirst[i].names[0]) || add(set, kFirst[i].names[1]);
      if (!placed && i < 2) return false;
    }
    return true;
  }

  // The better name in any configuration, a new one included, comes before the other name.
  void place(const Wish& wish) {
    for (const std::string_view name : wish.names) {
      for (Set& set : sets_) {
        if (set.refused < kFull && add(set, name)) return;
      }
      if (!name.empty() && sets_.size() < most_ && open(name)) return;
    }
  }

  std::vector<std::vector<std::string>> take() {
    std::vector<std::vector<std::string>> result;
    for (Set& set : sets_) result.push_back(std::move(set.metrics));
    return result;
  }

 private:
  struct Set {
    std::vector<std::string> metrics;
    int refused = 0;
  };
  static constexpr int kFull = 5;
  static constexpr std::size_t kMostMetrics = 32;

  bool add(Set& set, std::string_view name) {
    if (name.empty() || set.metrics.size() >= kMostMetrics) return false;
    set.metrics.emplace_back(name);
    if (std::ranges::count(set.metrics, name) > 1 || passes_.fitsOnePass(set.metrics)) {
      if (std::ranges::count(set.metrics, name) > 1) set.metrics.pop_back();
      set.refused = 0;
      return true;
    }
    set.metrics.pop_back();
    ++set.refused;
    return false;
  }

  // Shares of a pipe need the active cycles of the same launch.
  bool open(std::string_view name) {
    for (const bool withCycles : {true, false}) {
      Set set;
      if (withCycles) set.metrics.emplace_back(kCyclesActive);
      if (!add(set, name)) continue;
      set.refused = 0;
      sets_.push_back(std::move(set));
      return true;
    }
    return false;
  }

  PassCounter& passes_;
  std::size_t most_;
  std::vector<Set> sets_;
};

}  // namespace

std::optional<MetricChoice> metricChoice(std::string_view text) {
  if (text == "basic") return MetricChoice::basic;
  if (text == "full") return MetricChoice::full;
  return std::nullopt;
}

std::vector<std::vector<std::string>> rangeConfigurations(MetricChoice choice, PassCounter& passes) {
  const bool full = choice == MetricChoice::full;
  Packing packing(passes, full ? wire::kMaxConfigurations : kBasicConfigurations);
  if (!packing.begin()) return {};
  for (const Wish& wish : kBasic) packing.place(wish);
  if (full) {
    for (const Wish& wish : kFull) packing.place(wish);
  }
  return packing.take();
}

}  // namespace warpmeter::sampler
