// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/profile_view.h"

#include <algorithm>
#include <numeric>

#include "src/view/builder.h"
#include "src/view/data.h"

namespace warpmeter::analyzer {
namespace {

using Data = ProfileView::Data;

template <class T>
std::size_t bytesOf(const Column<T>& column) {
  return column.size() * sizeof(T);
}
std::size_t bytesOf(const Spans& s) {
  return bytesOf(s.start) + bytesOf(s.duration) + s.overflow.size() * 16;
}

// Correlation ids rise with time on a thread, so that lanes need no index; where they do not, one is built.
void indexCorrelations(const Data& data) {
  data.correlations.resize(data.processes.size());
  for (std::uint32_t i = 0; i < data.threads.size(); ++i) {
    const ThreadLane& lane = data.threads[i];
    if (lane.api.empty()) continue;
    CorrelationLane entry{
        i, std::is_sorted(lane.api.correlationLow.begin(), lane.api.correlationLow.end()), {}};
    if (!entry.monotonic) {
      entry.order.resize(lane.api.size());
      std::iota(entry.order.begin(), entry.order.end(), 0u);
      std::ranges::stable_sort(entry.order, {}, [&](std::uint32_t k) { return lane.api.correlationLow[k]; });
    }
    data.correlations[lane.process].push_back(std::move(entry));
  }
}

}  // namespace

std::int64_t Spans::overflowNs(std::size_t i) const {
  const auto it = std::ranges::lower_bound(overflow, static_cast<std::uint32_t>(i), {},
                                           &std::pair<std::uint32_t, std::int64_t>::first);
  return it->second;
}

ProfileView::ProfileView(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

Result<ProfileView> ProfileView::load(std::vector<Reader> readers, const LoadOptions& options) {
  Builder builder(nullptr);
  if (auto ok = builder.openSources(readers); !ok) return ok.error();
  if (auto ok = builder.readTables(options.tables, options); !ok) return ok.error();
  return ProfileView(builder.finish());
}

Result<ProfileView> ProfileView::withTables(const LoadOptions& options) const {
  const auto missing =
      static_cast<Tables>(static_cast<unsigned>(options.tables) & ~static_cast<unsigned>(tables()));
  if (missing == Tables::none) return *this;
  std::vector<Reader> readers;
  for (const ViewSource& s : sources()) readers.push_back(s.reader);
  Builder builder(data_.get());
  if (auto ok = builder.openSources(readers); !ok) return ok.error();
  if (auto ok = builder.readTables(missing, options); !ok) return ok.error();
  return ProfileView(builder.finish());
}

Result<ProfileView> ProfileView::append(const LoadOptions& options) const {
  // A reader keeps the strings it has read; a fresh one sees those that came since.
  std::vector<Reader> readers;
  for (const ViewSource& s : sources()) {
    auto reader = ProfileReader::open(s.reader->path());
    if (!reader) return reader.error();
    readers.push_back(std::make_shared<const ProfileReader>(std::move(*reader)));
  }
  Builder builder(data_.get());
  if (auto ok = builder.openSources(readers); !ok) return ok.error();
  if (auto ok = builder.readTables(tables(), options); !ok) return ok.error();
  return ProfileView(builder.finish());
}

Tables ProfileView::tables() const { return data_->tables; }
std::span<const ViewSource> ProfileView::sources() const { return data_->sources; }
std::span<const ViewProcess> ProfileView::processes() const { return data_->processes; }
std::span<const ViewGpu> ProfileView::gpus() const { return data_->gpus; }
std::span<const StreamLane> ProfileView::streams() const { return data_->streams; }
std::span<const ThreadLane> ProfileView::threads() const { return data_->threads; }
std::span<const KernelFunction> ProfileView::functions() const { return data_->functions; }
std::span<const LaunchConfig> ProfileView::configs() const { return data_->configs; }
std::span<const DistinctKernel> ProfileView::distinctKernels() const { return data_->distinct; }
std::span<const UntimedLaunch> ProfileView::untimed() const { return data_->untimed; }
std::span<const ViewMark> ProfileView::marks() const { return data_->marks; }
std::span<const ViewOverhead> ProfileView::overheads() const { return data_->overheads; }
std::span<const LossInfo> ProfileView::losses() const { return data_->losses; }
std::span<const SelfCostInfo> ProfileView::selfCosts() const { return data_->selfCosts; }
std::span<const SampleSeries> ProfileView::samples() const { return data_->samples; }
std::span<const ViewRanged> ProfileView::ranged() const { return data_->ranged; }
std::span<const ViewPc> ProfileView::pcSamples() const { return data_->pcSamples; }
std::span<const NameId> ProfileView::domains() const { return data_->domains; }
std::string_view ProfileView::name(NameId id) const { return data_->names.text(id); }
NameId ProfileView::findName(std::string_view text) const { return data_->names.find(text); }
ProfileView::TimeRange ProfileView::range() const { return data_->range; }

std::size_t ProfileView::kernelCount() const {
  std::size_t out = 0;
  for (const StreamLane& lane : streams()) out += lane.kernels.size();
  return out;
}

std::size_t ProfileView::columnBytes() const {
  std::size_t out = 0;
  for (const StreamLane& l : streams()) {
    const Kernels& k = l.kernels;
    out += bytesOf(static_cast<const Spans&>(k)) + bytesOf(k.config) + bytesOf(k.rowid) +
           bytesOf(k.correlation) + bytesOf(k.graphNode);
    const Copies& c = l.copies;
    out += bytesOf(static_cast<const Spans&>(c)) + bytesOf(c.bytes) + bytesOf(c.kind) + bytesOf(c.source) +
           bytesOf(c.destination) + bytesOf(c.rowid) + bytesOf(c.correlation);
  }
  for (const ThreadLane& l : threads()) {
    const ApiCalls& a = l.api;
    out += bytesOf(static_cast<const Spans&>(a)) + bytesOf(a.name) + bytesOf(a.correlationLow) +
           bytesOf(a.flags);
    const NvtxRanges& n = l.nvtx;
    out += bytesOf(static_cast<const Spans&>(n)) + bytesOf(n.text) + bytesOf(n.color) + bytesOf(n.domain) +
           bytesOf(n.kind) + bytesOf(n.depth) + bytesOf(n.rowid);
  }
  for (const SampleSeries& s : samples()) {
    out += bytesOf(static_cast<const Spans&>(s));
    for (const Column<float>& v : s.values) out += bytesOf(v);
  }
  return out;
}

ProfileView::ApiRef ProfileView::apiCall(std::uint32_t process, std::int64_t correlation) const {
  if (correlation == 0 || process >= data_->processes.size()) return {};
  std::call_once(data_->correlationOnce, [&] { indexCorrelations(*data_); });
  const auto low = static_cast<std::uint32_t>(correlation);
  for (const CorrelationLane& entry : data_->correlations[process]) {
    const ApiCalls& api = data_->threads[entry.lane].api;
    if (api.correlationHigh != (correlation & ~std::int64_t{0xffffffff})) continue;
    if (entry.monotonic) {
      const auto ids = api.correlationLow.span();
      const auto it = std::ranges::lower_bound(ids, low);
      if (it != ids.end() && *it == low) return {entry.lane, static_cast<std::uint32_t>(it - ids.begin())};
    } else {
      const auto it = std::ranges::lower_bound(entry.order, low, {},
                                               [&](std::uint32_t k) { return api.correlationLow[k]; });
      if (it != entry.order.end() && api.correlationLow[*it] == low) return {entry.lane, *it};
    }
  }
  return {};
}

}  // namespace warpmeter::analyzer
