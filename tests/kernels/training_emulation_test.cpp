// SPDX-License-Identifier: Apache-2.0
// The kernels of a training step on the CPU (emulated_gpu.h), in the order in which network.cuh launches
// them, against the step in double precision that the program checks itself with; and the latter against
// differences of the loss.
#include "emulated_gpu.h"
#include "emulation_helpers.h"
#include "training/cpu_step.h"
#include "training/training_kernels.cuh"
#include "training/training_products.cuh"

namespace warpmeter::kernels {
namespace {

class TrainingEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, TrainingEmulation, testing::Bool(), orderName);

// Tiles of 128 with ends, five of them in depth; more than one of 32.
constexpr Sizes kSizes{152, 40, 136, 24};

template <class T>
void productOf(const Product<T>& product) {
  const dim3 grid(blocksOf(product.columns, kSide), blocksOf(product.rows, kSide));
  emulated::launch(grid, kProductThreads, [&] {
    if constexpr (std::is_same_v<T, float>) {
      productFp32Kernel(product);
    } else {
      productTensorKernel<T>(product);
    }
  });
}

template <class T>
struct Rounded {
  std::vector<T> asIs, turned;
};

template <class T>
Rounded<T> cast(const std::vector<float>& from, int rows, int columns) {
  const auto size = static_cast<std::int64_t>(rows) * columns;
  Rounded<T> to{withMargin<T>(size), withMargin<T>(size)};
  emulated::launch({blocksOf(columns, 32), blocksOf(rows, 32)}, {32, 8},
                   [&] { castKernel<T>(rows, columns, from.data(), to.asIs.data(), to.turned.data()); });
  EXPECT_TRUE(marginUntouched(to.asIs) && marginUntouched(to.turned));
  return to;
}

std::vector<float> columnSums(const std::vector<float>& from, int rows, int columns) {
  auto sums = withMargin<float>(columns);
  emulated::launch(blocksOf(columns, 32), {32, 32},
                   [&] { columnSumsKernel(rows, columns, from.data(), sums.data()); });
  EXPECT_TRUE(marginUntouched(sums));
  return sums;
}

void update(std::vector<float>& weights, const std::vector<float>& gradient, const Progress& progress) {
  const auto size = static_cast<std::int64_t>(weights.size());
  emulated::launch(blocksOf(size, 256), 256, [&] {
    updateKernel(size, learningRate(kSizes), gradient.data(), &progress, weights.data());
  });
}

// progress is changed as the step's end changes it.
template <class T>
Weights emulatedStep(Weights weights, const std::vector<float>& x, const std::vector<float>& wanted,
                     Progress& progress) {
  const auto [batch, inputs, hidden, outputs] = kSizes;
  const auto values = [](int rows, int columns) {
    return withMargin<float>(static_cast<std::int64_t>(rows) * columns);
  };
  auto h = values(batch, hidden), y = values(batch, outputs), dy = y, dh = h;
  auto dFirst = values(hidden, inputs), dSecond = values(outputs, hidden);
  const auto ofX = cast<T>(x, batch, inputs);
  const auto first = cast<T>(weights.first, hidden, inputs);
  const auto second = cast<T>(weights.second, outputs, hidden);
  productOf<T>({batch, hidden, inputs, ofX.asIs.data(), first.asIs.data(), h.data(), weights.firstBias.data(),
                true, nullptr});
  const auto ofH = cast<T>(h, batch, hidden);
  productOf<T>({batch, outputs, hidden, ofH.asIs.data(), second.asIs.data(), y.data(),
                weights.secondBias.data(), false, nullptr});
  const std::int64_t results = static_cast<std::int64_t>(batch) * outputs;
  emulated::launch(blocksOf(results, 256), 256,
                   [&] { lossKernel(results, y.data(), wanted.data(), dy.data(), &progress); });
  const auto ofDy = cast<T>(dy, batch, outputs);
  productOf<T>({outputs, hidden, batch, ofDy.turned.data(), ofH.turned.data(), dSecond.data(), nullptr, false,
                nullptr});
  productOf<T>(
      {batch, hidden, outputs, ofDy.asIs.data(), second.turned.data(), dh.data(), nullptr, false, h.data()});
  const auto ofDh = cast<T>(dh, batch, hidden);
  productOf<T>(
      {hidden, inputs, batch, ofDh.turned.data(), ofX.turned.data(), dFirst.data(), nullptr, false, nullptr});
  for (const auto* matrix : {&h, &y, &dy, &dh, &dFirst, &dSecond}) {
    EXPECT_TRUE(marginUntouched(*matrix));
  }
  for (const auto* gradient : {&dFirst, &dSecond}) {
    const auto size = static_cast<std::int64_t>(gradient->size() - kMargin);
    emulated::launch(blocksOf(size, 256), 256,
                     [&] { findOverflowKernel(size, gradient->data(), &progress); });
  }
  update(weights.first, dFirst, progress);
  update(weights.firstBias, columnSums(dh, batch, hidden), progress);
  update(weights.second, dSecond, progress);
  update(weights.secondBias, columnSums(dy, batch, outputs), progress);
  emulated::launch(1, 1, [&] { endOfStepKernel(&progress); });
  return weights;
}

struct Start {
  Start() : wanted(wantedOutputs(kSizes, x)) {}
  Random random{1};
  std::vector<float> x = random.vector(kSizes.batch * kSizes.inputs);
  std::vector<float> wanted;
  Weights weights = randomWeights(kSizes, random);
};

template <class T>
void checkStep(float scale, double tolerance) {
  const Start start;
  Progress progress{scale, 0, 0, 0, 0, 0};
  const Weights after = emulatedStep<T>(start.weights, start.x, start.wanted, progress);
  const Weights expected = stepOnCpu<T>(kSizes, start.weights, start.x, start.wanted, scale);
  compareStep("first", start.weights.first, expected.first, after.first, tolerance);
  compareStep("first bias", start.weights.firstBias, expected.firstBias, after.firstBias, tolerance);
  compareStep("second", start.weights.second, expected.second, after.second, tolerance);
  compareStep("second bias", start.weights.secondBias, expected.secondBias, after.secondBias, tolerance);
  EXPECT_EQ(progress.scale, scale);
  EXPECT_EQ(progress.good, 1);
  EXPECT_EQ(progress.skipped, 0);
  EXPECT_EQ(progress.loss, 0);
  if constexpr (std::is_same_v<T, float>) {  // the next step sees that this one learned something
    const float firstLoss = progress.lastLoss;
    emulatedStep<T>(after, start.x, start.wanted, progress);
    EXPECT_GT(firstLoss, 0.5f);
    EXPECT_LT(progress.lastLoss, 0.9f * firstLoss);
  }
}

TEST_P(TrainingEmulation, StepInFp32) { checkStep<float>(1, 1e-4); }
TEST_P(TrainingEmulation, StepInBf16) { checkStep<__nv_bfloat16>(1, 5e-3); }
TEST_P(TrainingEmulation, StepInFp16) { checkStep<__half>(65536, 5e-3); }

TEST_P(TrainingEmulation, AStepWithAnOverflowChangesNothingButTheScale) {
  const Start start;
  Progress progress{0x1p40f, 0, 0, 0, 7, 0};  // beyond what FP16 can hold
  const Weights after = emulatedStep<__half>(start.weights, start.x, start.wanted, progress);
  EXPECT_EQ(after.first, start.weights.first);
  EXPECT_EQ(after.secondBias, start.weights.secondBias);
  EXPECT_EQ(progress.scale, 0x1p39f);
  EXPECT_EQ(progress.good, 0);
  EXPECT_EQ(progress.skipped, 1);
  EXPECT_EQ(progress.overflow, 0);
}

TEST_P(TrainingEmulation, TheScaleGrowsAfterManyGoodSteps) {
  Progress progress{64, 0.5f, 0, 0, kGoodSteps - 1, 3};
  emulated::launch(1, 1, [&] { endOfStepKernel(&progress); });
  EXPECT_EQ(progress.scale, 128);
  EXPECT_EQ(progress.good, 0);
  EXPECT_EQ(progress.lastLoss, 0.5f);
}

// The gradient of the check itself: what a weight moves by is the rate times the slope of the loss.
TEST(TrainingOnCpu, MovesAgainstTheSlopeOfTheLoss) {
  constexpr Sizes kTiny{8, 8, 16, 8};
  Random random(2);
  const std::vector<float> x = random.vector(kTiny.batch * kTiny.inputs);
  const std::vector<float> wanted = wantedOutputs(kTiny, x);
  const Weights weights = randomWeights(kTiny, random);
  const auto loss = [&](const Weights& of) {
    double sum = 0;
    for (int i = 0; i < kTiny.batch; ++i) {
      std::vector<double> h(of.firstBias.begin(), of.firstBias.end());
      for (std::size_t j = 0; j < h.size(); ++j) {
        for (std::size_t k = 0; k < 8; ++k) {
          h[j] += static_cast<double>(x[static_cast<std::size_t>(i) * 8 + k]) * of.first[j * 8 + k];
        }
      }
      for (std::size_t o = 0; o < 8; ++o) {
        double y = of.secondBias[o];
        for (std::size_t j = 0; j < h.size(); ++j) {
          y += std::max(0.0, h[j]) * of.second[o * h.size() + j];
        }
        const double difference = y - wanted[static_cast<std::size_t>(i) * 8 + o];
        sum += difference * difference / 64;
      }
    }
    return sum;
  };
  const Weights after = stepOnCpu<float>(kTiny, weights, x, wanted, 4);
  const auto check = [&](std::vector<float> Weights::*which, std::size_t index) {
    constexpr float kDifference = 0x1p-10f;
    Weights more = weights, less = weights;
    (more.*which)[index] += kDifference;
    (less.*which)[index] -= kDifference;
    const double slope = (loss(more) - loss(less)) / (2.0 * kDifference);
    const double moved = static_cast<double>((after.*which)[index]) - (weights.*which)[index];
    EXPECT_NEAR(moved, -learningRate(kTiny) * slope, 2e-4);
    EXPECT_GT(std::abs(moved), 2e-3) << "the difference would show nothing";
  };
  check(&Weights::secondBias, 3);
  check(&Weights::second, 21);
  check(&Weights::firstBias, 5);
  check(&Weights::first, 42);
}

}  // namespace
}  // namespace warpmeter::kernels
