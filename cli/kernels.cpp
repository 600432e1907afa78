// SPDX-License-Identifier: Apache-2.0
// warpmeter kernels list, and kernels run NAME.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/app_process.h"
#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/kernel_programs.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {
namespace {

std::string expectationOf(const Json& variant) {
  const auto limiter = textIn(variant, "limiter"), bound = textIn(variant, "bound");
  std::string out = bound.empty() ? "" : "; bound by " + bound;
  if (!limiter.empty()) out += fmt::format("{}occupancy held by {}", out.empty() ? "; " : ", ", limiter);
  std::string made;
  for (const char* key : {"precision", "access"})
    if (const auto text = textIn(variant, key); !text.empty()) made += (made.empty() ? "" : ", ") + text;
  return made.empty() ? out : fmt::format("{} ({})", out, made);
}

std::string listed(const Json& program, const Style& style) {
  const std::size_t room = style.width == 0 ? 1000 : style.width - 2;
  const auto name = textIn(program, "name");
  auto out =
      fmt::format("{}  {}\n", style.heading(name), wrapped(textIn(program, "lesson"), room - name.size(), 2));
  const auto variants = program.value("variants", Json::array());
  std::size_t widest = 0;
  for (const auto& variant : variants) widest = std::max(widest, columnsOf(textIn(variant, "name")));
  for (const auto& variant : variants) {
    const auto left = "    " + padRight(textIn(variant, "name"), widest) + "  ";
    out += left +
           wrapped(textIn(variant, "lesson") + expectationOf(variant), room - left.size(), left.size()) +
           "\n";
  }
  return out;
}

int runProgram(const std::filesystem::path& program, const Arguments& arguments) {
  std::vector<std::string> command{program};
  if (arguments.has(Opt::variant)) command.insert(command.end(), {"--variant", arguments.text(Opt::variant)});
  if (arguments.has(Opt::gpu)) command.insert(command.end(), {"--device", arguments.text(Opt::gpu)});
  if (arguments.has(Opt::json)) command.emplace_back("--json");
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
  auto all = kernelPrograms();
  std::string out;
  if (!all) return out;
  for (const auto& path : *all) {
    const std::string name = path.filename();
    if (program.empty()) out += name + "\n";
    if (program != name) continue;
    const auto description = describeProgram(path);
    if (!description.is_object()) continue;
    for (const auto& variant : description.value("variants", Json::array()))
      out += textIn(variant, "name") + "\n";
  }
  return out;
}

int runKernelsList(const Arguments& arguments) {
  auto all = kernelPrograms();
  if (!all) return fail(all.error(), Verb::kernelsList);
  struct Entry {
    std::string group;
    Json program;
  };
  std::vector<Entry> entries;
  for (const auto& path : *all) {
    auto program = describeProgram(path);
    if (program.is_null()) {
      std::fprintf(stderr, "warpmeter: %s does not say what it is (--describe --json)\n",
                   harmless(path.filename().string()).c_str());
      continue;
    }
    const auto group = groupOf(path.filename());
    program["group"] = group.empty() ? Json(nullptr) : Json(group);
    entries.push_back({group, std::move(program)});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.group < b.group; });
  Json json = jsonFor("kernels");
  json["programs"] = Json::array();
  const auto style = styleFor(STDOUT_FILENO);
  std::string text, group;
  for (const auto& entry : entries) {
    if (entry.group != group) text += style.heading((group = entry.group) + "/") + "\n";
    text += listed(entry.program, style) + "\n";
    json["programs"].push_back(entry.program);
  }
  text +=
      "run one: warpmeter kernels run NAME [--variant V] [--record] [-- ARGS]; all: warpmeter kernels run\n";
  std::fputs((arguments.has(Opt::json) ? printed(json) : text).c_str(), stdout);
  return kOk;
}

int runKernelsRun(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    for (const auto option : {Opt::variant, Opt::recordRun})
      if (arguments.has(option))
        return fail({ErrorKind::usage, fmt::format("{} needs the NAME of a program", specOf(option).name)},
                    Verb::kernelsRun);
    if (!arguments.command.empty())
      return fail({ErrorKind::usage, "arguments behind -- need the NAME of a program"}, Verb::kernelsRun);
    return runKernelsSet(arguments);
  }
  if (arguments.has(Opt::limit))
    return fail({ErrorKind::usage, "--limit is for the whole set, without a NAME"}, Verb::kernelsRun);
  auto program = kernelProgram(arguments.positionals[0]);
  return program ? runProgram(*program, arguments) : fail(program.error(), Verb::kernelsRun);
}

}  // namespace warpmeter::cli
