// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/accuracy.md: attribution_accuracy [CASES] [SECONDS] [SCHEDULE]. CASES runs of each
// schedule (default 40), each of SECONDS (default 1.2) of GPU time.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/attribution_cases.h"

using namespace warpmeter::support;

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 40;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.2;
  const int only = argc > 3 ? std::atoi(argv[3]) : -1;
  std::puts(
      "| schedule, samples | kernels | quantity | values | NULL | error: mean | worst | width | in interval "
      "| half | double |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|");
  std::vector<Outcome> all;
  for (int s = 0; s < kSchedules; ++s) {
    if (only >= 0 && s != only) continue;
    std::vector<Outcome> outcomes;
    for (int c = 0; c < cases; ++c) {
      const auto more =
          evaluate(static_cast<Schedule>(s), 5000 + static_cast<std::uint64_t>(s * 1000 + c), seconds);
      outcomes.insert(outcomes.end(), more.begin(), more.end());
    }
    all.insert(all.end(), outcomes.begin(), outcomes.end());
    for (const bool longer : {false, true}) {
      for (int q = 0; q < 3; ++q) {
        std::vector<Outcome> some;
        for (const Outcome& o : outcomes) {
          if ((o.kernelUs >= 20) == longer && static_cast<int>(o.quantity) == q) some.push_back(o);
        }
        const Coverage c = coverageOf(some);
        if (c.values == 0) continue;
        const std::string_view name = nameOf(static_cast<Schedule>(s)),
                               quantity = nameOf(static_cast<Quantity>(q));
        std::printf("| %.*s | %s | %.*s | %zu | %zu | %.2f | %.2f | %.2f | %.1f %% | %.1f %% | %.1f %% |\n",
                    static_cast<int>(name.size()), name.data(), longer ? ">= 20 us" : "< 20 us",
                    static_cast<int>(quantity.size()), quantity.data(), c.values, c.values - c.measured,
                    c.meanError, c.worstError, c.meanWidth, c.pct(c.covered), c.pct(c.byHalf),
                    c.pct(c.byDouble));
      }
    }
    std::fflush(stdout);
  }
  const Coverage c = coverageOf(all);
  std::printf("\nall: %zu values, %zu NULL, in interval %.1f %%, half %.1f %%, double %.1f %%\n", c.values,
              c.values - c.measured, c.pct(c.covered), c.pct(c.byHalf), c.pct(c.byDouble));
}
