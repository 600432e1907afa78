// SPDX-License-Identifier: Apache-2.0
#include "common/report.h"

#include <utility>

namespace warpmeter::kernels {
namespace {

bool same(const dim3& a, const dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

bool same(const Launch& a, const Launch& b) {
  return a.kernel == b.kernel && same(a.grid, b.grid) && same(a.block, b.block) && a.stream == b.stream &&
         a.dynamicShared == b.dynamicShared && a.graph == b.graph;
}

bool same(const Copy& a, const Copy& b) {
  return a.kind == b.kind && a.memory == b.memory && a.bytes == b.bytes && a.stream == b.stream;
}

void writeDim(JsonWriter& json, std::string_view key, const dim3& dim) {
  json.key(key);
  json.beginArray();
  json.value(dim.x);
  json.value(dim.y);
  json.value(dim.z);
  json.endArray();
}

void writeLaunch(JsonWriter& json, const Launch& launch, std::int64_t repeat) {
  json.beginObject();
  json.member("kernel", launch.kernel);
  writeDim(json, "grid", launch.grid);
  writeDim(json, "block", launch.block);
  json.member("stream", launch.stream);
  json.member("dynamicShared", launch.dynamicShared);
  json.member("graph", launch.graph);
  if (repeat > 1) {
    json.member("repeat", repeat);
  }
  json.endObject();
}

std::string formatted(double number, Unit unit) {
  switch (unit) {
    case Unit::nanoseconds:
      return number < 1e3   ? scaled(number, "ns")
             : number < 1e6 ? scaled(number / 1e3, "us")
             : number < 1e9 ? scaled(number / 1e6, "ms")
                            : scaled(number / 1e9, "s");
    case Unit::bytes:
      return scaled(number, "B");
    case Unit::bytesPerSec:
      return scaled(number, "B/s");
    case Unit::flopPerSec:
      return scaled(number, "FLOP/s");
    case Unit::count:
      return std::to_string(static_cast<std::int64_t>(number));
    case Unit::ratio:
      return scaled(number, "");
    case Unit::percent:
      return scaled(number, "%");
  }
  return {};
}

}  // namespace

void LaunchLog::add(const Launch& launch, std::int64_t repeat) {
  total_ += repeat;
  if (!entries_.empty() && entries_.back().sequence.size() == 1 &&
      same(entries_.back().sequence.front(), launch)) {
    entries_.back().repeat += repeat;
    return;
  }
  entries_.push_back({{launch}, repeat});
}

void LaunchLog::addSequence(std::vector<Launch> sequence, std::int64_t repeat) {
  if (sequence.size() == 1) {
    add(sequence.front(), repeat);
    return;
  }
  total_ += static_cast<std::int64_t>(sequence.size()) * repeat;
  entries_.push_back({std::move(sequence), repeat});
}

void LaunchLog::write(JsonWriter& json) const {
  json.beginArray();
  for (const Entry& entry : entries_) {
    if (entry.sequence.size() == 1) {
      writeLaunch(json, entry.sequence.front(), entry.repeat);
      continue;
    }
    json.beginObject();
    json.member("repeat", entry.repeat);
    json.key("sequence");
    json.beginArray();
    for (const Launch& launch : entry.sequence) {
      writeLaunch(json, launch, 1);
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

void Report::value(std::string key, std::string label, double number, Unit unit) {
  values_.push_back({std::move(key), std::move(label), number, unit});
}

void Report::copy(const Copy& copy, std::int64_t repeat) {
  if (!copies_.empty() && same(copies_.back().copy, copy)) {
    copies_.back().repeat += repeat;
    return;
  }
  copies_.push_back({copy, repeat});
}

void Report::checked(std::int64_t values, std::string against) {
  checkedValues_ = values;
  checkedAgainst_ = std::move(against);
}

std::string Report::text(const Program& program, const Arguments& arguments) const {
  std::string text =
      program.name + ", " + arguments.variant() + (device.empty() ? "" : ", on " + device) + "\n";
  const auto line = [&text](const std::string& label, const std::string& content) {
    text += "  " + label + std::string(label.size() < 24 ? 24 - label.size() : 1, ' ') + content + "\n";
  };
  line("kernel launches", std::to_string(launches.total()));
  for (const Value& value : values_) {
    line(value.label, formatted(value.number, value.unit));
  }
  if (checkedValues_ > 0) {
    line("check", "passed: " + std::to_string(checkedValues_) + " values against " + checkedAgainst_);
  }
  for (const std::string& notice : notices_) {
    line("note", notice);
  }
  return text;
}

std::string Report::json(const Program& program, const Arguments& arguments, const Nvtx& nvtx) const {
  JsonWriter json;
  json.beginObject();
  json.member("schema", arguments.json() ? "warpmeter.kernel_run" : "warpmeter.kernel_launches");
  json.member("version", 1);
  json.member("name", program.name);
  json.member("variant", arguments.variant());
  json.member("launchCount", launches.total());
  if (arguments.json()) {
    writeResult(json, nvtx);
  }
  if (arguments.printLaunches()) {
    json.key("launches");
    launches.write(json);
    writeCopies(json);
  }
  if (arguments.printEvents()) {
    writeEvents(json);
  }
  json.endObject();
  return json.text() + "\n";
}

void Report::writeResult(JsonWriter& json, const Nvtx& nvtx) const {
  json.member("device", device);
  json.member("checkedValues", checkedValues_);
  json.key("values");
  json.beginObject();
  for (const Value& value : values_) {
    json.member(value.key, value.number);
  }
  json.endObject();
  if (!notices_.empty()) {
    json.key("notices");
    json.beginArray();
    for (const std::string& notice : notices_) {
      json.value(notice);
    }
    json.endArray();
  }
  json.key("nvtx");
  nvtx.write(json);
}

void Report::writeCopies(JsonWriter& json) const {
  json.key("copies");
  json.beginArray();
  for (const auto& [copy, repeat] : copies_) {
    json.beginObject();
    json.member("kind", copy.kind);
    json.member("memory", copy.memory);
    json.member("bytes", copy.bytes);
    json.member("stream", copy.stream);
    json.member("repeat", repeat);
    json.endObject();
  }
  json.endArray();
}

void Report::writeEvents(JsonWriter& json) const {
  json.key("events");
  json.beginArray();
  for (const EventPair& pair : events_) {
    json.beginObject();
    json.member("kernel", pair.kernel);
    json.member("firstLaunch", pair.firstLaunch);
    json.member("launches", pair.launches);
    json.member("elapsedNs", pair.elapsedNs);
    json.member("meanNs", pair.elapsedNs / static_cast<double>(pair.launches));
    json.endObject();
  }
  json.endArray();
}

}  // namespace warpmeter::kernels
