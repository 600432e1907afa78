// SPDX-License-Identifier: Apache-2.0
// The functions of cuDNN 9 that stand beside the convolutions. Declared here by its documentation (9.x,
// "cudnn_ops" and "cudnn_cnn"), so that neither its headers nor the library are needed to build.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/gpu.h"
#include "common/optional_library.h"

namespace warpmeter::kernels {

// y = x convolved with filters of 3 x 3, FP32 without TF32, a border of one pixel of zeros. x is
// [image][channel][row][column], y the same with filters for channels, filters [filter][channel][3][3].
// One thread.
class Cudnn {
 public:
  Cudnn() = default;
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn() {
    if (handle_ != nullptr) {
      destroy_(handle_);
    }
  }

  // After openDevice. False without the library; the report says so. Descriptors live as long as the process.
  [[nodiscard]] bool start(Run& run, int images, int channels, int filters, int height, int width) {
    const OptionalLibrary library("cuDNN", {"libcudnn.so.9"});
    if (!library) {
      library.reportAbsence(run);
      return false;
    }
    int (*create)(void**) = nullptr;
    int (*createTensor)(void**) = nullptr;
    int (*createFilter)(void**) = nullptr;
    int (*createConvolution)(void**) = nullptr;
    int (*setTensor)(void*, int format, int type, int n, int c, int h, int w) = nullptr;
    int (*setFilter)(void*, int type, int format, int k, int c, int h, int w) = nullptr;
    int (*setConvolution)(void*, int padH, int padW, int strideH, int strideW, int dilationH, int dilationW,
                          int mode, int computeType) = nullptr;
    int (*setMath)(void*, int math) = nullptr;
    library.load(create, "cudnnCreate");
    library.load(destroy_, "cudnnDestroy");
    library.load(createTensor, "cudnnCreateTensorDescriptor");
    library.load(createFilter, "cudnnCreateFilterDescriptor");
    library.load(createConvolution, "cudnnCreateConvolutionDescriptor");
    library.load(setTensor, "cudnnSetTensor4dDescriptor");
    library.load(setFilter, "cudnnSetFilter4dDescriptor");
    library.load(setConvolution, "cudnnSetConvolution2dDescriptor");
    library.load(setMath, "cudnnSetConvolutionMathType");
    library.load(workspaceSize_, "cudnnGetConvolutionForwardWorkspaceSize");
    library.load(forward_, "cudnnConvolutionForward");
    constexpr int kNchw = 0, kFloat = 0, kCrossCorrelation = 1;
    constexpr int kFmaMath = 3;  // no tensor cores, so no TF32
    require(create(&handle_), "cudnnCreate");
    require(createTensor(&x_), "cudnnCreateTensorDescriptor");
    require(createTensor(&y_), "cudnnCreateTensorDescriptor");
    require(createFilter(&filters_), "cudnnCreateFilterDescriptor");
    require(createConvolution(&convolution_), "cudnnCreateConvolutionDescriptor");
    require(setTensor(x_, kNchw, kFloat, images, channels, height, width), "cudnnSetTensor4dDescriptor");
    require(setTensor(y_, kNchw, kFloat, images, filters, height, width), "cudnnSetTensor4dDescriptor");
    require(setFilter(filters_, kFloat, kNchw, filters, channels, 3, 3), "cudnnSetFilter4dDescriptor");
    require(setConvolution(convolution_, 1, 1, 1, 1, 1, 1, kCrossCorrelation, kFloat),
            "cudnnSetConvolution2dDescriptor");
    require(setMath(convolution_, kFmaMath), "cudnnSetConvolutionMathType");
    run.report.notice("cuDNN chooses its kernels: they are not in the list of launches");
    return true;
  }

  // Tries all algorithms (0 to 7, cudnnConvolutionFwdAlgo_t) that work here and fit freeBytes of workspace;
  // keeps the fastest. Its number is reported.
  void choose(Run& run, const float* x, const float* filters, float* y, std::size_t freeBytes) {
    constexpr int kAlgorithms = 8;
    constexpr int kTries = 3;
    double bestNs = 0;
    for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      std::size_t bytes = 0;
      if (workspaceSize_(handle_, x_, filters_, convolution_, y_, algorithm, &bytes) != 0 ||
          bytes > freeBytes) {
        continue;
      }
      auto workspace =
          std::make_unique<DeviceArray<char>>(static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)));
      if (forward(algorithm, *workspace, x, filters, y) != 0) {  // also the warm-up
        continue;
      }
      EventTimer timer;
      timer.start();
      for (int i = 0; i < kTries; ++i) {
        require(forward(algorithm, *workspace, x, filters, y), "cudnnConvolutionForward");
      }
      const double ns = timer.stopNs();
      if (algorithm_ < 0 || ns < bestNs) {
        bestNs = ns;
        algorithm_ = algorithm;
        workspace_ = std::move(workspace);
      }
    }
    if (algorithm_ < 0) {
      throw Failure{kExitFailed, "cuDNN has no algorithm for this convolution"};
    }
    run.report.value("algorithm", "cuDNN's algorithm", algorithm_, Unit::count);
    run.report.value("workspaceBytes", "its workspace", static_cast<double>(workspace_->bytes()),
                     Unit::bytes);
  }

  // After choose().
  void convolve(const float* x, const float* filters, float* y) const {
    require(forward(algorithm_, *workspace_, x, filters, y), "cudnnConvolutionForward");
  }

 private:
  int forward(int algorithm, const DeviceArray<char>& workspace, const float* x, const float* filters,
              float* y) const {
    const float one = 1, zero = 0;
    return forward_(handle_, &one, x_, x, filters_, filters, convolution_, algorithm, workspace.get(),
                    workspace.bytes(), &zero, y_, y);
  }
  static void require(int status, const char* what) {
    if (status != 0) {
      throw Failure{kExitFailed, std::string(what) + " failed with status " + std::to_string(status)};
    }
  }

  void* handle_ = nullptr;
  void *x_ = nullptr, *y_ = nullptr, *filters_ = nullptr, *convolution_ = nullptr;
  int algorithm_ = -1;
  std::unique_ptr<DeviceArray<char>> workspace_;
  int (*destroy_)(void*) = nullptr;
  int (*workspaceSize_)(void* handle, void* x, void* filters, void* convolution, void* y, int algorithm,
                        std::size_t* bytes) = nullptr;
  int (*forward_)(void* handle, const void* alpha, void* x, const void* xData, void* filters,
                  const void* filterData, void* convolution, int algorithm, void* workspace,
                  std::size_t workspaceBytes, const void* beta, void* y, void* yData) = nullptr;
};

}  // namespace warpmeter::kernels
