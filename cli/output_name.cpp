// SPDX-License-Identifier: Apache-2.0
#include "cli/output_name.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace warpmeter::cli {
namespace {

bool isInterpreter(std::string_view file) {
  constexpr std::array kPrefixes{"python", "pypy", "julia", "perl", "ruby"};
  for (std::string_view prefix : kPrefixes) {
    if (!file.starts_with(prefix)) continue;
    const auto rest = file.substr(prefix.size());
    return std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
  }
  return file == "bash" || file == "sh";
}

// The word that says what the interpreter runs; "" for -c and for none.
std::string scriptOf(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    const auto& word = command[i];
    if (word == "-c") return "";
    if (word == "-m") return i + 1 < command.size() ? command[i + 1] : "";
    if (word == "-W" || word == "-X")
      ++i;
    else if (word.empty() || word[0] != '-')
      return word;
  }
  return "";
}

bool isThere(const std::filesystem::path& path) {
  struct stat s {};
  return lstat(path.c_str(), &s) == 0;
}

Result<std::filesystem::path> checkProgram(const std::filesystem::path& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) {
    if (errno == EACCES)
      return Error{ErrorKind::noPermission, fmt::format("{}: no permission to run it", path.string())};
    return Error{ErrorKind::notFound, fmt::format("{}: no such program", path.string())};
  }
  if (S_ISDIR(s.st_mode))
    return Error{ErrorKind::isDirectory, fmt::format("{}: is a directory, no program", path.string())};
  if (access(path.c_str(), X_OK) != 0)
    return Error{ErrorKind::noPermission, fmt::format("{}: is not executable (chmod +x?)", path.string())};
  return path;
}

}  // namespace

std::string applicationTitle(const std::vector<std::string>& command) {
  const std::string file = std::filesystem::path(command.at(0)).filename();
  if (isInterpreter(file))
    if (const std::string script = std::filesystem::path(scriptOf(command)).filename(); !script.empty())
      return script;
  return file.empty() ? "application" : file;
}

std::string applicationName(const std::vector<std::string>& command) {
  const std::string title = applicationTitle(command);
  for (std::string_view ending : {".py", ".sh", ".jl", ".pl", ".rb"})
    if (title.size() > ending.size() && title.ends_with(ending))
      return title.substr(0, title.size() - ending.size());
  return title;
}

std::filesystem::path freeOutput(const std::string& name) {
  std::filesystem::path path = fmt::format("./{}.wm.sqlite", name);
  for (int n = 2; isThere(path); ++n) path = fmt::format("./{}.{}.wm.sqlite", name, n);
  return path;
}

Result<std::filesystem::path> findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return checkProgram(name);
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  Result<std::filesystem::path> firstRefusal =
      Error{ErrorKind::notFound, fmt::format("{}: no such program in PATH", name)};
  bool refused = false;
  while (true) {
    const auto colon = rest.find(':');
    const auto folder = rest.substr(0, colon);
    const auto candidate =
        (folder.empty() ? std::filesystem::path(".") : std::filesystem::path(folder)) / name;
    auto checked = checkProgram(candidate);
    if (checked) return checked;
    if (!refused && checked.error().kind == ErrorKind::noPermission && isThere(candidate)) {
      firstRefusal = std::move(checked);
      refused = true;
    }
    if (colon == std::string_view::npos) return firstRefusal;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace warpmeter::cli
