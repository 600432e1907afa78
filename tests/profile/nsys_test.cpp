// SPDX-License-Identifier: Apache-2.0
// nsys exports of all ages: columns found by name, absent ones NULL. The public files lie beside the
// checkout; the shapes that matter are also made by hand here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <thread>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;

std::filesystem::path dataFile(const std::string& name) {
  return std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / name;
}

std::int64_t totalNs(const std::vector<KernelRow>& kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), std::int64_t{0},
                         [](std::int64_t sum, const KernelRow& k) { return sum + k.end - k.start; });
}

struct Expected {
  const char* file;
  std::size_t kernels;
  std::int64_t ns;
  const char* schema;
  std::size_t gpus, processes, contexts;
};

class RealExport : public testing::TestWithParam<Expected> {};

TEST_P(RealExport, TotalsAreThePublishedOnes) {
  const Expected& expected = GetParam();
  if (!std::filesystem::exists(dataFile(expected.file))) {
    GTEST_SKIP() << "no " << expected.file << " beside the checkout";
  }
  const ProfileReader reader = openReader(dataFile(expected.file));
  EXPECT_EQ(reader.kind(), FileKind::nsys);
  EXPECT_EQ(reader.schemaVersion(), expected.schema);
  EXPECT_FALSE(reader.unfinished());
  const std::vector<KernelRow> kernels = readAll<KernelRow>(reader);
  EXPECT_EQ(kernels.size(), expected.kernels);
  EXPECT_EQ(totalNs(kernels), expected.ns);
  EXPECT_EQ(valueOf(reader.gpus()).size(), expected.gpus);
  EXPECT_EQ(valueOf(reader.processes()).size(), expected.processes);
  EXPECT_EQ(valueOf(reader.contexts()).size(), expected.contexts);
  // Every name that a row refers to is there.
  std::set<std::int64_t> ids;
  for (const StringEntry& entry : valueOf(reader.strings())) ids.insert(entry.id);
  for (const KernelRow& k : kernels) ASSERT_TRUE(ids.contains(k.shortName) && ids.contains(k.demangledName));
  for (const NvtxRow& n : readAll<NvtxRow>(reader)) ASSERT_TRUE(isNull(n.textId) || ids.contains(n.textId));
  for (const ApiRow& a : readAll<ApiRow>(reader)) ASSERT_TRUE(ids.contains(a.nameId));
}

INSTANTIATE_TEST_SUITE_P(
    Nsys, RealExport,
    testing::Values(Expected{"h100_2gpu_1s.sqlite", 3442, 44829522, "3.25.0", 0, 2, 0},
                    Expected{"a100_cloverleaf.sqlite", 1312, 294404540, "3.13.2", 4, 1, 1},
                    Expected{"rtx4060ti_streams.sqlite", 4, 536542, "3.24.14", 1, 1, 1},
                    Expected{"unversioned_2021.sqlite", 12, 6128761, "unversioned", 1, 1, 1}),
    [](const auto& each) {
      const std::string name = each.param.file;
      return name.substr(0, name.find('.'));
    });

TEST(RealExportDetails, WhatTheOldFileLacksIsNull) {
  if (!std::filesystem::exists(dataFile("unversioned_2021.sqlite"))) {
    GTEST_SKIP() << "no unversioned_2021.sqlite beside the checkout";
  }
  const ProfileReader reader = openReader(dataFile("unversioned_2021.sqlite"));
  const KernelRow kernel = readAll<KernelRow>(reader).front();
  EXPECT_TRUE(isNull(kernel.mangledName));
  EXPECT_TRUE(isNull(kernel.clusterX));
  EXPECT_FALSE(isNull(kernel.shortName));
  const GpuInfo gpu = valueOf(reader.gpus()).front();
  EXPECT_EQ(gpu.smCount, 72);
  EXPECT_EQ(gpu.computeMajor, 7);
  EXPECT_EQ(gpu.computeMinor, 5);
  EXPECT_TRUE(isNull(gpu.maxBlocksPerSm));  // 0 in the file
  EXPECT_EQ(gpu.uuid, "");                  // zeros in the file
  EXPECT_TRUE(isNull(valueOf(reader.session()).utcEpochNs));
}

TEST(RealExportDetails, GpusKeepTheirOwnIds) {
  if (!std::filesystem::exists(dataFile("a100_cloverleaf.sqlite"))) {
    GTEST_SKIP() << "no a100_cloverleaf.sqlite beside the checkout";
  }
  const std::vector<GpuInfo> gpus = valueOf(openReader(dataFile("a100_cloverleaf.sqlite")).gpus());
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[0].id, 0);
  EXPECT_EQ(gpus[0].cuDevice, 3);
  EXPECT_EQ(gpus[0].maxShmemPerBlockOptin, 166912);
}

TEST(RealExportDetails, NvtxTextsWithoutIdsGetNegativeOnes) {
  if (!std::filesystem::exists(dataFile("h100_2gpu_1s.sqlite"))) {
    GTEST_SKIP() << "no h100_2gpu_1s.sqlite beside the checkout";
  }
  const ProfileReader reader = openReader(dataFile("h100_2gpu_1s.sqlite"));
  std::map<std::int64_t, std::string> texts;
  for (const StringEntry& entry : valueOf(reader.strings())) texts[entry.id] = entry.text;
  RawDb db(dataFile("h100_2gpu_1s.sqlite"), SQLITE_OPEN_READONLY);
  const std::vector<std::string> expected = db.rows("SELECT text FROM NVTX_EVENTS ORDER BY rowid");
  const std::vector<NvtxRow> rows = readAll<NvtxRow>(reader);
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_LT(rows[i].textId, 0);
    ASSERT_EQ(texts[rows[i].textId], expected[i]);
  }
}

TEST(MadeExport, ShortNameAloneAndOldMetadataAreEnough) {
  const Scratch scratch;
  RawDb(scratch / "old.sqlite")
      .exec(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (shortName INTEGER, streamId INTEGER, deviceId INTEGER, "
          "end INTEGER, "
          "start INTEGER, somethingNew TEXT);"
          "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, deviceId INTEGER, name TEXT, busLocation TEXT);"
          "CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, smCount INTEGER);"
          "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.9.1');"
          "INSERT INTO StringIds VALUES (9, 'saxpy');"
          "INSERT INTO TARGET_INFO_GPU VALUES (0, 2, 'Old GPU', '');"
          "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (2, 80);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9, 7, 2, 150, 100, 'x')");
  const ProfileReader reader = openReader(scratch / "old.sqlite");
  EXPECT_EQ(reader.schemaVersion(), "2.9.1");
  const KernelRow kernel = readAll<KernelRow>(reader).at(0);
  EXPECT_EQ(kernel.start, 100);
  EXPECT_EQ(kernel.end, 150);
  EXPECT_EQ(kernel.deviceId, 2);
  EXPECT_EQ(kernel.streamId, 7);
  EXPECT_EQ(kernel.shortName, 9);
  EXPECT_TRUE(isNull(kernel.demangledName));
  EXPECT_TRUE(isNull(kernel.gridX));
  const GpuInfo gpu = valueOf(reader.gpus()).at(0);
  EXPECT_EQ(gpu.id, 2);
  EXPECT_EQ(gpu.name, "Old GPU");
  EXPECT_EQ(gpu.smCount, 80);
  EXPECT_TRUE(readAll<NvtxRow>(reader).empty());
  EXPECT_TRUE(valueOf(reader.losses()).empty());
  EXPECT_EQ(reader.rowEnd<MarkRow>(), 0);
}

TEST(MadeExport, SameTextSameIdAndTextIdWins) {
  const Scratch scratch;
  RawDb(scratch / "n.sqlite")
      .exec(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (3, "
          "'registered');"
          "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId "
          "INTEGER);"
          "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'step', NULL), (2, 3, 59, 'other', NULL), (3, 4, 59, "
          "'step', NULL),"
          "(4, 5, 59, NULL, 3), (5, 6, 59, 'both', 3), (6, NULL, 34, NULL, NULL)");
  const std::vector<NvtxRow> rows = readAll<NvtxRow>(openReader(scratch / "n.sqlite"));
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].textId, -1);
  EXPECT_EQ(rows[1].textId, -2);
  EXPECT_EQ(rows[2].textId, -1);
  EXPECT_EQ(rows[3].textId, 3);
  EXPECT_EQ(rows[4].textId, 3);
  EXPECT_TRUE(isNull(rows[5].textId));
  EXPECT_TRUE(isNull(rows[5].end));
}

TEST(MadeExport, SeveralThreadsReadAtOnce) {
  const Scratch scratch;
  {
    ProfileWriter writer = createWriter(scratch / "a");
    std::vector<KernelRow> rows;
    for (std::int64_t i = 0; i < 40'000; ++i) rows.push_back(launch(i, i + 1));
    require(writer.append(std::span<const KernelRow>(rows)));
    require(writer.commit());
  }
  const ProfileReader reader = openReader(scratch / "a");
  std::atomic<std::int64_t> sum{0};
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (const KernelRow& k : readAll<KernelRow>(reader, {t * 5000 + 1, (t + 1) * 5000 + 1}))
          sum += k.start;
      });
    }
  }
  EXPECT_EQ(sum, std::int64_t{40'000} * 39'999 / 2);
}

}  // namespace
}  // namespace warpmeter
