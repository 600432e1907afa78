// SPDX-License-Identifier: Apache-2.0
// A network with two layers in GPU memory: y = (relu(x W1' + b1)) W2' + b2, loss = mean of (y - wanted)^2.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <type_traits>

#include "common/measure.h"
#include "compute/tensor_ops.cuh"
#include "training/cpu_step.h"
#include "training/training_kernels.cuh"
#include "training/training_products.cuh"

namespace warpmeter::kernels {

constexpr unsigned kThreads = 256;
// A matrix in FP32 and what the products take of it.
template <class T>
struct Operand {
  Operand(int ofRows, int ofColumns)
      : rows(ofRows),
        columns(ofColumns),
        values(size()),
        rounded(std::is_same_v<T, float> ? 1 : size()),
        turned(size()) {}
  std::int64_t size() const { return static_cast<std::int64_t>(rows) * columns; }
  const T* asIs() const {
    if constexpr (std::is_same_v<T, float>) {
      return values.get();
    } else {
      return rounded.get();
    }
  }

  int rows, columns;
  DeviceArray<float> values;
  DeviceArray<T> rounded, turned;
};

// A layer's weights with their gradients.
template <class T>
struct Layer {
  Layer(int outputs, int inputs)
      : weights(outputs, inputs), bias(outputs), gradient(weights.size()), biasGradient(outputs) {}

  Operand<T> weights;
  DeviceArray<float> bias, gradient, biasGradient;
};

template <class T>
class Network {
 public:
  // scaled: a step with an overflow is left out and the scale changes.
  Network(Run& run, const Sizes& sizes, float scale, bool scaled)
      : run_(run),
        sizes_(sizes),
        scaled_(scaled),
        x_(sizes.batch, sizes.inputs),
        h_(sizes.batch, sizes.hidden),
        dh_(sizes.batch, sizes.hidden),
        dy_(sizes.batch, sizes.outputs),
        first_(sizes.hidden, sizes.inputs),
        second_(sizes.outputs, sizes.hidden),
        y_(dy_.size()),
        wanted_(dy_.size()),
        progress_(1) {
    progress_.upload({Progress{scale, 0, 0, 0, 0, 0}}, run.report);
  }

  // Bytes of GPU memory that such a network takes, at most.
  static std::int64_t bytes(const Sizes& sizes) {
    const std::int64_t batch = sizes.batch, hidden = sizes.hidden;
    const std::int64_t operands =
        batch * (sizes.inputs + 2 * hidden + sizes.outputs) + hidden * (sizes.inputs + sizes.outputs);
    return operands * static_cast<std::int64_t>(sizeof(float) + 2 * sizeof(T)) +
           static_cast<std::int64_t>(sizeof(float)) *
               (2 * batch * sizes.outputs + (hidden + 4) * (sizes.inputs + sizes.outputs + 4));
  }

  void start(const Weights& weights, const std::vector<float>& x, const std::vector<float>& wanted) {
    Report& report = run_.report;
    first_.weights.values.upload(weights.first, report);
    first_.bias.upload(weights.firstBias, report);
    second_.weights.values.upload(weights.second, report);
    second_.bias.upload(weights.secondBias, report);
    x_.values.upload(x, report);
    wanted_.upload(wanted, report);
    cast(x_, true, true);
  }

  void step() {
    cast(first_.weights, true, false);
    cast(second_.weights, true, true);
    product({sizes_.batch, sizes_.hidden, sizes_.inputs, x_.asIs(), first_.weights.asIs(), h_.values.get(),
             first_.bias.get(), true, nullptr});
    cast(h_, true, true);
    product({sizes_.batch, sizes_.outputs, sizes_.hidden, h_.asIs(), second_.weights.asIs(), y_.get(),
             second_.bias.get(), false, nullptr});
    launch("lossKernel", lossKernel, blocksFor(dy_.size(), kThreads), kThreads,
           static_cast<long long>(dy_.size()), y_.get(), wanted_.get(), dy_.values.get(), progress_.get());
    cast(dy_, true, true);
    product({sizes_.outputs, sizes_.hidden, sizes_.batch, dy_.turned.get(), h_.turned.get(),
             second_.gradient.get(), nullptr, false, nullptr});
    columnSums(dy_, second_);
    product({sizes_.batch, sizes_.hidden, sizes_.outputs, dy_.asIs(), second_.weights.turned.get(),
             dh_.values.get(), nullptr, false, h_.values.get()});
    cast(dh_, false, true);
    product({sizes_.hidden, sizes_.inputs, sizes_.batch, dh_.turned.get(), x_.turned.get(),
             first_.gradient.get(), nullptr, false, nullptr});
    columnSums(dh_, first_);
    if (scaled_) {
      findOverflow(first_);
      findOverflow(second_);
    }
    update(first_);
    update(second_);
    launch("endOfStepKernel", endOfStepKernel, 1, 1, progress_.get());
  }

  Progress progress() { return progress_.download(run_.report).front(); }
  // Percent of the hidden layer's gradients that are 0 in T and not in FP32.
  double lostPct() {
    std::int64_t lost = 0;
    for (const float value : dh_.values.download(run_.report)) {
      lost += value != 0 && static_cast<float>(static_cast<T>(value)) == 0;
    }
    return 100 * static_cast<double>(lost) / static_cast<double>(dh_.size());
  }
  Weights weights() {
    Report& report = run_.report;
    return {first_.weights.values.download(report), first_.bias.download(report),
            second_.weights.values.download(report), second_.bias.download(report)};
  }

 private:
  template <class... Parameters, class... Given>
  void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, Given... given) {
    kernel<<<grid, block>>>(given...);
    run_.report.launches.add({name, grid, block});
  }
  void cast(Operand<T>& operand, bool rounded, bool turned) {
    rounded = rounded && !std::is_same_v<T, float>;
    if (rounded || turned) {
      launch("castKernel", castKernel<T>, {blocksFor(operand.columns, 32), blocksFor(operand.rows, 32)},
             {32, 8}, operand.rows, operand.columns, operand.values.get(),
             rounded ? operand.rounded.get() : nullptr, turned ? operand.turned.get() : nullptr);
    }
  }
  void product(const Product<T>& product) {
    const dim3 grid(blocksFor(product.columns, kSide), blocksFor(product.rows, kSide));
    if constexpr (std::is_same_v<T, float>) {
      launch("productFp32Kernel", productFp32Kernel, grid, kProductThreads, product);
    } else {
      launch("productTensorKernel", productTensorKernel<T>, grid, kProductThreads, product);
    }
  }
  void columnSums(const Operand<T>& gradient, Layer<T>& layer) {
    launch("columnSumsKernel", columnSumsKernel, blocksFor(gradient.columns, 32), {32, 32}, gradient.rows,
           gradient.columns, gradient.values.get(), layer.biasGradient.get());
  }
  void findOverflow(const Layer<T>& layer) {
    launch("findOverflowKernel", findOverflowKernel, blocksFor(layer.weights.size(), kThreads), kThreads,
           static_cast<long long>(layer.weights.size()), layer.gradient.get(), progress_.get());
  }
  void update(Layer<T>& layer) {
    const float rate = learningRate(sizes_);
    launch("updateKernel", updateKernel, blocksFor(layer.weights.size(), kThreads), kThreads,
           static_cast<long long>(layer.weights.size()), rate, layer.gradient.get(), progress_.get(),
           layer.weights.values.get());
    launch("updateKernel", updateKernel, blocksFor(layer.weights.rows, kThreads), kThreads,
           static_cast<long long>(layer.weights.rows), rate, layer.biasGradient.get(), progress_.get(),
           layer.bias.get());
  }

  Run& run_;
  Sizes sizes_;
  bool scaled_;
  Operand<T> x_, h_, dh_, dy_;
  Layer<T> first_, second_;
  DeviceArray<float> y_, wanted_;
  DeviceArray<Progress> progress_;
};

}  // namespace warpmeter::kernels
