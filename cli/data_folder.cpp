// SPDX-License-Identifier: Apache-2.0
#include "cli/data_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "cli/environment.h"
#include "cli/kernel_programs.h"

namespace warpmeter::cli {

namespace fs = std::filesystem;

fs::path dataFolder() {
  fs::path data = variable("XDG_DATA_HOME");
  if (!data.is_absolute()) {  // as the XDG specification wants it
    const auto home = variable("HOME");
    if (home.empty()) return {};
    data = fs::path(home) / ".local/share";
  }
  return data / "warpmeter";
}

Error fileError(const fs::path& file, int number) {
  return {number == EACCES || number == EPERM || number == EROFS ? ErrorKind::noPermission : ErrorKind::io,
          fmt::format("{}: {}", file.string(), std::strerror(number))};
}

Result<std::string> contentOf(const fs::path& file) {
  constexpr std::uintmax_t kMost = 16u << 20;
  std::error_code error;
  // Reading a folder throws, a FIFO waits for ever.
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kMost)
    return Error{ErrorKind::foreign,
                 fmt::format("{} is not a file that Warpmeter wrote; remove it", file.string())};
  std::ifstream in(file, std::ios::binary);
  if (!in) return fileError(file, errno);
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

Result<Json> gpusKeptIn(const fs::path& file, std::string_view schema, std::string_view verb,
                        std::string_view remedy) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return Json::array();
  const auto content = contentOf(file);
  if (!content) return content.error();
  const Json json = Json::parse(*content, nullptr, false);
  const auto version = json.is_object() ? json.find("version") : json.end();
  if (!json.is_object() || textIn(json, "schema") != schema || version == json.end() || *version != 1)
    return Error{
        ErrorKind::foreign,
        fmt::format("{} is not a file of `warpmeter {}` that this version understands; remove it and {}",
                    file.string(), verb, remedy)};
  const auto gpus = json.find("gpus");
  return gpus != json.end() && gpus->is_array() ? *gpus : Json::array();
}

Result<void> replaceFile(const fs::path& file, const std::string& content) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return fileError(file.parent_path(), error.value());
  const fs::path part = fmt::format("{}.{}", file.string(), getpid());
  std::ofstream out(part);
  out << content;
  out.close();
  if (!out) {
    const int number = errno;
    fs::remove(part, error);
    return fileError(file, number);
  }
  fs::rename(part, file, error);
  if (!error) return {};
  const int number = error.value();
  fs::remove(part, error);
  return fileError(file, number);
}

std::string utcNow() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace warpmeter::cli
