// SPDX-License-Identifier: Apache-2.0
#include "range_main.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "cupti_library.h"
#include "range_configs.h"
#include "range_host.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::sampler {
namespace {

constexpr int kUsage = 2;
constexpr std::uint64_t kLargestImage = std::uint64_t{64} << 20;

int fail(std::string_view reason, const std::string& text) {
  fmt::print(stderr, "{} {}\n", reason, text);
  return 1;
}

class CuptiPasses : public PassCounter {
 public:
  CuptiPasses(const Cupti& cupti, std::string chip) : cupti_(cupti), chip_(std::move(chip)) {}
  bool fitsOnePass(const std::vector<std::string>& metrics) override {
    RangeHost host(cupti_);
    std::vector<std::uint8_t> image;
    std::size_t passes = 0;
    return host.create(chip_, metrics) == 0 && host.image(image) == 0 && host.passes(image, passes) == 0 &&
           passes == 1;
  }

 private:
  const Cupti& cupti_;
  std::string chip_;
};

// Header, then images and names, each where its offset says.
std::vector<char> pack(const std::string& chip, const std::vector<std::vector<std::string>>& sets,
                       const std::vector<std::vector<std::uint8_t>>& images) {
  wire::Configurations head{};
  std::vector<char> bytes(sizeof head);
  head.magic = wire::kConfigurationsMagic;
  std::snprintf(head.chip, sizeof head.chip, "%s", chip.c_str());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    wire::Configuration& c = head.entries[head.count++];
    bytes.resize((bytes.size() + 7) / 8 * 8);
    c.imageOffset = static_cast<std::uint32_t>(bytes.size());
    c.imageBytes = static_cast<std::uint32_t>(images[i].size());
    bytes.insert(bytes.end(), images[i].begin(), images[i].end());
    c.namesOffset = static_cast<std::uint32_t>(bytes.size());
    for (const std::string& name : sets[i])
      bytes.insert(bytes.end(), name.c_str(), name.c_str() + name.size() + 1);
    c.namesBytes = static_cast<std::uint32_t>(bytes.size()) - c.namesOffset;
    c.metrics = static_cast<std::uint32_t>(sets[i].size());
  }
  head.bytes = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

int printConfigurations(const Cupti& cupti, MetricChoice choice, const std::string& chip) {
  if (const int code = RangeHost(cupti).create(chip, {})) {
    return fail(code == CUPTI_ERROR_INVALID_CHIP_NAME ? "unsupported_chip" : "not_recorded",
                fmt::format("CUPTI's host library knows no ranges on {}: {}", chip, resultText(cupti, code)));
  }
  CuptiPasses passes(cupti, chip);
  const auto sets = rangeConfigurations(choice, passes);
  if (sets.empty())
    return fail("unsupported_chip", fmt::format("{} cannot count active warps in one pass", chip));
  std::vector<std::vector<std::uint8_t>> images(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    RangeHost host(cupti);
    int code = host.create(chip, sets[i]);
    if (code == 0) code = host.image(images[i]);
    if (code != 0) return fail("not_recorded", "no configuration image: " + resultText(cupti, code));
  }
  const std::vector<char> bytes = pack(chip, sets, images);
  if (!wire::soundConfigurations(bytes.data(), bytes.size())) {
    return fail("not_recorded",
                fmt::format("the configurations for {} take {} bytes, too many", chip, bytes.size()));
  }
  return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0 ? 0
                                                                                                        : 1;
}

bool readExactly(void* to, std::size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

std::vector<std::string> splitNames(const std::vector<char>& text) {
  std::vector<std::string> names;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find(at, text.end(), '\0');
    if (end == text.end()) break;
    names.emplace_back(at, end);
    at = end + 1;
  }
  return names;
}

int answerRequests(const Cupti& cupti) {
  std::map<std::vector<std::string>, std::unique_ptr<RangeHost>> hosts;  // one per chip and list of metrics
  wire::RangeRequest request{};
  while (readExactly(&request, sizeof request)) {
    if (request.magic != wire::kRangeRequestMagic || request.imageBytes > kLargestImage ||
        request.namesBytes > 65536 || request.ranges > wire::kMaxRanges) {
      return kUsage;
    }
    std::vector<char> text(request.namesBytes);
    std::vector<std::uint8_t> image(request.imageBytes);
    if (!readExactly(text.data(), text.size()) || !readExactly(image.data(), image.size())) return kUsage;
    std::vector<std::string> key = splitNames(text);
    if (key.size() != request.metrics || request.metrics == 0) return kUsage;
    request.chip[sizeof request.chip - 1] = 0;
    const std::vector<std::string> metrics = key;
    key.emplace_back(request.chip);
    wire::RangeReply reply{wire::kRangeReplyMagic, 0, request.metrics, request.ranges, request.tag};
    auto& host = hosts[key];
    if (host == nullptr) {
      host = std::make_unique<RangeHost>(cupti);
      reply.error = host->create(request.chip, metrics);
    }
    std::vector<double> values(std::size_t{request.metrics} * request.ranges);
    for (std::uint32_t i = 0; i < request.ranges && reply.error == 0; ++i) {
      reply.error = host->evaluate(
          image, i, std::span(values).subspan(std::size_t{i} * request.metrics, request.metrics));
    }
    if (reply.error != 0) hosts.erase(key);
    std::fwrite(&reply, sizeof reply, 1, stdout);
    if (reply.error == 0) std::fwrite(values.data(), sizeof(double), values.size(), stdout);
    if (std::fflush(stdout) != 0) return 1;
  }
  return 0;
}

}  // namespace

bool isRangeCommand(int argc, const char* const* argv) {
  return argc > 1 &&
         (std::string_view(argv[1]) == "--range-configs" || std::string_view(argv[1]) == "--range-values");
}

int rangeMain(int argc, const char* const* argv) {
  std::string cuptiPath, chip;
  const bool values = std::string_view(argv[1]) == "--range-values";
  const auto choice = metricChoice(!values && argc > 2 ? argv[2] : "");
  for (int i = values ? 2 : 3; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--cupti") cuptiPath = argv[i + 1];
    if (name == "--chip") chip = argv[i + 1];
  }
  if (!values && (!choice || chip.empty() || chip.size() >= wire::kChipBytes)) {
    fmt::print(stderr, "usage: warpmeter-sampler --range-configs basic|full --chip NAME [--cupti PATH]\n");
    return kUsage;
  }
  const Cupti cupti = loadCupti(cuptiPath);
  if (!cupti.problem.empty()) return fail("not_recorded", cupti.problem);
  return values ? answerRequests(cupti) : printConfigurations(cupti, *choice, chip);
}

}  // namespace warpmeter::sampler
