// SPDX-License-Identifier: Apache-2.0
#include "source_lines.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupti_library.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::sampler {
namespace {

constexpr int kUsage = 2;
constexpr std::uint64_t kMostNameBytes = std::uint64_t{1} << 30;

bool readExactly(void* to, std::size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }
void writeAll(const void* from, std::size_t bytes) { std::fwrite(from, 1, bytes, stdout); }

// CUPTI gives file and folder as they stood in the compiler's call.
std::string pathOf(const char* folder, const char* file) {
  if (file == nullptr || *file == 0) return {};
  if (*file == '/' || folder == nullptr || *folder == 0) return file;
  return std::string(folder) + "/" + file;
}

class Texts {
 public:
  Texts() { place(""); }
  std::uint32_t place(const std::string& text) {
    const auto [at, fresh] = places_.try_emplace(text, static_cast<std::uint32_t>(all_.size()));
    if (fresh) all_.append(text.c_str(), text.size() + 1);
    return at->second;
  }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
  std::map<std::string, std::uint32_t> places_;
};

// What came of all questions: no answer at all needs a word why.
struct Tally {
  std::uint64_t found = 0, failed = 0;
  CUptiResult failure = CUPTI_SUCCESS;  // the first
};

wire::LineAnswer answer(const Cupti& cupti, const std::vector<char>& image, const char* function,
                        std::uint64_t offset, Texts& texts, Tally& tally) {
  CUpti_GetSassToSourceCorrelationParams params{};
  params.size = CUpti_GetSassToSourceCorrelationParamsSize;
  params.cubin = image.data();
  params.cubinSize = image.size();
  params.functionName = function;
  params.pcOffset = offset;
  if (const CUptiResult result = cupti.cuptiGetSassToSourceCorrelation(&params); result != CUPTI_SUCCESS) {
    if (tally.failed++ == 0) tally.failure = result;
    return {0, 0};
  }
  const std::string path = pathOf(params.dirName, params.fileName);
  std::free(params.dirName);
  std::free(params.fileName);
  if (path.empty() || params.lineNumber == 0) return {0, 0};
  ++tally.found;
  return {params.lineNumber, texts.place(path)};
}

int answerRequests(const Cupti& cupti) {
  Tally tally;
  wire::LineRequest request{};
  while (readExactly(&request, sizeof request)) {
    if (request.magic != wire::kLineRequestMagic || request.queries > wire::kMaxLineQueries ||
        request.imageBytes > wire::kMaxCubinBytes || request.namesBytes == 0 ||
        request.namesBytes > kMostNameBytes) {
      return kUsage;
    }
    std::vector<char> names(request.namesBytes), image(request.imageBytes);
    std::vector<wire::LineQuery> queries(request.queries);
    if (!readExactly(names.data(), names.size()) ||
        !readExactly(queries.data(), queries.size() * sizeof(wire::LineQuery)) ||
        !readExactly(image.data(), image.size()) || names.back() != 0) {
      return kUsage;
    }
    Texts texts;
    std::vector<wire::LineAnswer> answers;
    for (const wire::LineQuery& query : queries) {
      if (query.function >= names.size()) return kUsage;
      answers.push_back(answer(cupti, image, names.data() + query.function, query.pcOffset, texts, tally));
    }
    const wire::LineReply reply{wire::kLineReplyMagic, request.queries, texts.all().size(), request.tag};
    writeAll(&reply, sizeof reply);
    writeAll(answers.data(), answers.size() * sizeof(wire::LineAnswer));
    writeAll(texts.all().data(), texts.all().size());
    if (std::fflush(stdout) != 0) return 1;
  }
  if (tally.found > 0 || tally.failed == 0) return 0;
  fmt::print(stderr, "not_recorded cuptiGetSassToSourceCorrelation answered {} to all of {} questions\n",
             static_cast<int>(tally.failure), tally.failed);
  return 1;
}

}  // namespace

bool isLineCommand(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "--source-lines";
}

int lineMain(int argc, const char* const* argv) {
  std::string path;
  if (argc == 4 && std::string_view(argv[2]) == "--cupti") {
    path = argv[3];
  } else if (argc != 2) {
    fmt::print(stderr, "usage: warpmeter-sampler --source-lines [--cupti PATH]\n");
    return kUsage;
  }
  const Cupti cupti = loadCupti(path);
  std::string problem = cupti.problem;
  if (problem.empty() && cupti.cuptiGetSassToSourceCorrelation == nullptr)
    problem = cupti.path + " has no function cuptiGetSassToSourceCorrelation";
  if (problem.empty()) return answerRequests(cupti);
  fmt::print(stderr, "not_recorded {}\n", problem);
  return 1;
}

}  // namespace warpmeter::sampler
