// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/app_process.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/installation.h"
#include "cli/json.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDescribeMs = 10'000;

Result<std::vector<fs::path>> programs() {
  const auto folder = installation().kernels();
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  if (out.empty())
    return Error{ErrorKind::notFound,
                 fmt::format("no bundled programs in {}: this build was made without the CUDA toolkit",
                             folder.string())};
  return out;
}

// What the program says about itself; null when it says nothing that can be understood.
Json describe(const fs::path& program) {
  auto run = capture({program, "--describe", "--json"}, changedEnvironment({}), kDescribeMs);
  if (!run || !run->succeeded()) return nullptr;
  auto json = Json::parse(run->out, nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

std::string textIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? harmless(it->get<std::string>()) : "";
}

std::string listed(const Json& program, const Style& style) {
  const std::size_t room = style.width == 0 ? 1000 : style.width - 2;
  auto out = fmt::format("{}  {}\n", style.heading(textIn(program, "name")),
                         wrapped(textIn(program, "lesson"), room - textIn(program, "name").size(), 2));
  const auto variants = program.value("variants", Json::array());
  std::size_t widest = 0;
  for (const auto& variant : variants) widest = std::max(widest, columnsOf(textIn(variant, "name")));
  for (const auto& variant : variants) {
    const auto limiter = textIn(variant, "limiter"), bound = textIn(variant, "bound");
    std::string expected = bound.empty() ? "" : "; bound by " + bound;
    if (!limiter.empty())
      expected += fmt::format("{}occupancy held by {}", expected.empty() ? "; " : ", ", limiter);
    const auto left = "    " + padRight(textIn(variant, "name"), widest) + "  ";
    out += left + wrapped(textIn(variant, "lesson") + expected, room - left.size(), left.size()) + "\n";
  }
  return out;
}

int runProgram(const fs::path& program, const Arguments& arguments) {
  std::vector<std::string> command{program};
  if (arguments.has(Opt::variant)) command.insert(command.end(), {"--variant", arguments.text(Opt::variant)});
  command.insert(command.end(), arguments.command.begin(), arguments.command.end());
  if (arguments.has(Opt::recordRun)) {
    Arguments record;
    record.verb = Verb::record;
    record.command = std::move(command);
    return runRecord(record);
  }
  auto end = runApplication(program, command, changedEnvironment({}), [](pid_t) {});
  return end ? end->exitCode() : fail(end.error(), Verb::kernelsRun);
}

}  // namespace

std::string completedKernels(const std::string& program) {
  auto all = programs();
  std::string out;
  if (!all) return out;
  for (const auto& path : *all) {
    const std::string name = path.filename();
    if (program.empty()) out += name + "\n";
    if (program != name) continue;
    const auto description = describe(path);
    if (!description.is_object()) continue;
    for (const auto& variant : description.value("variants", Json::array())) out += textIn(variant, "name") + "\n";
  }
  return out;
}

int runKernelsList(const Arguments& arguments) {
  auto all = programs();
  if (!all) return fail(all.error(), Verb::kernelsList);
  Json json = jsonFor("kernels");
  json["programs"] = Json::array();
  const auto style = styleFor(STDOUT_FILENO);
  std::string text;
  for (const auto& path : *all) {
    const auto program = describe(path);
    if (program.is_null()) continue;
    json["programs"].push_back(program);
    text += listed(program, style) + "\n";
  }
  text += "run one: warpmeter kernels run NAME [--variant V] [--record] [-- ARGS]\n";
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  return kOk;
}

int runKernelsRun(const Arguments& arguments) {
  auto all = programs();
  if (!all) return fail(all.error(), Verb::kernelsRun);
  if (!arguments.positionals.empty()) {
    const auto& name = arguments.positionals[0];
    const auto it =
        std::find_if(all->begin(), all->end(), [&](const fs::path& p) { return p.filename() == name; });
    if (it == all->end()) {
      std::vector<std::string> names;
      for (const auto& p : *all) names.push_back(p.filename());
      return fail({ErrorKind::usage,
                   fmt::format("no bundled program named '{}'; there are: {}", name, fmt::join(names, ", "))},
                  Verb::kernelsRun);
    }
    return runProgram(*it, arguments);
  }
  if (arguments.has(Opt::variant))
    return fail({ErrorKind::usage, "--variant needs the NAME of a program"}, Verb::kernelsRun);
  int code = kOk;
  for (const auto& program : *all) {
    const int one = runProgram(program, arguments);
    if (code == kOk) code = one;
  }
  return code;
}

}  // namespace warpmeter::cli
