// SPDX-License-Identifier: Apache-2.0
// What ran on one GPU, and a walk along its samples that says what ran during each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpmeter::analyzer {

// kind: a distinct kernel of this GPU, numbered densely, or, from Schedule::kernels on, a group of copies.
struct Operation {
  std::int64_t startNs = 0, endNs = 0;
  std::uint32_t kind = 0;
};

struct Schedule {
  std::vector<Operation> ops;       // by start
  std::vector<std::int64_t> reach;  // largest end among ops[0..i]
  std::uint32_t kernels = 0, kinds = 0;

  bool isKernel(const Operation& op) const { return op.kind < kernels; }
  void finish();  // sorts, drops empty operations, fills reach
  // The first operation that could still run at t.
  std::size_t firstAlive(std::int64_t t) const;
};

// Goes along samples of rising start. O(1) a sample on average.
class SampleWalk {
 public:
  struct Piece {
    std::uint32_t op = 0;
    std::int64_t fromNs = 0, toNs = 0;
  };
  explicit SampleWalk(const Schedule& schedule) : schedule_(schedule) {}

  void moveTo(std::int64_t beginNs, std::int64_t endNs);

  std::span<const Piece> pieces() const { return pieces_; }  // by start of the operation
  std::int64_t idleNs() const { return idleNs_; }
  // Time in which kernels of different kinds ran at once, roughly where there are more than two.
  std::int64_t concurrentNs() const { return concurrentNs_; }

 private:
  const Schedule& schedule_;
  std::vector<std::uint32_t> alive_;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;
  bool started_ = false;
  std::int64_t idleNs_ = 0, concurrentNs_ = 0;
};

}  // namespace warpmeter::analyzer
