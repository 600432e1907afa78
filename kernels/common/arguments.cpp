// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <initializer_list>
#include <string>
#include <utility>

#include "common/program.h"

namespace warpmeter::kernels {

const std::vector<Option>& commonOptions() {
  static const std::vector<Option> options{
      {"device", 0, 0, 1023, "CUDA device"},
      {"seed", 1, 0, INT64_MAX, "seed of the random input"},
  };
  return options;
}

namespace {

const Option* find(const std::vector<Option>& options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) {
      return &option;
    }
  }
  return nullptr;
}

[[noreturn]] void usage(const std::string& message) {
  throw Failure{kExitUsage, message + " (--help lists the options)"};
}

std::int64_t number(const Option& option, std::string_view text) {
  std::int64_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < option.min ||
      parsed > option.max) {
    usage("--" + option.name + " '" + std::string(text) + "' is not a whole number from " +
          std::to_string(option.min) + " to " + std::to_string(option.max));
  }
  return parsed;
}

std::string variantNames(const Program& program) {
  std::string names;
  for (const Variant& variant : program.variants) {
    names += (names.empty() ? "" : ", ") + variant.name;
  }
  return names;
}

std::string variantNamed(const Program& program, std::string_view name) {
  for (const Variant& variant : program.variants) {
    if (variant.name == name) {
      return variant.name;
    }
  }
  usage("--variant '" + std::string(name) + "' is unknown, there is: " + variantNames(program));
}

}  // namespace

// Walks over the command line; an option has its value in the same word (--n=4) or in the next.
class Arguments::Parser {
 public:
  Parser(const Program& program, int argc, const char* const* argv)
      : program_(program), words_(argv + (argc > 0 ? 1 : 0), argv + argc) {
    parsed_.variant_ = program.variants.front().name;
    for (const std::vector<Option>* list : {&program.options, &commonOptions()}) {
      for (const Option& option : *list) {
        parsed_.numbers_.push_back({option.name, option.defaultValue});
      }
    }
  }

  Arguments run() {
    while (next_ < words_.size()) {
      word_ = words_[next_++];
      if (word_.substr(0, 2) != "--") {
        usage("unexpected argument '" + std::string(word_) + "'");
      }
      equals_ = word_.find('=');
      name_ = word_.substr(2, equals_ == word_.npos ? equals_ : equals_ - 2);
      if (!flag()) {
        option();
      }
    }
    return std::move(parsed_);
  }

 private:
  bool flag() {
    if (equals_ != word_.npos) {
      return false;
    }
    if (name_ == "help") {
      parsed_.action_ = Action::help;
    } else if (name_ == "describe") {
      parsed_.action_ = Action::describe;
    } else if (name_ == "json") {
      parsed_.json_ = true;
    } else {
      return false;
    }
    return true;
  }

  void option() {
    if (name_ == "print-launches") {
      parsed_.printLaunches_ = oneOf({"json"}) == "json";
    } else if (name_ == "print-events") {
      parsed_.printEvents_ = oneOf({"json"}) == "json";
    } else if (name_ == "nvtx") {
      parsed_.nvtx_ = oneOf({"on", "off"}) == "on";
    } else if (name_ == "variant") {
      parsed_.variant_ = variantNamed(program_, value());
    } else {
      numberOption();
    }
  }

  void numberOption() {
    const Option* option = find(program_.options, name_);
    option = option != nullptr ? option : find(commonOptions(), name_);
    if (option == nullptr) {
      usage("unknown option '" + std::string(word_) + "'");
    }
    for (Number& known : parsed_.numbers_) {
      if (known.name == name_) {
        known.value = number(*option, value());
      }
    }
  }

  std::string_view value() {
    if (equals_ != word_.npos) {
      return word_.substr(equals_ + 1);
    }
    if (next_ == words_.size()) {
      usage("--" + std::string(name_) + " needs a value");
    }
    return words_[next_++];
  }

  std::string_view oneOf(std::initializer_list<std::string_view> allowed) {
    const std::string_view given = value();
    std::string names;
    for (const std::string_view name : allowed) {
      if (given == name) {
        return given;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    usage("--" + std::string(name_) + " '" + std::string(given) + "' is unknown, there is: " + names);
  }

  const Program& program_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
  std::string_view word_;
  std::string_view name_;
  std::size_t equals_ = 0;
  Arguments parsed_;
};

Arguments Arguments::parse(const Program& program, int argc, const char* const* argv) {
  return Parser(program, argc, argv).run();
}

std::int64_t Arguments::operator[](std::string_view option) const {
  for (const Number& known : numbers_) {
    if (known.name == option) {
      return known.value;
    }
  }
  throw Failure{kExitFailed, "the program asks for --" + std::string(option) + ", which it does not have"};
}

}  // namespace warpmeter::kernels
