// SPDX-License-Identifier: Apache-2.0
// As much of JSON Schema as docs/*.schema.json use. A keyword that is not known here is a complaint, so that
// a schema cannot ask for something nobody checks.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace warpmeter::cli::testing {

class SchemaCheck {
 public:
  using Json = nlohmann::json;
  explicit SchemaCheck(Json schema) : root_(std::move(schema)) {}

  // "" when `value` conforms, else one line a complaint.
  std::string complaints(const Json& value) {
    out_.clear();
    check(root_, value, "$");
    return out_;
  }

 private:
  void complain(const std::string& at, const std::string& what) { out_ += at + ": " + what + "\n"; }

  static bool isType(const std::string& type, const Json& v) {
    return (type == "null" && v.is_null()) || (type == "boolean" && v.is_boolean()) ||
           (type == "string" && v.is_string()) || (type == "integer" && v.is_number_integer()) ||
           (type == "number" && v.is_number()) || (type == "array" && v.is_array()) ||
           (type == "object" && v.is_object());
  }

  void checkType(const Json& type, const Json& value, const std::string& at) {
    if (type.is_string() ? isType(type, value) : std::any_of(type.begin(), type.end(), [&](const Json& t) {
          return isType(t, value);
        }))
      return;
    complain(at, "is not of type " + type.dump());
  }

  bool conforms(const Json& schema, const Json& value) {
    const std::string before = std::exchange(out_, {});
    check(schema, value, "$");
    return std::exchange(out_, before).empty();
  }

  void checkObject(const Json& schema, const Json& value, const std::string& at) {
    const auto properties = schema.value("properties", Json::object());
    for (const auto& key : schema.value("required", Json::array()))
      if (!value.contains(key.get<std::string>())) complain(at, "lacks " + key.get<std::string>());
    for (const auto& [key, member] : value.items()) {
      if (properties.contains(key))
        check(properties[key], member, at + "." + key);
      else if (schema.contains("additionalProperties"))
        check(schema["additionalProperties"], member, at + "." + key);
      // Additions keep the version for users; here every key has to be described.
      else if (schema.contains("properties"))
        complain(at, "has a key that the schema does not describe: " + key);
    }
  }

  void check(const Json& schema, const Json& value, const std::string& at) {
    for (const auto& [keyword, wanted] : schema.items()) {
      if (keyword == "type")
        checkType(wanted, value, at);
      else if (keyword == "const") {
        if (value != wanted) complain(at, "is not " + wanted.dump());
      } else if (keyword == "enum") {
        if (std::find(wanted.begin(), wanted.end(), value) == wanted.end())
          complain(at, value.dump() + " is not in the list");
      } else if (keyword == "minimum") {
        if (value.is_number() && value.get<double>() < wanted.get<double>())
          complain(at, "is below the minimum");
      } else if (keyword == "maximum") {
        if (value.is_number() && value.get<double>() > wanted.get<double>() + 1e-9)
          complain(at, "is above the maximum");
      } else if (keyword == "minItems") {
        if (value.size() < wanted.get<std::size_t>()) complain(at, "has too few items");
      } else if (keyword == "maxItems") {
        if (value.size() > wanted.get<std::size_t>()) complain(at, "has too many items");
      } else if (keyword == "pattern") {
        if (!std::regex_search(value.get<std::string>(), std::regex(wanted.get<std::string>())))
          complain(at, "does not match");
      } else if (keyword == "oneOf") {
        if (std::count_if(wanted.begin(), wanted.end(), [&](const Json& s) { return conforms(s, value); }) !=
            1)
          complain(at, "fits not exactly one alternative");
      } else if (keyword == "items") {
        for (std::size_t i = 0; i < value.size() && value.is_array(); ++i)
          check(wanted, value[i], at + "[" + std::to_string(i) + "]");
      } else if (keyword == "$ref")
        check(root_["definitions"][wanted.get<std::string>().substr(std::string("#/definitions/").size())],
              value, at);
      else if (keyword == "required") {
        if (value.is_object()) checkObject(schema, value, at);
      } else if (keyword == "additionalProperties") {
        if (!schema.contains("required") && value.is_object()) checkObject(schema, value, at);
      } else if (keyword != "properties" && keyword != "definitions" && keyword != "title" &&
                 keyword != "description" && keyword != "$schema")
        complain(at, "the schema uses a keyword that is not checked: " + keyword);
    }
  }

  Json root_;
  std::string out_;
};

}  // namespace warpmeter::cli::testing
