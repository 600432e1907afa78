// SPDX-License-Identifier: Apache-2.0
// NVTX ranges around the phases of a program, counted, so that a recording of them has something to be
// equal to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/json_writer.h"

namespace warpmeter::kernels {

// Ranges in the domain "warpmeter.kernels" with registered strings, and plain text ranges in NVTX's default
// domain. One thread. Without NVTX (--nvtx off) nothing is called and nothing counted.
class Nvtx {
 public:
  explicit Nvtx(bool on);

  void push(const char* name);  // registered string, our domain
  void pop();
  void pushPlain(const char* name);  // text, default domain
  void popPlain();
  std::uint64_t start(const char* name);  // start/end range, our domain
  void end(std::uint64_t id);
  void mark(const char* name);

  void write(JsonWriter& json) const;  // an object

 private:
  struct Count {
    std::string name;
    const char* kind;
    bool defaultDomain;
    std::int64_t count;
  };
  struct Registered {
    std::string name;
    void* handle;
  };
  void* registered(const char* name);
  void count(const char* name, const char* kind, bool defaultDomain);

  void* domain_ = nullptr;
  std::vector<Registered> strings_;
  std::vector<Count> counts_;
  bool on_;
};

// A push/pop range for a scope.
class Phase {
 public:
  Phase(Nvtx& nvtx, const char* name) : nvtx_(nvtx) { nvtx_.push(name); }
  ~Phase() { nvtx_.pop(); }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  Nvtx& nvtx_;
};

}  // namespace warpmeter::kernels
