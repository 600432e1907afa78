// SPDX-License-Identifier: Apache-2.0
// Runs the device code of the bundled kernels on the CPU, block by block: each thread is a coroutine that
// runs until it has to wait for others. It finds wrong indices, missing barriers and pipelines that are read
// too early. It says nothing about speed, and tries two orders of execution only: warps, and the threads of a
// warp, in rising and in falling order, each warp running until it needs the others.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace emulated {

inline dim3 gridSize, blockSize, blockIndex;
inline uint3 threadIndex;
inline bool fallingOrder = false;

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

class Block {
 public:
  static constexpr std::size_t kStackBytes = 64 << 10;

  // Runs kernel() once for each thread of the current block.
  void run(const std::function<void()>& kernel) {
    kernel_ = &kernel;
    threads_ = std::vector<Thread>(static_cast<std::size_t>(blockSize.x) * blockSize.y * blockSize.z);
    warps_ = std::vector<Meeting>((threads_.size() + 31) / 32);
    all_ = {};
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      thread.stack.resize(kStackBytes);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = &scheduler_;
      makecontext(&thread.context, reinterpret_cast<void (*)()>(&Block::enter), 0);
    }
    running() = this;
    left_ = threads_.size();
    while (left_ > 0) {
      const std::size_t before = progress_;
      for (std::size_t k = 0; k < warps_.size(); ++k) {
        runWarp(fallingOrder ? warps_.size() - 1 - k : k);
      }
      if (before == progress_) {
        throw std::runtime_error("the threads of a block wait for one another for ever");
      }
    }
  }

  static Block*& running() {
    static Block* block = nullptr;
    return block;
  }

  std::size_t thread() const { return current_; }
  std::size_t threads() const { return threads_.size(); }
  void wait() { meet(all_, threads_.size()); }
  void waitForWarp() { meet(warps_[current_ / 32], 32); }

  // What a thread shows to the others of its warp; read after waitForWarp(), and waited for once more after
  // that.
  template <class T>
  T& shown(std::size_t thread) {
    static_assert(sizeof(T) <= sizeof(Thread::shown));
    return *reinterpret_cast<T*>(threads_[thread].shown);
  }

  // Asynchronous copies of this thread: made as late as the program allows.
  void startCopy(const Copy& copy) { threads_[current_].copies.back().push_back(copy); }
  void commitCopies() { threads_[current_].copies.emplace_back(); }
  void waitForCopies(std::size_t mayBeLeft) {
    auto& groups = threads_[current_].copies;
    while (groups.size() - 1 > mayBeLeft) {
      for (const Copy& copy : groups.front()) {
        std::memcpy(copy.to, copy.from, copy.bytes);
      }
      groups.erase(groups.begin());
    }
  }

 private:
  struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
    alignas(16) unsigned char shown[64];
    std::vector<std::vector<Copy>> copies{{}};
  };
  struct Meeting {
    std::size_t arrived = 0, round = 0;
  };

  // As far as it gets without the other warps, so that these are as far behind as they can be.
  void runWarp(std::size_t warp) {
    const std::size_t first = warp * 32;
    const std::size_t size = std::min<std::size_t>(32, threads_.size() - first);
    for (std::size_t before = progress_ + 1; before != progress_;) {
      before = progress_;
      for (std::size_t k = 0; k < size; ++k) {
        current_ = first + (fallingOrder ? size - 1 - k : k);
        if (!threads_[current_].done) {
          const auto id = static_cast<unsigned>(current_);
          threadIndex = {id % blockSize.x, id / blockSize.x % blockSize.y, id / blockSize.x / blockSize.y};
          swapcontext(&scheduler_, &threads_[current_].context);
        }
      }
    }
  }

  static void enter() {
    Block& block = *running();
    (*block.kernel_)();
    block.threads_[block.current_].done = true;
    ++block.progress_;
    --block.left_;
  }

  void meet(Meeting& meeting, std::size_t wanted) {
    const std::size_t round = meeting.round;
    ++progress_;
    if (++meeting.arrived == wanted) {
      meeting.arrived = 0;
      ++meeting.round;
      return;
    }
    while (meeting.round == round) {
      swapcontext(&threads_[current_].context, &scheduler_);
    }
  }

  const std::function<void()>* kernel_ = nullptr;
  ucontext_t scheduler_;
  std::vector<Thread> threads_;
  std::vector<Meeting> warps_;
  Meeting all_;
  std::size_t current_ = 0;
  std::size_t progress_ = 0;
  std::size_t left_ = 0;
};

// A launch. The grid's blocks run one after the other.
inline void launch(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  gridSize = grid;
  blockSize = block;
  Block runner;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIndex = dim3(x, y, z);
        runner.run(kernel);
      }
    }
  }
}

// Gives every thread of the warp what the others show, in the order of the lanes.
template <class T>
std::vector<T> showToWarp(const T& value) {
  Block& block = *Block::running();
  block.shown<T>(block.thread()) = value;
  block.waitForWarp();
  std::vector<T> all;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    all.push_back(block.shown<T>(block.thread() / 32 * 32 + lane));
  }
  block.waitForWarp();
  return all;
}

}  // namespace emulated

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ thread_local  // all coroutines belong to one thread: one array for the block
#define __launch_bounds__(...)
#define gridDim emulated::gridSize
#define blockDim emulated::blockSize
#define blockIdx emulated::blockIndex
#define threadIdx emulated::threadIndex

inline void __syncthreads() { emulated::Block::running()->wait(); }

// Atomics: one thread runs at a time.
template <class T>
T atomicAdd(T* to, std::type_identity_t<T> value) {
  return std::exchange(*to, static_cast<T>(*to + value));
}

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulated::showToWarp(value)[static_cast<std::size_t>(lane) % 32];
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  const std::size_t lane = emulated::Block::running()->thread() % 32;
  return emulated::showToWarp(value)[(lane ^ mask) % 32];
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned offset) {
  const std::size_t lane = emulated::Block::running()->thread() % 32;
  const std::vector<T> all = emulated::showToWarp(value);
  return lane >= offset ? all[lane - offset] : value;
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned offset) {
  const std::size_t lane = emulated::Block::running()->thread() % 32;
  const std::vector<T> all = emulated::showToWarp(value);
  return lane + offset < 32 ? all[lane + offset] : value;
}
inline unsigned __ballot_sync(unsigned, int holds) {
  const std::vector<int> all = emulated::showToWarp(holds);
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    lanes |= (all[lane] != 0 ? 1u : 0u) << lane;
  }
  return lanes;
}

inline int __ffs(unsigned bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }
inline int __popc(unsigned bits) { return std::popcount(bits); }

// Loads and stores that no cache is to keep.
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    std::fputs("an asynchronous copy is not aligned to its size\n",
               stderr);  // nothing can be thrown out of a coroutine
    std::abort();
  }
  emulated::Block::running()->startCopy({to, from, bytes});
}
inline void __pipeline_commit() { emulated::Block::running()->commitCopies(); }
inline void __pipeline_wait_prior(std::size_t mayBeLeft) {
  emulated::Block::running()->waitForCopies(mayBeLeft);
}

// What kernels/tensor_ops.cuh does with PTX, by the figures of the PTX manual, "Matrix Fragments for
// mma.m16n8k16" and "mma.m16n8k8", and the text on ldmatrix.
inline void loadMatrices(unsigned (&to)[4], const unsigned char* row) {
  const std::vector<const unsigned char*> rows = emulated::showToWarp(row);
  const std::size_t lane = emulated::Block::running()->thread() % 32;
  for (std::size_t m = 0; m < 4; ++m) {
    std::memcpy(&to[m], rows[8 * m + lane / 4] + lane % 4 * 4, 4);
  }
}

namespace emulated {

inline float element(unsigned word, int index, __nv_bfloat16) {
  return std::bit_cast<float>(index == 0 ? word << 16 : word & 0xffff0000u);
}
inline float element(unsigned word, int, float) { return std::bit_cast<float>(word & ~0x1fffu); }
inline float element(unsigned word, int index, __half) {
  return __half2float(std::bit_cast<__half>(static_cast<std::uint16_t>(word >> 16 * index)));
}
inline int element(unsigned word, int index, signed char) {
  return static_cast<signed char>(word >> 8 * index);
}

}  // namespace emulated

template <class Sum, class T>
void multiplyAdd(Sum (&sum)[4], const unsigned (&a)[4], const unsigned* b, T type) {
  struct Words {
    unsigned a[4], b[2];
  };
  const std::vector<Words> all = emulated::showToWarp(Words{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  const auto lane = static_cast<int>(emulated::Block::running()->thread() % 32);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8;
    const int column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 8 * kPerWord; ++k) {
      const int word = k / kPerWord;  // of a row of A or a column of B, 8 words long
      const unsigned ofA = all[static_cast<std::size_t>(row % 8 * 4 + word % 4)].a[row / 8 + word / 4 * 2];
      const unsigned ofB = all[static_cast<std::size_t>(column * 4 + word % 4)].b[word / 4];
      sum[i] += emulated::element(ofA, k % kPerWord, type) * emulated::element(ofB, k % kPerWord, type);
    }
  }
}
