// SPDX-License-Identifier: Apache-2.0
// The ring of kernels/collectives on the CPU: its kernels, and its plan under schedules of any order that its
// events allow.
#include "emulated_gpu.h"

// Made by the build: the program up to its host code.
#include <gtest/gtest.h>

#include "common/random.h"
#include "ring_device.h"

namespace warpmeter::kernels {
namespace {

class CollectivesEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, CollectivesEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

// Aligned like GPU memory.
struct Values {
  alignas(16) float at[2048];
};

TEST_P(CollectivesEmulation, AddAndTake) {
  for (const std::int64_t n : {1, 3, 4, 1003, 1024}) {
    Random random(n);
    Values own;
    Values left;
    for (int i = 0; i < 2048; ++i) {
      own.at[i] = random.symmetric();
      left.at[i] = random.symmetric();
    }
    Values sum{};
    Values taken{};
    const auto blocks = static_cast<unsigned>((n + 32 * 4 * kVectors - 1) / (32 * 4 * kVectors));
    emulated::launch(blocks, 32, [&] { addKernel(n, own.at, left.at, sum.at); });
    emulated::launch(blocks, 32, [&] { takeKernel(n, left.at, taken.at); });
    for (int i = 0; i < 2048; ++i) {
      ASSERT_EQ(sum.at[i], i < n ? own.at[i] + left.at[i] : 0) << i << " of " << n;
      ASSERT_EQ(taken.at[i], i < n ? left.at[i] : 0) << i << " of " << n;
    }
  }
}

// One value for each piece. A task may run when its stream's earlier ones, its left neighbour's step before
// and, at the start of a sum, its right neighbour's last step have run: what Ring::sum() says with events.
class RandomSchedule {
 public:
  RandomSchedule(int ranks, int sums, std::int64_t seed)
      : plan_{ranks}, sums_(sums), random_(seed), done_(static_cast<std::size_t>(ranks), 0) {
    for (int r = 0; r < ranks; ++r) {
      input_.push_back(random_.wholeNumbers(ranks, 100));
      work_.emplace_back(static_cast<std::size_t>(ranks), 1e6f);
    }
  }

  void run() {
    for (int left = plan_.ranks * sums_ * plan_.steps(); left > 0 && !testing::Test::HasFailure();) {
      const auto r = static_cast<int>(random_.next() % static_cast<std::uint64_t>(plan_.ranks));
      if (mayRun(r)) {
        runNext(r);
        --left;
      }
    }
  }

 private:
  std::size_t place(int r) const { return static_cast<std::size_t>((r + plan_.ranks) % plan_.ranks); }

  bool mayRun(int r) const {
    const int next = done_[place(r)];
    return next < sums_ * plan_.steps() && done_[place(r - 1)] >= next &&
           (next % plan_.steps() != 0 || done_[place(r + 1)] >= next);
  }

  void runNext(int r) {
    const int step = done_[place(r)]++ % plan_.steps();
    const auto piece = static_cast<std::size_t>(plan_.piece(r, step));
    const float from = (step == 0 ? input_ : work_)[place(r - 1)][piece];
    work_[place(r)][piece] = plan_.adds(step) ? input_[place(r)][piece] + from : from;
    if (step == plan_.steps() - 1) {
      expectSums(work_[place(r)]);  // before a later sum can repair it
    }
  }

  void expectSums(const std::vector<float>& result) const {
    for (std::size_t piece = 0; piece < result.size(); ++piece) {
      float sum = 0;
      for (const auto& values : input_) {
        sum += values[piece];
      }
      ASSERT_EQ(result[piece], sum) << "piece " << piece << " of " << result.size();
    }
  }

  RingPlan plan_;
  int sums_;
  Random random_;
  std::vector<std::vector<float>> input_;
  std::vector<std::vector<float>> work_;
  std::vector<int> done_;  // tasks of each rank
};

TEST(RingPlan, SumsInAnyOrderThatTheEventsAllow) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (int seed = 0; seed < 50; ++seed) {
      RandomSchedule(ranks, 3, seed).run();
    }
  }
}

}  // namespace
}  // namespace warpmeter::kernels
