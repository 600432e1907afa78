// SPDX-License-Identifier: Apache-2.0
// What goes into a file comes out of it: every row type, NULLs, extreme values, every column.
#include <cstring>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/scratch.h"
#include "warpmeter/profile/reader.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter {
namespace {

using test::Scratch;

template <class Row>
std::vector<std::int64_t> asIntegers(const Row& row) {
  std::vector<std::int64_t> values(sizeof(Row) / sizeof(std::int64_t));
  std::memcpy(values.data(), &row, sizeof row);
  return values;
}

// A different number in every column of every row, so that two exchanged columns are seen.
template <class Row>
std::vector<Row> distinctRows(std::size_t count, std::int64_t seed) {
  std::vector<Row> rows(count);
  constexpr std::size_t kColumns = sizeof(Row) / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t values[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) {
      values[c] = seed + static_cast<std::int64_t>(i * 1000 + c);
    }
    std::memcpy(static_cast<void*>(&rows[i]), values, sizeof values);
  }
  return rows;
}

ProfileWriter createWriter(const std::filesystem::path& path, const SessionInfo& session = {}) {
  Result<ProfileWriter> writer = ProfileWriter::create(path, session);
  EXPECT_TRUE(writer) << writer.error().message;
  return std::move(writer).value();
}

ProfileReader openReader(const std::filesystem::path& path) {
  Result<ProfileReader> reader = ProfileReader::open(path);
  EXPECT_TRUE(reader) << reader.error().message;
  return std::move(reader).value();
}

template <class Row>
std::vector<Row> readAll(const ProfileReader& reader, RowRange range = {}) {
  std::vector<Row> result;
  const ProfileReader::Visit<Row> visit = [&](std::span<const Row> rows, std::span<const std::int64_t>) {
    result.insert(result.end(), rows.begin(), rows.end());
  };
  const Result<void> read = reader.read(range, visit);
  EXPECT_TRUE(read) << read.error().message;
  return result;
}

template <class Row>
void expectSame(const std::vector<Row>& written, const std::vector<Row>& read) {
  ASSERT_EQ(written.size(), read.size());
  for (std::size_t i = 0; i < written.size(); ++i) EXPECT_EQ(asIntegers(written[i]), asIntegers(read[i])) << i;
}

template <class Row>
class RoundTrip : public testing::Test {};

using ReadableRows = testing::Types<KernelRow, ApiRow, MemcpyRow, MemsetRow, SyncRow, CudaEventRow, OverheadRow,
                                    NvtxRow, MemoryRow, MarkRow>;
TYPED_TEST_SUITE(RoundTrip, ReadableRows);

TYPED_TEST(RoundTrip, EveryColumnComesBack) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a.wm.sqlite");
  const std::vector<TypeParam> rows = distinctRows<TypeParam>(5000, 7);
  ASSERT_TRUE(writer.append(std::span<const TypeParam>(rows)));
  ASSERT_TRUE(writer.commit());
  const ProfileReader reader = openReader(scratch / "a.wm.sqlite");
  expectSame(rows, readAll<TypeParam>(reader));
  EXPECT_EQ(reader.rowEnd<TypeParam>(), 5001);
}

}  // namespace
}  // namespace warpmeter
