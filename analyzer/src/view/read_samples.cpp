// SPDX-License-Identifier: Apache-2.0
#include "src/view/read_samples.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "src/parallel.h"
#include "src/view/builder.h"

namespace warpmeter::analyzer {
namespace {

// What can have been counted: a sampler keeps no more than a double counts up to (2^53), and no counter is
// near 1e9 a nanosecond: operations of all tensor pipes of the largest GPU are 1e7.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 53, kMostPerNs = 1'000'000'000;
constexpr std::int64_t kAlwaysNs =
    kMostCounted / kMostPerNs;  // longer samples may hold all that can be counted

// Times of damaged files may be any: no difference and no sum may overflow.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t mostIn(std::int64_t ns) {
  return ns > kAlwaysNs ? kMostCounted : std::max<std::int64_t>(ns, 0) * kMostPerNs;
}

// The columns of a set. Room for what the file's rows promise; pages that nobody writes cost nothing.
struct Columns {
  std::size_t room = 0;
  std::unique_ptr<std::int64_t[]> start;
  std::unique_ptr<std::uint32_t[]> duration;
  std::vector<std::unique_ptr<float[]>> values;

  void allocate(std::size_t metrics) {
    start = std::make_unique_for_overwrite<std::int64_t[]>(room);
    duration = std::make_unique_for_overwrite<std::uint32_t[]>(room);
    for (std::size_t m = 0; m < metrics; ++m) values.push_back(std::make_unique_for_overwrite<float[]>(room));
  }
  void move(std::size_t from, std::size_t to, std::size_t samples) {
    const auto one = [&](auto& column) {
      std::copy_n(column.get() + from, samples, column.get() + to);  // to < from
    };
    one(start);
    one(duration);
    for (auto& v : values) one(v);
  }
};

// The samples of one set in some batches in a row: columns [first, first + size), with room for `room`.
struct Stretch {
  std::size_t first = 0, room = 0, size = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> overflow;  // as in Spans, counted from `first`
  std::int64_t lastEndNs = INT64_MIN;
  std::int64_t leftOut = 0;

  void add(const SampleBatch& batch, std::int64_t offsetNs, Columns& to, std::vector<std::int64_t>& most) {
    const std::size_t samples = batch.samples();
    if (samples > room - size) {  // another number than a moment ago: somebody changes the file
      leftOut += static_cast<std::int64_t>(samples);
      return;
    }
    markCountable(batch, most);
    std::size_t at = first + size;
    std::int64_t from = sum(batch.startNs, offsetNs);
    for (std::size_t i = 0; i < samples; ++i) {
      const std::int64_t end = sum(batch.endNs[i], offsetNs);
      const bool good =
          most[i] != kNever && from > -kLatestNs && end < kLatestNs && from >= lastEndNs && end > from;
      if (good) {
        const std::int64_t length = end - from;
        if (length >= Spans::kOverflow) overflow.emplace_back(static_cast<std::uint32_t>(at - first), length);
        to.start[at] = from;
        to.duration[at++] = static_cast<std::uint32_t>(std::min<std::int64_t>(length, Spans::kOverflow));
        lastEndNs = end;
      } else {
        most[i] = kNever;
      }
      from = end;
    }
    for (std::size_t m = 0; m < to.values.size(); ++m) {
      float* column = to.values[m].get() + first + size;
      for (std::size_t i = 0; i < samples; ++i) {
        *column = static_cast<float>(batch.values[m][i]);
        column += most[i] != kNever;  // the room is that of all
      }
    }
    leftOut += static_cast<std::int64_t>(samples - (at - first - size));
    size = at - first;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  // most[i]: what can have been counted in the time of sample i; kNever where a metric counted something
  // else.
  static void markCountable(const SampleBatch& batch, std::vector<std::int64_t>& most) {
    most.resize(batch.samples());
    std::int64_t from = batch.startNs;
    for (std::size_t i = 0; i < most.size(); ++i) {
      most[i] = mostIn(difference(batch.endNs[i], from));
      from = batch.endNs[i];
    }
    for (const std::vector<std::int64_t>& column : batch.values)
      for (std::size_t i = 0; i < most.size(); ++i)
        most[i] = column[i] < 0 || column[i] > most[i] ? kNever : most[i];
  }
};

// Of some batches in a row, of each set by its index in the list of sets.
struct Part {
  std::span<const SamplePlace> batches;
  std::vector<Stretch> stretches;
  std::optional<Error> error;
};

class Loader {
 public:
  Loader(const ProfileReader& reader, const std::vector<SampleSetInfo>& sets, std::int64_t offsetNs,
         const LoadOptions& options)
      : reader_(reader), sets_(sets), offsetNs_(offsetNs), options_(options), columns_(sets.size()) {}

  Result<ReadSeries> read(std::size_t samplesPerPart) {
    const auto places = reader_.samplePlaces();
    if (!places) return places.error();
    std::vector<Part> parts = partsOf(*places, samplesPerPart);
    for (std::size_t s = 0; s < sets_.size(); ++s) columns_[s].allocate(sets_[s].metrics.size());
    parallelFor(parts.size(), options_.threads, [&](std::size_t p) { readPart(parts[p]); });
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (p > 0 && !parts[p].error) follow(parts[p - 1], parts[p]);
      if (parts[p].error) return *parts[p].error;
    }
    return joined(parts);
  }

 private:
  std::size_t indexOf(std::int64_t setId) const {
    const auto at = std::ranges::lower_bound(sets_, setId, {}, &SampleSetInfo::setId);
    return static_cast<std::size_t>(at != sets_.end() && at->setId == setId ? at - sets_.begin()
                                                                            : std::ssize(sets_));
  }

  std::vector<Part> partsOf(std::span<const SamplePlace> places, std::size_t samplesPerPart) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < places.size();) {
      Part& part = parts.emplace_back();
      part.stretches.resize(sets_.size());
      for (std::size_t s = 0; s < sets_.size(); ++s) part.stretches[s].first = columns_[s].room;
      const std::size_t begin = i;
      for (std::size_t samples = 0; i < places.size() && samples < samplesPerPart; ++i) {
        samples += places[i].samples;
        const std::size_t s = indexOf(places[i].setId);
        if (s == sets_.size()) continue;
        part.stretches[s].room += places[i].samples;
        columns_[s].room += places[i].samples;
      }
      part.batches = places.subspan(begin, i - begin);
    }
    return parts;
  }

  void readPart(Part& part) {
    std::vector<std::int64_t> most;
    const auto visit = [&](const SampleBatch& batch) {
      const std::size_t s = indexOf(batch.setId);
      if (s < sets_.size() && batch.values.size() == sets_[s].metrics.size())
        part.stretches[s].add(batch, offsetNs_, columns_[s], most);
    };
    if (auto ok = reader_.readSamples(part.batches, visit, options_.stop); !ok) part.error = ok.error();
  }

  // What a part leaves out depends on where the one before it ended only if they overlap: a damaged file.
  void follow(const Part& before, Part& part) {
    bool overlap = false;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const Stretch& here = part.stretches[s];
      overlap = overlap || (here.size > 0 && columns_[s].start[here.first] < before.stretches[s].lastEndNs);
    }
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      Stretch& here = part.stretches[s];
      const std::int64_t lastEndNs = before.stretches[s].lastEndNs;
      if (overlap) here = Stretch{here.first, here.room, 0, {}, lastEndNs, 0};
      here.lastEndNs = std::max(here.lastEndNs, lastEndNs);
    }
    if (overlap) readPart(part);
  }

  ReadSeries joined(const std::vector<Part>& parts) {
    ReadSeries out;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      Columns& c = columns_[s];
      SampleSeries& to = out.series.emplace_back();
      std::size_t size = 0;
      for (const Part& part : parts) {
        const Stretch& from = part.stretches[s];
        if (from.first != size) c.move(from.first, size, from.size);
        for (const auto& [index, length] : from.overflow)
          to.overflow.emplace_back(static_cast<std::uint32_t>(size + index), length);
        size += from.size;
        out.leftOut += from.leftOut;
      }
      to.start = Column(std::move(c.start), c.room, size);
      to.duration = Column(std::move(c.duration), c.room, size);
      for (auto& values : c.values) to.values.emplace_back(std::move(values), c.room, size);
    }
    return out;
  }

  const ProfileReader& reader_;
  const std::vector<SampleSetInfo>& sets_;  // by setId
  std::int64_t offsetNs_;
  const LoadOptions& options_;
  std::vector<Columns> columns_;  // of each set
};

}  // namespace

Result<ReadSeries> readSeries(const ProfileReader& reader, const std::vector<SampleSetInfo>& sets,
                              std::int64_t offsetNs, const LoadOptions& options, std::size_t samplesPerPart) {
  return Loader(reader, sets, offsetNs, options).read(samplesPerPart);
}

}  // namespace warpmeter::analyzer
