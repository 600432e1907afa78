// SPDX-License-Identifier: Apache-2.0
// The command line, parsed and checked against the option table.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

struct Extent {
  std::int64_t x = 1, y = 1, z = 1;
  std::int64_t count() const { return x * y * z; }
};

// Values are checked by parseArguments, so the typed getters below cannot fail on them.
class Arguments {
 public:
  Verb verb = Verb::record;
  std::vector<std::string> positionals;
  std::vector<std::string> command;  // after "--"

  void set(Opt option, std::string value) { values_[option] = std::move(value); }
  bool has(Opt option) const { return values_.contains(option); }
  std::string text(Opt option) const;  // "" when absent
  std::optional<std::int64_t> whole(Opt option) const;
  std::optional<std::int64_t> bytes(Opt option) const;
  std::optional<double> number(Opt option) const;  // seconds, percent
  std::optional<Extent> extent(Opt option) const;

 private:
  std::map<Opt, std::string> values_;
};

// What to do after parsing: run a verb, or print `text` and leave (help, version).
struct Parsed {
  Arguments arguments;
  std::optional<std::string> print;
};

// `args` without the program's name. Errors are ErrorKind::usage.
Result<Parsed> parseArguments(const std::vector<std::string>& args);

// "" when `value` suits the option, else what it should have been.
std::string complaintAbout(const OptionSpec& option, const std::string& value);

std::optional<std::int64_t> parseBytes(const std::string& text);
std::optional<Extent> parseExtent(const std::string& text);

}  // namespace warpmeter::cli
