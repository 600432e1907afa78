// SPDX-License-Identifier: Apache-2.0
// The real warpmeter program in a folder of its own, beside a fake recorder.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/subprocess.h"
#include "support/profile_builder.h"

namespace warpmeter::cli::testing {

class Program {
 public:
  Program() {
    namespace fs = std::filesystem;
    fs::create_directories(tree() / "bin");
    fs::create_directories(tree() / "libexec/warpmeter");
    fs::create_directories(tree() / "lib/warpmeter");
    fs::create_directories(work());
    fs::create_directories(folder_.path() / "run");
    // A copy: the program finds the other parts through /proc/self/exe, which follows links.
    fs::copy_file(WARPMETER_TEST_PROGRAM, self());
    fs::copy_file(WARPMETER_TEST_RECORDER, tree() / "libexec/warpmeter/warpmeter-recorder");
    std::ofstream(injectLibrary()) << "not loaded by anything without a CUDA driver\n";
  }
  std::filesystem::path tree() const { return folder_.path() / "tree"; }
  std::filesystem::path self() const { return tree() / "bin/warpmeter"; }
  std::filesystem::path injectLibrary() const { return tree() / "lib/warpmeter/libwarpmeter_inject.so"; }
  std::filesystem::path work() const { return folder_.path() / "work"; }

  // Runs it with `work` as its current folder. `variables`: "NAME=value", beside PATH and XDG_RUNTIME_DIR.
  Captured run(std::vector<std::string> words, std::vector<std::string> variables = {}) const {
    words.insert(words.begin(), {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", work(), self()});
    variables.push_back("PATH=/usr/local/bin:/usr/bin:/bin");
    variables.push_back("XDG_RUNTIME_DIR=" + (folder_.path() / "run").string());
    auto result = capture(words, variables, 60'000);
    return result ? *result : Captured{};
  }

  std::string text(const std::string& name) const {
    std::ifstream in(work() / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(work() / name); }
  void write(const std::string& name, const std::string& content, bool executable = false) const {
    std::ofstream(work() / name) << content;
    if (executable) std::filesystem::permissions(work() / name, std::filesystem::perms::owner_all);
  }

 private:
  support::TempDir folder_;
};

}  // namespace warpmeter::cli::testing
