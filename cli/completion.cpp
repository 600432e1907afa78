// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/help.h"

namespace warpmeter::cli {
namespace {

std::string spaced(std::string_view choices) {
  std::string out(choices);
  for (char& c : out)
    if (c == '|') c = ' ';
  return out;
}

// Options of the verb as a word list, and the cases for those with a value.
std::string optionCases(const VerbSpec& verb, std::string& words) {
  std::string cases;
  for (const auto& o : optionTable()) {
    if (!takes(o, verb.id)) continue;
    words += (words.empty() ? "" : " ") + std::string(o.name);
    std::string label(o.name);
    if (o.letter) label += fmt::format("|-{}", o.letter);
    if (o.kind == ValueKind::choice)
      cases += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n", label,
                           spaced(o.choices));
    else if (o.id == Opt::output || o.id == Opt::cupti)
      cases += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", label);
    else if (o.id == Opt::variant)
      cases += fmt::format("        {}) COMPREPLY=($(compgen -W \"$(\"${{COMP_WORDS[0]}}\" {} \"${{COMP_WORDS[3]}}\" "
                           "2>/dev/null)\" -- \"$cur\")); return ;;\n",
                           label, kCompletionKernels);
    else if (o.kind != ValueKind::flag && o.kind != ValueKind::optionalChoice)
      cases += fmt::format("        {}) return ;;\n", label);
  }
  return cases;
}

}  // namespace

std::string bashCompletion() {
  std::string first, nested,
      out =
          "# bash completion for warpmeter, made by `warpmeter --completion-bash`\n"
          "_warpmeter() {\n"
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} i\n"
          "  COMPREPLY=()\n"
          "  for ((i = 2; i < COMP_CWORD; ++i)); do\n"
          "    if [[ ${COMP_WORDS[i]} == -- ]]; then COMPREPLY=($(compgen -f -- \"$cur\")); return; fi\n"
          "  done\n"
          "  [[ $verb == kernels && $COMP_CWORD -gt 2 ]] && verb=\"kernels ${COMP_WORDS[2]}\"\n"
          "  case $verb in\n";
  for (const auto& verb : verbTable()) {
    const auto space = verb.name.find(' ');
    const std::string head(verb.name.substr(0, space));
    if (first.find(head) == std::string::npos) first += (first.empty() ? "" : " ") + head;
    if (space != std::string_view::npos)
      nested += (nested.empty() ? "" : " ") + std::string(verb.name.substr(space + 1));
  }
  for (const auto& verb : verbTable()) {
    std::string words;
    const std::string cases = optionCases(verb, words);
    out += fmt::format("    \"{}\")\n      if ((COMP_CWORD > {})); then\n", verb.name,
                       verb.name.find(' ') == std::string_view::npos ? 1 : 2);
    if (!cases.empty()) out += fmt::format("      case $prev in\n{}      esac\n", cases);
    if (verb.id == Verb::kernelsRun || verb.id == Verb::kernelsTune)
      out += fmt::format("      if ((COMP_CWORD == 3)) && [[ $cur != -* ]]; then\n        COMPREPLY=($(compgen -W "
                         "\"$(\"${{COMP_WORDS[0]}}\" {} 2>/dev/null)\" -- \"$cur\")); return\n      fi\n",
                         kCompletionKernels);
    out += fmt::format(
        "      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); "
        "else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n      return\n      fi ;;\n",
        words);
  }
  out += fmt::format(
      "  esac\n"
      "  if [[ ${{COMP_WORDS[1]}} == kernels && $COMP_CWORD -eq 2 ]]; then COMPREPLY=($(compgen -W \"{}\" -- "
      "\"$cur\"))\n"
      "  elif ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$cur\"))\n"
      "  fi\n}}\ncomplete -o filenames -F _warpmeter warpmeter\n",
      nested, first);
  return out;
}

}  // namespace warpmeter::cli
