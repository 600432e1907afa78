// SPDX-License-Identifier: Apache-2.0
#include "pc_samples.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t signedOf(std::uint64_t n) {
  return n > std::uint64_t{1} << 62 ? std::int64_t{1} << 62 : static_cast<std::int64_t>(n);
}

std::string bounded(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

// The closed list of analyzer/names.h, as far as a guest may give a reason.
std::string reasonIn(const wire::PcBatchRecord& record) {
  const std::string reason = bounded(record.reason, sizeof record.reason);
  for (const char* id : {"no_permission", "counters_busy", "unsupported_chip"}) {
    if (reason == id) return reason;
  }
  return "not_recorded";
}

bool writeAll(int fd, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

int openNameless(const std::string& path, const char* name) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd >= 0 ? fd : memfd_create(name, MFD_CLOEXEC);
}

struct Closer {
  int fd;
  ~Closer() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

std::size_t PcIntake::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.crc ^ key.offset * 0x9e3779b97f4a7c15u;
  hash ^= (std::uint64_t{key.function} << 32 | key.reason) * 0xc2b2ae3d27d4eb4fu;
  return static_cast<std::size_t>(hash ^ hash >> 29);
}

PcIntake::~PcIntake() {
  if (spool_ >= 0) close(spool_);
}

bool PcIntake::openSpool() {
  if (spool_ < 0) spool_ = openNameless(spoolPath_, "warpmeter-images");
  return spool_ >= 0;
}

std::uint32_t PcIntake::textOf(ProcessContext& context, Process& process, std::uint64_t reference) {
  const auto known = process.texts.find(reference);
  if (known != process.texts.end()) return known->second;
  std::string text = reference == wire::kNameLost ? std::string() : context.text(reference);
  if (text.empty()) text = "(name lost)";
  const auto [at, fresh] = places_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) {
    texts_.push_back(text);
    isFunction_.push_back(false);
  }
  process.texts[reference] = at->second;
  return at->second;
}

bool PcIntake::takeBatch(ProcessContext& context, std::span<const std::byte> bytes, bool stored) {
  wire::PcBatchRecord record{};
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.entries > (bytes.size() - sizeof record) / sizeof(wire::PcEntry)) return false;
  const std::int64_t at = context.ownTime(record.header.t);
  Process& process = processes_[context.globalPid().value];
  Costs& costs = process.costs;
  costs.setupNs += signedOf(record.setupNs);
  costs.setups += record.setups;
  costs.flushNs += signedOf(record.flushNs);
  costs.flushes += record.flushes;
  costs.readNs += signedOf(record.readNs);
  costs.reads += record.reads;
  costs.names += record.names;
  if (record.state == static_cast<std::uint32_t>(wire::PcState::failed)) {
    totals_.reason = reasonIn(record);
    totals_.text = bounded(record.text, sizeof record.text);
  }
  context.countLoss(loss::kPcSamples, "contexts beside the first one of their GPU were not sampled",
                    record.refusedContexts, at);
  context.countLoss(loss::kPcLines, "code with line information found no room", record.imagesLost, at);
  if (!stored) return true;

  context.countLoss(loss::kPcSamples, "the hardware dropped samples of instructions",
                    signedOf(record.dropped), at);
  context.countLoss(loss::kPcSamples, "samples of instructions found no buffer", signedOf(record.lost), at);
  if (record.bufferFull > 0) {
    context.countLoss(loss::kPcSamples,
                      "the hardware's buffer of samples was full: record with a longer --pc-period", kNull,
                      at);
  }
  if (record.chip[0] != 0) {
    PcRun& run = process.runs[record.deviceId];
    run.globalPid = context.globalPid().value;
    run.deviceId = record.deviceId;
    run.chip = bounded(record.chip, sizeof record.chip);
    if (record.periodLog2 != 0 && record.periodLog2 <= wire::kPcMostPeriod)
      run.periodCycles = std::int64_t{1} << record.periodLog2;
    run.samples += signedOf(record.samples);
    run.otherKernels += signedOf(record.otherKernels);
    run.dropped += signedOf(record.dropped);
    if (isNull(totals_.periodCycles)) totals_.periodCycles = run.periodCycles;
    totals_.samples += signedOf(record.samples);
    totals_.otherKernels += signedOf(record.otherKernels);
    totals_.dropped += signedOf(record.dropped);
  }
  std::int64_t beyond = 0;
  for (std::uint32_t i = 0; i < record.entries; ++i) {
    wire::PcEntry entry{};
    std::memcpy(&entry, bytes.data() + sizeof record + i * sizeof entry, sizeof entry);
    const Key key{entry.cubinCrc, entry.pcOffset, textOf(context, process, entry.function),
                  textOf(context, process, wire::kStringBit | entry.reason)};
    const auto known = process.samples.find(key);
    if (known == process.samples.end() && instructions_ >= kMaxInstructions) {
      if (!wire::countsAgain(texts_[key.reason])) beyond += entry.samples;
      continue;
    }
    if (known == process.samples.end()) {
      process.samples[key] = entry.samples;
      ++instructions_;
    } else {
      known->second += entry.samples;
    }
    if (!wire::countsAgain(texts_[key.reason])) totals_.inInstructions += entry.samples;
    if (!isFunction_[key.function]) ++totals_.functions;
    isFunction_[key.function] = true;
  }
  context.countLoss(loss::kPcSamples, "samples of more instructions than the recorder keeps", beyond, at);
  return true;
}

bool PcIntake::takeImage(ProcessContext& context, std::span<const std::byte> bytes) {
  wire::CubinRecord record{};
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.bytes > bytes.size() - sizeof record || record.totalBytes == 0 ||
      record.totalBytes > wire::kMaxCubinBytes || record.offset > record.totalBytes ||
      record.bytes > record.totalBytes - record.offset) {
    return false;
  }
  Image& image = images_[record.crc];
  if (image.complete() || (image.total != 0 && image.owner != context.globalPid().value))
    return true;  // of another process
  if (image.total == 0) {
    if (record.offset != 0) return true;  // its beginning was lost
    if (spooled_ + record.totalBytes > kMaxImageBytes || !openSpool()) {
      context.countLoss(loss::kPcLines, "code with line information found no room", 1);
      return true;
    }
    image = {context.globalPid().value, record.totalBytes, 0, signedOf(spooled_)};
    spooled_ += record.totalBytes;
  }
  if (record.offset != image.received) return true;
  const auto* piece = bytes.data() + sizeof record;
  for (std::uint64_t done = 0; done < record.bytes;) {
    const ssize_t n =
        pwrite(spool_, piece + done, record.bytes - done, image.at + signedOf(image.received + done));
    if (n <= 0) {
      context.countLoss(loss::kPcLines, "code with line information could not be kept", 1);
      return true;  // stays incomplete
    }
    done += static_cast<std::uint64_t>(n);
  }
  image.received += record.bytes;
  return true;
}

// keys: of one image.
bool PcIntake::writeRequest(int fd, std::uint64_t crc, std::span<const Key> keys) {
  const Image& image = images_.at(crc);
  std::string names;
  std::map<std::uint32_t, std::uint32_t> placeOf;
  std::vector<wire::LineQuery> queries;
  for (const Key& key : keys) {
    const auto [at, fresh] = placeOf.try_emplace(key.function, static_cast<std::uint32_t>(names.size()));
    if (fresh) names.append(texts_[key.function].c_str(), texts_[key.function].size() + 1);
    queries.push_back({key.offset, at->second, 0});
  }
  const wire::LineRequest request{wire::kLineRequestMagic, static_cast<std::uint32_t>(queries.size()),
                                  names.size(), image.total, crc};
  std::vector<char> bytes(image.total);
  if (pread(spool_, bytes.data(), bytes.size(), image.at) != static_cast<ssize_t>(bytes.size())) return false;
  return writeAll(fd, &request, sizeof request) && writeAll(fd, names.data(), names.size()) &&
         writeAll(fd, queries.data(), queries.size() * sizeof(wire::LineQuery)) &&
         writeAll(fd, bytes.data(), bytes.size());
}

std::string PcIntake::findLines(const Process& process, const LookUp& lookUp, Lines& lines) {
  std::map<std::uint64_t, std::vector<Key>> byImage;
  for (const auto& [key, samples] : process.samples) {
    const auto image = images_.find(key.crc);
    if (image != images_.end() && image->second.complete())
      byImage[key.crc].push_back({key.crc, key.offset, key.function, 0});
  }
  if (byImage.empty()) return {};
  const Closer file{openNameless(spoolPath_, "warpmeter-lines")};
  if (file.fd < 0) return "no file for looking up source lines";
  for (auto& [crc, keys] : byImage) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (keys.size() > wire::kMaxLineQueries || !writeRequest(file.fd, crc, keys))
      return "images of code could not be read back";
  }
  lseek(file.fd, 0, SEEK_SET);
  const auto output = lookUp(file.fd);
  if (!output) return output.error().message;
  std::span<const std::byte> left(*output);
  while (left.size() >= sizeof(wire::LineReply)) {
    wire::LineReply reply{};
    std::memcpy(&reply, left.data(), sizeof reply);
    left = left.subspan(sizeof reply);
    const auto asked = byImage.find(reply.tag);
    const std::size_t answerBytes = std::size_t{reply.answers} * sizeof(wire::LineAnswer);
    if (reply.magic != wire::kLineReplyMagic || asked == byImage.end() ||
        reply.answers != asked->second.size() || answerBytes > left.size() || reply.textBytes == 0 ||
        reply.textBytes > left.size() - answerBytes) {
      return "the answer about source lines is damaged";
    }
    const std::string texts(reinterpret_cast<const char*>(left.data() + answerBytes), reply.textBytes);
    for (std::uint32_t i = 0; i < reply.answers; ++i) {
      wire::LineAnswer answer{};
      std::memcpy(&answer, left.data() + i * sizeof answer, sizeof answer);
      if (answer.line == 0 || answer.file >= texts.size()) continue;
      const Key& key = asked->second[i];
      lines[{key.crc, key.function, key.offset}] = {std::string(texts.c_str() + answer.file), answer.line};
    }
    left = left.subspan(answerBytes + reply.textBytes);
  }
  return {};
}

PcIntake::Rows PcIntake::takeRows(std::int64_t globalPid, const LookUp& lookUp) {
  Rows rows;
  const auto at = processes_.find(globalPid);
  if (at == processes_.end()) return rows;
  Process& process = at->second;
  Lines lines;
  rows.problem = findLines(process, lookUp, lines);
  std::vector<std::pair<Key, std::int64_t>> all(process.samples.begin(), process.samples.end());
  std::sort(all.begin(), all.end());
  for (const auto& [key, samples] : all) {
    PcSamples row{globalPid, texts_[key.function], signedOf(key.offset), texts_[key.reason], samples, "",
                  kNull};
    if (const auto line = lines.find({key.crc, key.function, key.offset}); line != lines.end()) {
      std::tie(row.file, row.line) = line->second;
      ++totals_.lines;
    }
    rows.samples.push_back(std::move(row));
  }
  for (const auto& [device, run] : process.runs) rows.runs.push_back(run);
  instructions_ -= process.samples.size();
  process.samples.clear();
  process.runs.clear();
  return rows;
}

PcIntake::Totals PcIntake::totals() const { return totals_; }

PcIntake::Costs PcIntake::takeCosts(std::int64_t globalPid) {
  const auto at = processes_.find(globalPid);
  return at == processes_.end() ? Costs{} : std::exchange(at->second.costs, Costs{});
}

}  // namespace warpmeter::recorder
