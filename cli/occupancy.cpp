// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/exit_codes.h"
#include "cli/occupancy_launches.h"
#include "cli/occupancy_text.h"
#include "cli/report.h"
#include "cli/report_text.h"
#include "cli/verbs.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

// A GPU to take the number of multiprocessors from when only a capability is given; said in the output.
struct CommonGpu {
  int capability, smCount;
  const char* name;
};
constexpr std::array kCommonGpus{
    CommonGpu{75, 40, "T4"},        CommonGpu{80, 108, "A100"},
    CommonGpu{86, 84, "A40"},       CommonGpu{87, 16, "AGX Orin"},
    CommonGpu{89, 142, "L40S"},     CommonGpu{90, 132, "H100 SXM, H200"},
    CommonGpu{100, 148, "B200"},    CommonGpu{103, 160, "B300"},
    CommonGpu{110, 20, "AGX Thor"}, CommonGpu{120, 188, "RTX PRO 6000 Blackwell"},
    CommonGpu{121, 48, "GB10"},
};

const CommonGpu* commonGpu(int major, int minor) {
  const auto it = std::find_if(kCommonGpus.begin(), kCommonGpus.end(),
                               [&](const auto& g) { return g.capability == major * 10 + minor; });
  return it == kCommonGpus.end() ? nullptr : &*it;
}

Error usage(const std::string& text) {
  return Error{ErrorKind::usage, text + "; see 'warpmeter occupancy --help'"};
}

// What every CUDA GPU allows in each direction.
constexpr Extent kMostThreads{1024, 1024, 64}, kMostBlocks{0x7fffffff, 65535, 65535};

std::optional<Error> tooLarge(const Arguments& a, Opt option, const Extent& most, const char* what) {
  const auto given = a.extent(option);
  if (!given || (given->x <= most.x && given->y <= most.y && given->z <= most.z)) return std::nullopt;
  return usage(fmt::format("{} {}: a {} has at most {} x {} x {}", specOf(option).name, a.text(option), what, most.x,
                           most.y, most.z));
}

Result<analyzer::KernelResources> resourcesFrom(const Arguments& a) {
  for (const auto needed : {Opt::registers, Opt::block})
    if (!a.has(needed)) return usage(fmt::format("occupancy --cc needs {} as well", specOf(needed).name));
  if (const auto error = tooLarge(a, Opt::block, kMostThreads, "block")) return *error;
  if (const auto error = tooLarge(a, Opt::grid, kMostBlocks, "grid")) return *error;
  analyzer::KernelResources k;
  const auto block = a.extent(Opt::block)->count();
  if (block > 1024)
    return usage(fmt::format("--block {}: a block has at most 1024 threads", a.text(Opt::block)));
  k.blockThreads = static_cast<int>(block);
  if (*a.whole(Opt::registers) > 255)
    return usage(fmt::format("--registers {}: a thread has at most 255", a.text(Opt::registers)));
  k.registersPerThread = static_cast<int>(std::min<std::int64_t>(*a.whole(Opt::registers), 1 << 20));
  k.staticShared = a.bytes(Opt::sharedStatic).value_or(0);
  k.dynamicShared = a.bytes(Opt::sharedDynamic).value_or(0);
  if (const auto grid = a.extent(Opt::grid)) k.gridBlocks = grid->count();
  if (const auto cluster = a.extent(Opt::cluster)) {
    if (cluster->count() > 16)
      return usage(fmt::format("--cluster {}: a cluster has at most 16 blocks", a.text(Opt::cluster)));
    k.clusterBlocks = static_cast<int>(cluster->count());
  }
  if (const auto carveout = a.number(Opt::carveout)) k.carveoutPct = static_cast<int>(*carveout + 0.5);
  return k;
}

int fromNumbers(const Arguments& a) {
  const auto cc = a.text(Opt::cc);
  const int major = std::stoi(cc), minor = std::stoi(cc.substr(cc.find('.') + 1));
  auto kernel = resourcesFrom(a);
  if (!kernel) return fail(kernel.error(), Verb::occupancy);
  const auto* common = commonGpu(major, minor);
  const bool assumed = !a.has(Opt::sms) && common;
  const auto sms = a.whole(Opt::sms).value_or(common ? common->smCount : 0);
  auto device = analyzer::deviceLimits(major, minor, static_cast<int>(std::min<std::int64_t>(sms, 1 << 20)));
  if (!device) return fail({ErrorKind::usage, device.error().message}, Verb::occupancy);
  auto occupancy = analyzer::occupancyOf(*device, *kernel);
  if (!occupancy) return fail({ErrorKind::usage, occupancy.error().message}, Verb::occupancy);

  if (a.has(Opt::json)) {
    Json json = jsonFor("occupancy");
    json["launches"] = Json::array({occupancyAnswerJson(*device, *kernel, *occupancy)});
    std::fputs(printed(json).c_str(), stdout);
    return kOk;
  }
  const auto style = styleFor(STDOUT_FILENO);
  std::fputs((style.line(fmt::format("cc {}: {}", cc, launchLine(*kernel))) + "\n").c_str(), stdout);
  if (assumed && kernel->gridBlocks > 0)
    fmt::print("{} SMs as {}; for another GPU: --sms N\n", sms, common->name);
  std::fputs("\n", stdout);
  std::fputs(occupancyText(*device, *kernel, *occupancy, style).c_str(), stdout);
  return kOk;
}

int fromFile(const Arguments& a) {
  const std::filesystem::path file = a.positionals[0];
  if (!a.has(Opt::kernel))
    return fail(usage(fmt::format("occupancy {} needs --kernel NAME", file.string())), Verb::occupancy);
  for (const auto other : {Opt::cc, Opt::registers, Opt::block})
    if (a.has(other))
      return fail(usage(fmt::format("{} and a file exclude each other", specOf(other).name)),
                  Verb::occupancy);
  auto data = gatherReport(file, false, knownMeasurements());
  if (!data) return fail(data.error(), Verb::occupancy);
  const auto matches = matchingFunctions(*data, a.text(Opt::kernel));
  if (matches.empty())
    return fail({ErrorKind::usage,
                 fmt::format("{} holds no kernel named like '{}'; warpmeter report {} --all lists them",
                             file.string(), a.text(Opt::kernel), shellQuoted(file.string()))},
                Verb::occupancy);
  if (a.has(Opt::json)) {
    Json json = jsonFor("occupancy");
    json["launches"] = launchesJson(*data, matches);
    std::fputs(printed(json).c_str(), stdout);
  } else {
    std::fputs(launchesText(*data, matches, styleFor(STDOUT_FILENO)).c_str(), stdout);
  }
  return a.has(Opt::strict) && !data->run.quality.complete ? kIncomplete : kOk;
}

}  // namespace

int runOccupancy(const Arguments& arguments) {
  if (!arguments.positionals.empty()) return fromFile(arguments);
  if (!arguments.has(Opt::cc))
    return fail(usage("occupancy needs a launch (--cc X.Y --registers N --block N) or a recording (FILE "
                      "--kernel NAME)"),
                Verb::occupancy);
  return fromNumbers(arguments);
}

}  // namespace warpmeter::cli
