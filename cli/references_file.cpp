// SPDX-License-Identifier: Apache-2.0
#include "cli/references_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/data_folder.h"
#include "cli/installation.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "warpmeter.references";

std::optional<double> rateIn(const Json& json, const char* key) {
  const auto value = numberIn(json, key);
  return value && *value > 0 && *value <= 1e18 ? value : std::nullopt;
}

Json toJson(const analyzer::ReferenceResult& r) {
  const bool bound = r.bound != analyzer::Bound::notMeasured;
  return Json{{"program", r.program},
              {"variant", r.variant},
              {"bound", bound ? Json(analyzer::named(r.bound).id) : Json(nullptr)},
              {"precision", r.precision.empty() ? Json(nullptr) : Json(r.precision)},
              {"access", r.access ? Json(analyzer::idOf(*r.access)) : Json(nullptr)},
              {"launchNs", orNull(r.launchNs)},
              {"bytesPerSec", orNull(r.bytesPerSec)},
              {"flopPerSec", orNull(r.flopPerSec)},
              {"ownCeilingPerSec", orNull(r.ownCeiling)}};
}

analyzer::ReferenceResult resultFrom(const Json& json) {
  auto r = variantOf(Json{{"name", textIn(json, "program")}}, Json{{"name", textIn(json, "variant")},
                                                                   {"bound", textIn(json, "bound")},
                                                                   {"precision", textIn(json, "precision")},
                                                                   {"access", textIn(json, "access")}})
               .result;
  r.launchNs = rateIn(json, "launchNs");
  r.bytesPerSec = rateIn(json, "bytesPerSec");
  r.flopPerSec = rateIn(json, "flopPerSec");
  r.ownCeiling = rateIn(json, "ownCeilingPerSec");
  return r;
}

GpuReferences gpuFrom(const Json& json) {
  GpuReferences gpu{textIn(json, "uuid"), textIn(json, "name"), textIn(json, "measured"), {}};
  if (const auto it = json.find("results"); it != json.end() && it->is_array())
    for (const auto& result : *it)
      if (auto r = result.is_object() ? resultFrom(result) : analyzer::ReferenceResult{};
          !r.program.empty() && !r.variant.empty())
        gpu.results.push_back(std::move(r));
  return gpu;
}

Json toJson(const GpuReferences& gpu) {
  Json json{{"uuid", gpu.uuid}, {"name", gpu.name}, {"measured", gpu.measured}, {"results", Json::array()}};
  for (const auto& r : gpu.results) json["results"].push_back(toJson(r));
  return json;
}

bool same(const analyzer::ReferenceResult& a, const analyzer::ReferenceResult& b) {
  return a.program == b.program && a.variant == b.variant;
}

std::string withoutVendor(const std::string& name) {
  return name.starts_with("NVIDIA ") ? name.substr(7) : name;
}

}  // namespace

fs::path referencesFile() {
  const auto folder = dataFolder();
  return folder.empty() ? folder : folder / "references.json";
}

Result<std::vector<GpuReferences>> readReferences(const fs::path& file) {
  std::vector<GpuReferences> out;
  const auto gpus = gpusKeptIn(file, kSchema, "kernels run", "run them again");
  if (!gpus) return gpus.error();
  for (const auto& gpu : *gpus)
    if (gpu.is_object()) out.push_back(gpuFrom(gpu));
  return out;
}

Result<void> keepReferences(const fs::path& file, const GpuReferences& measured,
                            const std::vector<std::string>& listed) {
  if (file.empty())
    return Error{ErrorKind::io, "nowhere to keep the results: neither HOME nor XDG_DATA_HOME is set"};
  auto all = readReferences(file);
  if (!all) return all.error();
  auto gpu = std::find_if(all->begin(), all->end(), [&](const auto& g) { return g.uuid == measured.uuid; });
  if (gpu == all->end()) gpu = all->insert(all->end(), GpuReferences{});
  std::erase_if(gpu->results, [&](const analyzer::ReferenceResult& r) {
    return std::find(listed.begin(), listed.end(), r.program + " " + r.variant) == listed.end() ||
           std::any_of(measured.results.begin(), measured.results.end(),
                       [&](const auto& m) { return same(m, r); });
  });
  gpu->uuid = measured.uuid;
  gpu->name = measured.name;
  gpu->measured = measured.measured;
  gpu->results.insert(gpu->results.end(), measured.results.begin(), measured.results.end());
  std::sort(gpu->results.begin(), gpu->results.end(), [](const auto& a, const auto& b) {
    return std::tie(a.program, a.variant) < std::tie(b.program, b.variant);
  });
  Json json{{"schema", kSchema}, {"version", 1}, {"gpus", Json::array()}};
  for (const auto& g : *all) json["gpus"].push_back(toJson(g));
  return replaceFile(file, printed(json));
}

std::vector<analyzer::ReferenceSet> knownReferences(std::vector<std::string>& complaints) {
  std::vector<analyzer::ReferenceSet> out;
  const auto add = [&](const fs::path& file, bool own) {
    auto gpus = readReferences(file);
    if (!gpus) {
      complaints.push_back(gpus.error().message);
      return;
    }
    for (auto& g : *gpus) {
      if (g.uuid.empty() == own) continue;
      const auto day = g.measured.substr(0, 10);
      out.push_back({g.uuid, g.name,
                     own ? fmt::format("measured on this GPU on {}", day)
                         : fmt::format("shipped for {}, measured on {}", withoutVendor(g.name), day),
                     std::move(g.results)});
    }
  };
  add(referencesFile(), true);
  std::vector<fs::path> shipped;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(installation().references(), error))
    if (entry.path().extension() == ".json") shipped.push_back(entry.path());
  std::sort(shipped.begin(), shipped.end());
  for (const auto& file : shipped) add(file, false);
  return out;
}

}  // namespace warpmeter::cli
