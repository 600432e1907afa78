// SPDX-License-Identifier: Apache-2.0
#include "metric_wishes.h"

namespace warpmeter::sampler {
namespace {

constexpr Alternative kInstructions[] = {{{{"sm__inst_executed.sum"}}}};
constexpr Alternative kDramRead[] = {{{{"dram__bytes_read.sum"}}},
                                     {{{"dram__bytes_op_read.sum"}}}};  // second: GB20x
constexpr Alternative kDramWrite[] = {{{{"dram__bytes_write.sum"}}}, {{{"dram__bytes_op_write.sum"}}}};
constexpr Alternative kTensor[] = {{{{"sm__pipe_tensor_cycles_active.sum"}}},
                                   {{{"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum"}}},
                                   {{{"sm__inst_executed_pipe_tensor.sum"}}}};
// Beside the active cycles most chips cannot count the cycles of the FMA pipe as a whole.
constexpr Alternative kFma[] = {
    {{{"sm__pipe_fma_cycles_active.sum"}}},
    {{{"TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime.sum"}}},
    {{{"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.sum"}}},
    {{{"sm__pipe_fma_cycles_active_realtime.sum"}}},
    {{{"sm__inst_executed_pipe_fmaheavy.sum"}, {"sm__inst_executed_pipe_fmalite.sum"}}},
    {{{"SM_C.TriageSCG.smsp__inst_executed_pipe_fma.sum"}}}};
constexpr Alternative kFp64[] = {{{{"sm__pipe_fp64_cycles_active.sum"}}},
                                 {{{"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.sum"}}},
                                 {{{"sm__inst_executed_pipe_fp64.sum"}}}};
constexpr Alternative kInteger[] = {{{{"sm__pipe_alu_cycles_active.sum"}}},
                                    {{{"TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime.sum"}}},
                                    {{{"sm__inst_executed_pipe_alu.sum"}}}};
constexpr Alternative kIssue[] = {{{{"sm__issue_active.sum"}}}};
// Sectors, what one a cycle and slice would be, hits.
constexpr Alternative kL2[] = {
    {{{"lts__t_sectors.sum"}, {"lts__t_sectors_lookup_hit.sum"}, {"lts__cycles_elapsed.sum"}}},
    {{{"lts__t_sectors.sum"}, {"lts__t_sectors_lookup_hit_realtime.sum"}, {"lts__cycles_elapsed.sum"}}},
    {{{"lts__t_sectors.sum"},
      {"lts__t_sectors_lookup_hit.sum", "lts__average_t_sector_hit_rate_realtime.pct"},
      {"lts__cycles_elapsed.sum"}}},
    {{{"lts__t_sectors.sum"},
      {"lts__t_sectors_lookup_hit.sum", "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct"},
      {"lts__cycles_elapsed.sum"}}},
    {{{"lts__t_sectors.sum"}, {"lts__cycles_elapsed.sum"}}},
    {{{"lts__t_sectors.sum"}}}};
constexpr Alternative kL1[] = {{{{"l1tex__t_sectors.sum"}, {"l1tex__t_sectors_lookup_hit.sum"}}}};
constexpr Alternative kL1Data[] = {{{{"l1tex__data_pipe_lsu_wavefronts.sum"}}},
                                   {{{"SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts.sum"}}}};
constexpr Alternative kPcie[] = {
    {{{"pcie__read_bytes.sum"}, {"pcie__write_bytes.sum"}}},
    {{{"PCI.TriageCompute.pcie__read_bytes.sum"}, {"PCI.TriageCompute.pcie__write_bytes.sum"}}}};
constexpr Alternative kNvlink[] = {{{{"nvlrx__bytes.sum"}, {"nvltx__bytes.sum"}}}};

// Links are counted apart. On an H200 a set of PCIe counters, once read, left the sets beside it in its
// configuration without values until the session was opened again; counters of NVLink did so even to their
// own set, where no link was up.
constexpr Wish kWishes[] = {{"instructions", true, true, false, kInstructions},
                            {"DRAM reads", true, true, false, kDramRead},
                            {"DRAM writes", true, true, false, kDramWrite},
                            {"tensor pipe", false, true, false, kTensor},
                            {"FMA pipe", false, true, false, kFma},
                            {"FP64 pipe", false, true, false, kFp64},
                            {"integer pipe", false, true, false, kInteger},
                            {"L2", false, false, false, kL2},
                            {"L1 data", false, false, false, kL1Data},
                            {"issue slots", false, false, false, kIssue},
                            {"L1 hits", false, false, false, kL1},
                            {"PCIe", false, false, true, kPcie},
                            {kNvlinkWish, false, false, true, kNvlink}};

}  // namespace

std::span<const Wish> wishes() { return kWishes; }

}  // namespace warpmeter::sampler
