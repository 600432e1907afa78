// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace warpmeter::cli {
namespace {

// LD_LIBRARY_PATH: where containers keep libcuda and clusters their libstdc++.
constexpr std::array kForRecorder{
    "PATH",          "HOME",        "USER",     "LOGNAME",         "TMPDIR",          "TZ",
    "LANG",          "LC_ALL",      "LC_CTYPE", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
    "UBSAN_OPTIONS", "LSAN_OPTIONS"};

struct Owner {
  std::string_view part, name;  // part: in lower case
};
constexpr std::array kOwners{
    Owner{"libwarpmeter_inject", "Warpmeter"},
    Owner{"nsight-systems", "NVIDIA Nsight Systems"},
    Owner{"nsight_systems", "NVIDIA Nsight Systems"},
    Owner{"libtoolsinjection", "NVIDIA Nsight Systems"},
    Owner{"nsight-compute", "NVIDIA Nsight Compute"},
    Owner{"libcuda-injection", "NVIDIA Nsight Compute"},
    Owner{"sanitizer", "NVIDIA Compute Sanitizer"},
    Owner{"libparcagpu", "parcagpu"},
    Owner{"libproton", "Proton"},
    Owner{"hpctoolkit", "HPCToolkit"},
    Owner{"libtau", "TAU"},
    Owner{"scorep", "Score-P"},
    Owner{"gpufl", "gpufl"},
    Owner{"libkineto", "Kineto"},
    Owner{"libasan", "AddressSanitizer"},
    Owner{"libtsan", "ThreadSanitizer"},
};

}  // namespace

std::vector<std::string> changedEnvironment(
    const std::map<std::string, std::optional<std::string>>& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : changes)
    if (value) out.push_back(name + "=" + *value);
  return out;
}

std::vector<std::string> recorderEnvironment() {
  std::vector<std::string> out;
  for (const char* name : kForRecorder)
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  return out;
}

std::vector<char*> pointersTo(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (auto& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

std::string ownerOf(const std::string& injectionPath) {
  std::string lower = injectionPath;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& owner : kOwners)
    if (lower.find(owner.part) != std::string::npos) return std::string(owner.name);
  return injectionPath;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace warpmeter::cli
