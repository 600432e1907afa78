// SPDX-License-Identifier: Apache-2.0
// The closed lists of ids that reports, JSON, budgets, rules and docs use. An id never changes its meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace warpmeter::analyzer {

struct NamedText {
  std::string_view id;    // in JSON, budgets and rules
  std::string_view text;  // for people
};

enum class Bound : std::uint8_t {
  dram,
  l2,
  l1,
  fp32,
  fp64,
  integer,
  tensor,
  issue,
  latency,
  launch,
  notMeasured
};
inline constexpr std::array<NamedText, 11> kBounds{{{"dram", "DRAM"},
                                                    {"l2", "L2 cache"},
                                                    {"l1", "L1 cache"},
                                                    {"fp32", "FP32"},
                                                    {"fp64", "FP64"},
                                                    {"int", "integer"},
                                                    {"tensor", "tensor"},
                                                    {"issue", "issue"},
                                                    {"latency", "latency"},
                                                    {"launch", "launch"},
                                                    {"not_measured", "not measured"}}};

enum class Limiter : std::uint8_t { warps, registers, sharedMemory, blocks, barriers, cluster, grid };
inline constexpr std::array<NamedText, 7> kLimiters{{{"warps", "warps"},
                                                     {"registers", "registers"},
                                                     {"shared_memory", "shared mem"},
                                                     {"blocks", "blocks"},
                                                     {"barriers", "barriers"},
                                                     {"cluster", "cluster"},
                                                     {"grid", "grid"}}};

enum class Provenance : std::uint8_t { sampledExclusive, sampledFit, ranged, imported, computed, pcSampled };
inline constexpr std::array<NamedText, 6> kProvenances{{{"sampled_exclusive", "sampled while it ran alone"},
                                                        {"sampled_fit", "fitted to samples"},
                                                        {"ranged", "measured launch by launch"},
                                                        {"imported", "imported"},
                                                        {"computed", "computed"},
                                                        {"pc_sampled", "instructions sampled"}}};

enum class Reason : std::uint8_t {
  noPermission,
  countersBusy,
  unsupportedChip,
  gpuShared,
  tooFewSamples,
  neverAlone,
  notRequested,
  notRecorded
};
inline constexpr std::array<NamedText, 8> kReasons{
    {{"no_permission", "the counters are not permitted for this user"},
     {"counters_busy", "another tool holds the counters"},
     {"unsupported_chip", "this chip is not supported"},
     {"gpu_shared", "other processes used the GPU"},
     {"too_few_samples", "too few samples"},
     {"never_alone", "it never ran alone"},
     {"not_requested", "it was not asked for"},
     {"not_recorded", "the recording does not hold it"}}};

enum class FindingId : std::uint8_t {
  occupancyBlockSize,
  occupancyGridTooSmall,
  occupancyTail,
  boundMemory,
  boundLatency,
  tensorIdle,
  precisionFp64,
  streamSerialized,
  streamDefaultBarrier,
  copyPageable,
  copyTiny,
  copySync,
  hostSync,
  gapHost,
  gapLaunch,
  gapDescheduled,
  coldContext,
  coldModule,
  coldJit,
  coldLazy,
  coldAutotune,
  graphCandidate,
  graphReinstantiate,
  fusionCandidate,
  umMigration,
  multiTimeSlicing,
  multiImbalance,
  commExposed,
  qualityIncomplete,
  qualityUntimed,
  qualityUnknownLoss,
};
inline constexpr std::array<NamedText, 31> kFindings{
    {{"occupancy.block-size", "another block size gives more occupancy"},
     {"occupancy.grid-too-small", "the grid leaves multiprocessors empty"},
     {"occupancy.tail", "the last wave leaves multiprocessors empty"},
     {"bound.memory", "bound by memory"},
     {"bound.latency", "bound by latency"},
     {"tensor.idle", "tensor cores idle"},
     {"precision.fp64", "double precision"},
     {"stream.serialized", "streams run one after the other"},
     {"stream.default-barrier", "the default stream holds the others back"},
     {"copy.pageable", "copies from or to pageable memory"},
     {"copy.tiny", "many tiny copies"},
     {"copy.sync", "synchronous copies"},
     {"host.sync", "the host waits for the GPU"},
     {"gap.host", "the GPU waits for host code"},
     {"gap.launch", "the GPU waits for launches"},
     {"gap.descheduled", "the launching thread was not scheduled"},
     {"cold.context", "creating the context takes long"},
     {"cold.module", "loading modules takes long"},
     {"cold.jit", "PTX is compiled at run time"},
     {"cold.lazy", "functions are loaded at their first launch"},
     {"cold.autotune", "libraries tune themselves at the start"},
     {"graph.candidate", "the same launches repeat: capture a CUDA graph"},
     {"graph.reinstantiate", "a graph is instantiated again and again"},
     {"fusion.candidate", "short kernels that could be fused"},
     {"um.migration", "unified memory migrates"},
     {"multi.time-slicing", "processes share the GPU by time slices"},
     {"multi.imbalance", "GPUs are loaded unevenly"},
     {"comm.exposed", "communication is not hidden"},
     {"quality.incomplete", "the recording is not complete"},
     {"quality.untimed", "launches without times"},
     {"quality.unknown-loss", "a loss of unknown size"}}};

constexpr const NamedText& named(Bound v) { return kBounds[static_cast<std::size_t>(v)]; }
constexpr const NamedText& named(Limiter v) { return kLimiters[static_cast<std::size_t>(v)]; }
constexpr const NamedText& named(Provenance v) { return kProvenances[static_cast<std::size_t>(v)]; }
constexpr const NamedText& named(Reason v) { return kReasons[static_cast<std::size_t>(v)]; }
constexpr const NamedText& named(FindingId v) { return kFindings[static_cast<std::size_t>(v)]; }

// nullopt when the id is not in the list.
std::optional<Reason> reasonFromId(std::string_view id);
std::optional<FindingId> findingFromId(std::string_view id);

}  // namespace warpmeter::analyzer
