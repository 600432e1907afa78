// SPDX-License-Identifier: Apache-2.0
// One training step of a network with two layers on the CPU, for the check.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "common/program.h"
#include "common/random.h"

namespace warpmeter::kernels {

struct Sizes {
  int batch, inputs, hidden, outputs;
};

// Row by row: weights are [out][in], as PyTorch has them.
struct Weights {
  std::vector<float> first, firstBias, second, secondBias;
};

// Uniform within 1 / sqrt(number of inputs).
inline Weights randomWeights(const Sizes& sizes, Random& random) {
  const auto layer = [&](std::int64_t size, int inputs) {
    std::vector<float> values = random.vector(size);
    for (float& value : values) {
      value /= std::sqrt(static_cast<float>(inputs));
    }
    return values;
  };
  Weights weights;
  weights.first = layer(static_cast<std::int64_t>(sizes.hidden) * sizes.inputs, sizes.inputs);
  weights.firstBias = layer(sizes.hidden, sizes.inputs);
  weights.second = layer(static_cast<std::int64_t>(sizes.outputs) * sizes.hidden, sizes.hidden);
  weights.secondBias = layer(sizes.outputs, sizes.hidden);
  return weights;
}

// What the network shall learn: something of two inputs for each output, around 1.
inline std::vector<float> wantedOutputs(const Sizes& sizes, const std::vector<float>& x) {
  std::vector<float> wanted;
  for (int i = 0; i < sizes.batch; ++i) {
    const float* const row = &x[static_cast<std::size_t>(i) * static_cast<std::size_t>(sizes.inputs)];
    for (int j = 0; j < sizes.outputs; ++j) {
      wanted.push_back(1 + 0.25f * std::abs(row[j % sizes.inputs]) - 0.25f * row[(7 * j + 3) % sizes.inputs]);
    }
  }
  return wanted;
}

// Below 2 / the largest curvature of the loss, which is that along the hidden units' mean: about 1 + 0.02 x
// hidden with such weights; outputs / 2 because the loss is a mean over them.
inline float learningRate(const Sizes& sizes) {
  return 0.25f * static_cast<float>(sizes.outputs) / (1 + 0.02f * static_cast<float>(sizes.hidden));
}

// One step in double precision; only what a product takes is rounded to T first, as on the GPU.
template <class T>
Weights stepOnCpu(const Sizes& sizes, const Weights& weights, const std::vector<float>& x,
                  const std::vector<float>& wanted, double scale) {
  using Matrix = std::vector<double>;
  const auto rounded = [](double value) {
    return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(value))));
  };
  // c[i][j] = sum over k of a(i, k) b(j, k)
  const auto product = [](int rows, int columns, int depth, const auto& a, const auto& b) {
    Matrix c;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int k = 0; k < depth; ++k) {
          sum += a(i, k) * b(j, k);
        }
        c.push_back(sum);
      }
    }
    return c;
  };
  const auto by = [&](const auto& matrix, int width) {
    return [&, width](int i, int j) { return rounded(matrix[static_cast<std::size_t>(i * width + j)]); };
  };
  const auto turned = [&](const auto& matrix, int width) {
    return [&, width](int i, int j) { return rounded(matrix[static_cast<std::size_t>(j * width + i)]); };
  };
  const auto [batch, inputs, hidden, outputs] = sizes;

  Matrix h = product(batch, hidden, inputs, by(x, inputs), by(weights.first, inputs));
  for (std::size_t i = 0; i < h.size(); ++i) {
    h[i] = std::max(0.0, h[i] + weights.firstBias[i % weights.firstBias.size()]);
  }
  Matrix dy = product(batch, outputs, hidden, by(h, hidden), by(weights.second, hidden));
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const double y = dy[i] + weights.secondBias[i % weights.secondBias.size()];
    dy[i] = 2 * (y - wanted[i]) / static_cast<double>(dy.size()) * scale;
  }
  Matrix dh = product(batch, hidden, outputs, by(dy, outputs), turned(weights.second, hidden));
  for (std::size_t i = 0; i < dh.size(); ++i) {
    dh[i] = h[i] > 0 ? dh[i] : 0;
  }

  Weights after = weights;
  const auto update = [&](std::vector<float>& values, const Matrix& gradient) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(values[i] - learningRate(sizes) * gradient[i] / scale);
    }
  };
  const auto columnSums = [&](const Matrix& matrix, int width) {
    Matrix sums(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      sums[i % sums.size()] += matrix[i];
    }
    return sums;
  };
  update(after.first, product(hidden, inputs, batch, turned(dh, hidden), turned(x, inputs)));
  update(after.firstBias, columnSums(dh, hidden));
  update(after.second, product(outputs, hidden, batch, turned(dy, outputs), turned(h, hidden)));
  update(after.secondBias, columnSums(dy, outputs));
  return after;
}

// Throws Failure where a weight moved otherwise than expected, by more than tolerance x the largest movement.
// Returns how many were compared.
inline std::int64_t compareStep(const char* name, const std::vector<float>& before,
                                const std::vector<float>& expected, const std::vector<float>& result,
                                double tolerance) {
  double most = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(expected[i]) - before[i]));
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    // Weights are of the order of 1 and are stored in FP32.
    if (!(std::abs(static_cast<double>(result[i]) - expected[i]) <= tolerance * most + 0x1p-23)) {
      throw differs(std::string(name) + "[" + std::to_string(i) + "] after a step", result[i], expected[i]);
    }
  }
  return static_cast<std::int64_t>(before.size());
}

}  // namespace warpmeter::kernels
