// SPDX-License-Identifier: Apache-2.0
// Checks that need no GPU: other tools, the host, the output folder.
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/doctor.h"
#include "cli/environment.h"
#include "cli/text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The value of a line "NAME<separator>value", without quotes; "" when there is none.
std::string valueOf(const std::string& content, std::string_view name, char separator) {
  std::size_t at = 0;
  while (at < content.size()) {
    const auto end = std::min(content.find('\n', at), content.size());
    std::string_view line(content.data() + at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != separator) continue;
    line.remove_prefix(name.size() + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t' || line.front() == '"'))
      line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '"')) line.remove_suffix(1);
    return std::string(line);
  }
  return "";
}

struct Holder {
  const char* process;
  const char* tool;
};
constexpr std::array kHolders{Holder{"nv-hostengine", "DCGM"}, Holder{"dcgm-exporter", "DCGM"},
                              Holder{"dcgmi", "DCGM"}, Holder{"nsys", "Nsight Systems"},
                              Holder{"ncu", "Nsight Compute"}};

std::set<std::string> runningHolders() {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    auto comm = contentOf(entry.path() / "comm");
    while (comm.ends_with('\n')) comm.pop_back();
    for (const auto& holder : kHolders)
      if (comm == holder.process) found.insert(fmt::format("{} (process {} {})", holder.tool, name, comm));
  }
  return found;
}

std::string containerName() {
  if (fs::exists("/.dockerenv")) return "Docker";
  if (fs::exists("/run/.containerenv")) return "Podman";
  if (!variable("KUBERNETES_SERVICE_HOST").empty()) return "Kubernetes";
  if (!variable("APPTAINER_CONTAINER").empty() || !variable("SINGULARITY_CONTAINER").empty())
    return "Apptainer";
  const auto kind = variable("container");
  return kind;
}

struct FileSystem {
  unsigned long magic;
  const char* name;
  bool network;
};
constexpr std::array kFileSystems{
    FileSystem{0x6969, "NFS", true},        FileSystem{0xff534d42, "CIFS", true},
    FileSystem{0xfe534d42, "SMB", true},    FileSystem{0x0bd00bd0, "Lustre", true},
    FileSystem{0x47504653, "GPFS", true},   FileSystem{0x19830326, "BeeGFS", true},
    FileSystem{0x01021997, "9p", true},     FileSystem{0x00c36400, "Ceph", true},
    FileSystem{0x65735546, "FUSE", true},   FileSystem{0xef53, "ext4", false},
    FileSystem{0x58465342, "XFS", false},   FileSystem{0x9123683e, "btrfs", false},
    FileSystem{0x01021994, "tmpfs", false}, FileSystem{0x794c7630, "overlayfs", false},
    FileSystem{0x2fc12fc1, "ZFS", false},
};

}  // namespace

bool onWsl() {
  auto version = contentOf("/proc/version");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return version.find("microsoft") != std::string::npos;
}

std::vector<Row> holderRows(const Installation& where) {
  std::vector<Row> rows;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const auto value = variable(name);
    if (value.empty() || value == where.injectLibrary()) continue;
    const auto owner = ownerOf(value);
    rows.push_back({Health::warn,
                    "holders",
                    fmt::format("{} is set by {}: {}", name, owner == value ? "another tool" : owner, value),
                    {"warpmeter record replaces it for its own run; other runs keep it"}});
  }
  if (const auto preload = variable("LD_PRELOAD"); !preload.empty())
    rows.push_back({Health::warn,
                    "holders",
                    fmt::format("LD_PRELOAD is set: {}", preload),
                    {"the application gets it as ever, the recorder does not"}});
  const auto running = runningHolders();
  for (const auto& tool : running)
    rows.push_back({Health::warn,
                    "holders",
                    tool + " is running and may hold the counters",
                    {"pause it for a recording with counters: dcgmi profile --pause"}});
  if (rows.empty())
    rows.push_back({Health::ok,
                    "holders",
                    "no CUDA_INJECTION64_PATH set by others, counters free (no DCGM, no ncu)",
                    {}});
  return rows;
}

Row hostRow() {
  auto name = valueOf(contentOf("/etc/os-release"), "PRETTY_NAME", '=');
  if (name.empty()) name = "unknown distribution";
  const auto container = containerName();
  utsname system{};
  uname(&system);
  Row row{Health::ok,
          "host",
          fmt::format("{}{}, kernel {}; {}", harmless(name),
                      container.empty() ? "" : " in " + harmless(container), harmless(system.release),
                      onWsl() ? "WSL" : "no WSL"),
          {}};
  if (onWsl()) {
    row.health = Health::warn;
    row.remedy = {"tracing works under WSL 2 with a recent driver, counters do not"};
  }
  return row;
}

Row outputRow() {
  Row row{Health::ok, "output", "", {}};
  std::error_code error;
  const auto space = fs::space(".", error);
  struct statfs s {};
  std::string kind = "unknown file system";
  bool network = false;
  if (statfs(".", &s) == 0) {
    kind = fmt::format("file system {:#x}", static_cast<unsigned long>(s.f_type) & 0xffffffff);
    for (const auto& f : kFileSystems)
      if (f.magic == (static_cast<unsigned long>(s.f_type) & 0xffffffff))
        kind = fmt::format("{} file system ({})", f.network ? "network" : "local", f.name),
        network = f.network;
  }
  const bool writable = access(".", W_OK) == 0;
  row.text = fmt::format(
      ". is {}, {}{}", writable ? "writable" : "not writable", kind,
      error ? ""
            : fmt::format(", {} free", analyzer::formatBytes(static_cast<std::int64_t>(space.available))));
  if (!writable) {
    row.health = Health::warn;
    row.remedy = {"record elsewhere: warpmeter record -o FOLDER/NAME.wm.sqlite -- ..."};
  } else if (network) {
    row.health = Health::warn;
    row.remedy = {"recording works; the file cannot be read while it grows, and a local disk is faster"};
  } else if (!error && space.available < (std::uintmax_t{1} << 30)) {
    row.health = Health::warn;
    row.remedy = {"less than 1 GiB: a full disk ends the recording (the application runs on)"};
  }
  return row;
}

}  // namespace warpmeter::cli
