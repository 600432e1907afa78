// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/version.h"

namespace warpmeter::cli {
namespace {

Error usage(std::string_view where, const std::string& what) {
  return Error{ErrorKind::usage,
               fmt::format("{}; see 'warpmeter {}{}--help'", what, where, where.empty() ? "" : " ")};
}

// Optimal string alignment without transpositions; short words only.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <class Names>
std::string didYouMean(std::string_view word, const Names& names) {
  std::string best;
  std::size_t least = 3;
  for (const std::string_view name : names)
    if (const auto d = distance(word, name); d < least) least = d, best = name;
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

std::vector<std::string_view> optionNames(Verb verb) {
  std::vector<std::string_view> names;
  for (const auto& option : optionTable())
    if (takes(option, verb)) names.push_back(option.name);
  return names;
}

const OptionSpec* findOption(Verb verb, std::string_view word) {
  const auto name = word.substr(0, word.find('='));
  for (const auto& option : optionTable())
    if (takes(option, verb) && (option.name == name || (option.letter != 0 && word.size() >= 2 &&
                                                        word[1] == option.letter && word[0] == '-')))
      return &option;
  return nullptr;
}

// The option takes the word behind it: it has a value, and not in the same word.
bool takesNextWord(const OptionSpec* option, const std::string& word) {
  const bool inOneWord = word.find('=') != std::string::npos || (word.size() > 2 && word[1] != '-');
  return option && option->kind != ValueKind::flag && option->kind != ValueKind::optionalChoice && !inOneWord;
}

// Index of the "--" that ends the options; words.size() without one.
std::size_t endOfOptions(const VerbSpec& verb, const std::vector<std::string>& words) {
  std::size_t i = 0;
  for (; i < words.size() && words[i] != "--"; ++i)
    if (words[i].size() > 1 && words[i][0] == '-' && takesNextWord(findOption(verb.id, words[i]), words[i])) ++i;
  return std::min(i, words.size());
}

// Cuts off the program's own command line. It begins after "--"; record also takes the first word that is
// no option, so `warpmeter record ./app -x` hands -x to ./app.
std::vector<std::string> takeCommand(const VerbSpec& verb, std::vector<std::string>& words) {
  std::size_t i = 0;
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    const bool isOption = word.size() > 1 && word[0] == '-';
    if (!isOption && verb.maxPositionals == 0) break;
    const auto* option = isOption ? findOption(verb.id, word) : nullptr;
    if (takesNextWord(option, word)) ++i;
  }
  std::vector<std::string> command;
  if (i < words.size()) {
    command.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + (words[i] == "--" ? 1 : 0), words.end());
    words.resize(i);
  }
  return command;
}

std::string flagNames(const OptionSpec& option) {
  return option.letter ? fmt::format("-{},{}", option.letter, option.name) : std::string(option.name);
}

struct Slot {
  const OptionSpec* spec;
  std::string value;
  bool flag = false;
  CLI::Option* parsed = nullptr;
};

Result<Arguments> parseVerb(const VerbSpec& verb, std::vector<std::string> words) {
  Arguments arguments;
  arguments.verb = verb.id;
  std::vector<std::string> afterOptions;  // behind "--": no options, whatever they look like
  if (verb.takesCommand) {
    arguments.command = takeCommand(verb, words);
  } else if (const auto end = endOfOptions(verb, words); end < words.size()) {
    afterOptions.assign(words.begin() + static_cast<std::ptrdiff_t>(end) + 1, words.end());
    words.resize(end);
  }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<Slot> slots;
  slots.reserve(optionTable().size());
  for (const auto& option : optionTable()) {
    if (!takes(option, verb.id)) continue;
    auto& slot = slots.emplace_back(Slot{&option, {}});
    if (option.kind == ValueKind::flag) {
      slot.parsed = app.add_flag(flagNames(option), slot.flag);
    } else {
      slot.parsed = app.add_option(flagNames(option), slot.value);
      slot.parsed->take_last();
      if (!option.env.empty()) slot.parsed->envname(std::string(option.env));
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto& word = words[i];
    const auto* option = word.size() > 1 && word[0] == '-' ? findOption(verb.id, word) : nullptr;
    if (!option) continue;
    // CLI11 would let an optional value swallow the next word, and take any value for a flag.
    if (option->kind == ValueKind::optionalChoice && word == option->name) word += "=on";
    if (option->kind == ValueKind::flag && word.find('=') != std::string::npos)
      return usage(verb.name, fmt::format("{} takes no value: '{}'", option->name, word));
    if (takesNextWord(option, word)) ++i;
  }

  try {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::Error& e) {
    return usage(verb.name, e.what());
  }
  for (const auto& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-')
      return usage(verb.name,
                   fmt::format("unknown option {}{}", word, didYouMean(word, optionNames(verb.id))));
    arguments.positionals.push_back(word);
  }
  arguments.positionals.insert(arguments.positionals.end(), afterOptions.begin(), afterOptions.end());
  for (const auto& slot : slots) {
    if (slot.parsed->count() == 0) continue;
    if (slot.spec->kind == ValueKind::flag) {
      if (slot.flag) arguments.set(slot.spec->id, "1");
      continue;
    }
    if (const auto wanted = complaintAbout(*slot.spec, slot.value); !wanted.empty())
      return usage(verb.name, fmt::format("{} wants {}, not '{}'", slot.spec->name, wanted, slot.value));
    arguments.set(slot.spec->id, slot.value);
  }
  return arguments;
}

Result<void> checkPositionals(const VerbSpec& verb, const Arguments& arguments) {
  const auto count = static_cast<int>(arguments.positionals.size());
  if (count < verb.minPositionals)
    return usage(verb.name, fmt::format("{} needs {}", verb.name, verb.arguments));
  if (count > verb.maxPositionals)
    return usage(verb.name, fmt::format("'{}' is one argument too many for {}",
                                        arguments.positionals[static_cast<std::size_t>(verb.maxPositionals)],
                                        verb.name));
  if (verb.id == Verb::record && arguments.command.empty())
    return usage(verb.name, "record needs a program: warpmeter record [OPTIONS] -- APP [ARGS]");
  return {};
}

// The verb whose name the words begin with, and how many words it takes.
std::pair<const VerbSpec*, std::size_t> findVerb(const std::vector<std::string>& words) {
  for (const auto& verb : verbTable()) {
    const auto space = verb.name.find(' ');
    const auto first = verb.name.substr(0, space);
    if (words[0] != first) continue;
    if (space == std::string_view::npos) return {&verb, 1};
    if (words.size() > 1 && words[1] == verb.name.substr(space + 1)) return {&verb, 2};
  }
  return {nullptr, 0};
}

}  // namespace

Result<Parsed> parseArguments(const std::vector<std::string>& args) {
  Parsed parsed;
  if (args.empty()) return usage("", "warpmeter needs a verb: record, report, occupancy, doctor, calibrate or kernels");
  if (args[0] == "--help" || args[0] == "-h") return parsed.print = overviewHelp(), parsed;
  if (args[0] == "--version") return parsed.print = versionLine(), parsed;
  // For packagers and the test that keeps docs/cli.md equal to the table.
  if (args[0] == "--help-markdown") return parsed.print = markdownHelp(), parsed;
  if (args[0] == "--completion-bash") return parsed.print = bashCompletion(), parsed;
  if (args[0] == kCompletionKernels) return parsed.print = completedKernels(args.size() > 1 ? args[1] : ""), parsed;

  const auto [verb, used] = findVerb(args);
  if (!verb) {
    const bool kernels = args[0] == "kernels";
    if (kernels && args.size() > 1 && (args[1] == "--help" || args[1] == "-h"))
      return parsed.print = verbHelp(specOf(Verb::kernelsList)) + "\n" + verbHelp(specOf(Verb::kernelsRun)) + "\n" +
                            verbHelp(specOf(Verb::kernelsCompare)) + "\n" + verbHelp(specOf(Verb::kernelsTune)),
             parsed;
    if (kernels) return usage("kernels", "kernels needs one of: list, run, compare, tune");
    std::vector<std::string_view> names{"kernels"};
    for (const auto& v : verbTable()) names.push_back(v.name);
    return usage("", fmt::format("unknown verb '{}'{}", args[0], didYouMean(args[0], names)));
  }
  auto arguments = parseVerb(*verb, {args.begin() + static_cast<std::ptrdiff_t>(used), args.end()});
  if (!arguments) return std::move(arguments).error();
  if (arguments->has(Opt::help)) return parsed.print = verbHelp(*verb), parsed;
  if (auto checked = checkPositionals(*verb, *arguments); !checked) return std::move(checked).error();
  parsed.arguments = std::move(*arguments);
  return parsed;
}

}  // namespace warpmeter::cli
