// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include "cli/text.h"
#include "cli/version.h"

namespace warpmeter::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kHelpColumn = 30;

std::string valuePart(const OptionSpec& option) {
  if (option.kind == ValueKind::optionalChoice) return fmt::format("[={}]", option.choices);
  return option.value.empty() ? "" : fmt::format(" {}", option.value);
}

std::string names(const OptionSpec& option) {
  return option.letter ? fmt::format("-{}, {}", option.letter, option.name)
                       : fmt::format("    {}", option.name);
}

// "help text (work|all|none; default work; or WARPMETER_API)"
std::string fullHelp(const OptionSpec& option) {
  std::string more;
  const auto add = [&](const std::string& part) { more += (more.empty() ? "" : "; ") + part; };
  if (option.kind == ValueKind::choice) add(std::string(option.choices));
  if (!option.fallback.empty()) add(fmt::format("default: {}", option.fallback));
  if (!option.env.empty()) add(fmt::format("or {}", option.env));
  return more.empty() ? std::string(option.help) : fmt::format("{} ({})", option.help, more);
}

std::string usageLine(const VerbSpec& verb) {
  return fmt::format("warpmeter {} [OPTIONS]{}{}", verb.name, verb.arguments.empty() ? "" : " ",
                     verb.arguments);
}

}  // namespace

std::string overviewHelp() {
  std::string out =
      "warpmeter records what CUDA programs do on the GPU and says what to change.\n\n"
      "Usage: warpmeter VERB [OPTIONS] ...\n\nVerbs:\n";
  for (const auto& verb : verbTable()) out += fmt::format("  {:<15} {}\n", verb.name, verb.summary);
  out +=
      "\nStart here:\n"
      "  warpmeter doctor                 what works on this machine\n"
      "  warpmeter record -- ./app        writes ./app.wm.sqlite\n"
      "  warpmeter report app.wm.sqlite   says what happened and what to do\n"
      "\n'warpmeter VERB --help' shows the options and examples of a verb; 'warpmeter --version' the "
      "version.\n";
  return out;
}

std::string verbHelp(const VerbSpec& verb) {
  std::string out =
      fmt::format("Usage: {}\n\n{}\n\nOptions:\n", usageLine(verb), wrapped(verb.text, kWidth, 0));
  for (const auto& option : optionTable()) {
    if (!takes(option, verb.id)) continue;
    std::string left = "  " + names(option) + valuePart(option);
    if (left.size() + 2 > kHelpColumn) {
      out += left + "\n";
      left.clear();
    }
    left.resize(kHelpColumn, ' ');
    out += left + wrapped(fullHelp(option), kWidth - kHelpColumn, kHelpColumn) + "\n";
  }
  out += "\nExamples:\n";
  for (const auto& example : verb.examples)
    out += fmt::format("  {}\n      {}\n", example.command, example.what);
  out += fmt::format("\nExit code: {}\n", wrapped(verb.exitCodes, kWidth - 11, 11));
  return out;
}

std::string markdownHelp() {
  std::string out =
      "# Command line\n\n"
      "Made from the option table (`warpmeter --help-markdown`); change `cli/options.cpp`, not this file.\n\n"
      "| verb | what it does |\n|---|---|\n";
  for (const auto& verb : verbTable()) out += fmt::format("| `{}` | {} |\n", verb.name, verb.summary);
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (const auto& verb : verbTable()) {
    out += fmt::format(
        "\n## {}\n\n```\n{}\n```\n\n{}\n\n| option | value | environment | default | meaning |\n"
        "|---|---|---|---|---|\n",
        verb.name, usageLine(verb), verb.text);
    for (const auto& o : optionTable()) {
      if (!takes(o, verb.id)) continue;
      const std::string both =
          o.letter ? fmt::format("`-{}`, `{}`", o.letter, o.name) : fmt::format("`{}`", o.name);
      const std::string value = !o.choices.empty() ? fmt::format("`{}`", o.choices) : std::string(o.value);
      out += fmt::format("| {} | {} | {} | {} | {} |\n", both, cell(value),
                         o.env.empty() ? "" : fmt::format("`{}`", o.env), cell(std::string(o.fallback)),
                         cell(std::string(o.help)));
    }
    out += "\n```\n";
    for (const auto& example : verb.examples)
      out += fmt::format("{}   # {}\n", example.command, example.what);
    out += fmt::format("```\n\nExit code: {}.\n", verb.exitCodes);
  }
  out += "\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const auto& o : optionTable())
    if (!o.env.empty())
      out += fmt::format("| `{}` | value of `{}` when the option is absent |\n", o.env, o.name);
  for (const auto& e : environmentTable()) out += fmt::format("| `{}` | {} |\n", e.name, e.help);
  return out;
}

std::string versionLine() {
  return fmt::format(
      "warpmeter {}{}\n", WARPMETER_VERSION,
      WARPMETER_HAS_CUDA ? "" : " (viewer build: made without the CUDA toolkit, cannot record)");
}

}  // namespace warpmeter::cli
