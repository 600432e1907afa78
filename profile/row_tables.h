// SPDX-License-Identifier: Apache-2.0
// Which table and columns each row type of rows.h stands for. The columns are the members, in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "warpmeter/profile/info.h"
#include "warpmeter/profile/rows.h"

namespace warpmeter {

enum class Table : std::size_t {
  kernel,
  untimed,
  api,
  memcpy,
  memset,
  sync,
  cudaEvent,
  overhead,
  nvtx,
  memory,
  mark,
  loss,
  selfCost,
  stream,
  context,
  thread,
  graphNode,
  clock,
  latency,
  gpuMetric,
  count
};
inline constexpr std::size_t kTableCount = static_cast<std::size_t>(Table::count);

struct TableInfo {
  const char* name;                      // in the file
  std::span<const char* const> columns;  // one per member of the row
  const char* constantColumns = "";      // further columns that have the same value in every row, ...
  const char* constantValues = "";       // ... and their values; both start with a comma
};

const TableInfo& tableInfo(Table table);

// The table that append(span<const Row>) and read(Visit<Row>) mean. (WM_UNTIMED has KernelRow's columns.)
template <class Row>
inline constexpr Table kTableOf = Table::count;
template <>
inline constexpr Table kTableOf<KernelRow> = Table::kernel;
template <>
inline constexpr Table kTableOf<ApiRow> = Table::api;
template <>
inline constexpr Table kTableOf<MemcpyRow> = Table::memcpy;
template <>
inline constexpr Table kTableOf<MemsetRow> = Table::memset;
template <>
inline constexpr Table kTableOf<SyncRow> = Table::sync;
template <>
inline constexpr Table kTableOf<CudaEventRow> = Table::cudaEvent;
template <>
inline constexpr Table kTableOf<OverheadRow> = Table::overhead;
template <>
inline constexpr Table kTableOf<NvtxRow> = Table::nvtx;
template <>
inline constexpr Table kTableOf<MemoryRow> = Table::memory;
template <>
inline constexpr Table kTableOf<MarkRow> = Table::mark;
template <>
inline constexpr Table kTableOf<LossRow> = Table::loss;
template <>
inline constexpr Table kTableOf<SelfCostRow> = Table::selfCost;
template <>
inline constexpr Table kTableOf<StreamRow> = Table::stream;
template <>
inline constexpr Table kTableOf<ContextRow> = Table::context;
template <>
inline constexpr Table kTableOf<ThreadRow> = Table::thread;
template <>
inline constexpr Table kTableOf<GraphNodeRow> = Table::graphNode;
template <>
inline constexpr Table kTableOf<ClockRow> = Table::clock;
template <>
inline constexpr Table kTableOf<LatencyRow> = Table::latency;
template <>
inline constexpr Table kTableOf<GpuMetricRow> = Table::gpuMetric;

// Rows are moved as arrays of integers; row_tables.cpp checks that no row type has anything else in it.
template <class Row>
inline constexpr std::size_t kColumnsOf = sizeof(Row) / sizeof(std::int64_t);

}  // namespace warpmeter
