// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "common/json_writer.h"
#include "common/program.h"

namespace warpmeter::kernels {
namespace {

void writeOption(JsonWriter& json, const Option& option) {
  json.beginObject();
  json.member("name", "--" + option.name);
  json.member("default", option.defaultValue);
  json.member("min", option.min);
  json.member("max", option.max);
  json.member("help", option.help);
  json.endObject();
}

void writeVariant(JsonWriter& json, const Variant& variant) {
  json.beginObject();
  json.member("name", variant.name);
  json.member("lesson", variant.lesson);
  for (const auto& [key, text] :
       {std::pair{"limiter", variant.limiter}, std::pair{"bound", variant.bound},
        std::pair{"precision", variant.precision}, std::pair{"access", variant.access}}) {
    json.key(key);
    if (text.empty()) {
      json.null();
    } else {
      json.value(text);
    }
  }
  json.endObject();
}

std::string optionLine(const std::string& left, const std::string& right) {
  return "  " + left + std::string(left.size() < 26 ? 26 - left.size() : 1, ' ') + right + "\n";
}

}  // namespace

std::string helpText(const Program& program) {
  std::string text =
      "usage: " + program.name + " [options]\n" + program.lesson + "\n\nvariants (--variant NAME):\n";
  for (const Variant& variant : program.variants) {
    text += optionLine(variant.name, variant.lesson);
  }
  text += "options:\n";
  for (const std::vector<Option>* list : {&program.options, &commonOptions()}) {
    for (const Option& option : *list) {
      text += optionLine("--" + option.name + " N",
                         option.help + " (" + std::to_string(option.defaultValue) + ")");
    }
  }
  text += optionLine("--json", "print the result as JSON");
  text += optionLine("--print-launches json", "print every kernel launch and copy in issue order");
  text += optionLine("--print-events json", "print times between CUDA events around launches");
  text += optionLine("--nvtx on|off", "mark the phases with NVTX ranges (on)");
  text += optionLine("--describe [--json]", "say what the program teaches, without a GPU");
  text += "exit codes: 0 checked, 1 result differs or CUDA failed, 2 wrong arguments, 4 no GPU\n";
  return text;
}

std::string describeText(const Program& program) {
  std::string text = program.name + ": " + program.lesson + "\n";
  for (const Variant& variant : program.variants) {
    std::string line = variant.lesson;
    if (!variant.bound.empty()) {
      line += "; bound by " + variant.bound;
    }
    if (!variant.limiter.empty()) {
      line += "; occupancy held by " + variant.limiter;
    }
    text += optionLine(variant.name, line);
  }
  return text;
}

std::string describeJson(const Program& program) {
  JsonWriter json;
  json.beginObject();
  json.member("schema", "warpmeter.kernel");
  json.member("version", 1);
  json.member("name", program.name);
  json.member("lesson", program.lesson);
  json.key("kernels");
  json.beginArray();
  for (const std::string& kernel : program.kernels) {
    json.value(kernel);
  }
  json.endArray();
  json.key("smallArguments");
  json.beginArray();
  for (const std::string& word : program.small) {
    json.value(word);
  }
  json.endArray();
  json.key("variants");
  json.beginArray();
  for (const Variant& variant : program.variants) {
    writeVariant(json, variant);
  }
  json.endArray();
  json.key("options");
  json.beginArray();
  for (const std::vector<Option>* list : {&program.options, &commonOptions()}) {
    for (const Option& option : *list) {
      writeOption(json, option);
    }
  }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}

}  // namespace warpmeter::kernels
