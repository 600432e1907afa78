// SPDX-License-Identifier: Apache-2.0
// Column<T>: one array of a ProfileView. Copies share the array; a view never sees what a later one appended.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace warpmeter::analyzer {

// Reading is free of locks: elements [0, size()) never change. extended() writes behind the last element of
// this column when nobody did so before and there is room, and copies the array otherwise; so a chain of
// views of a growing file holds each row once. Threads: const calls from any thread.
template <class T>
class Column {
 public:
  Column() = default;
  explicit Column(std::vector<T> values)
      : size_(values.size()), store_(std::make_shared<Store>(std::move(values))) {}
  // Of room for `capacity` elements the first `size` are filled.
  Column(std::unique_ptr<T[]> values, std::size_t capacity, std::size_t size)
      : size_(size), store_(std::make_shared<Store>(std::move(values), capacity, size)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return store_ ? store_->data.get() : nullptr; }
  const T& operator[](std::size_t i) const { return store_->data[i]; }
  std::span<const T> span() const { return {data(), size_}; }
  auto begin() const { return span().begin(); }
  auto end() const { return span().end(); }
  bool sharesWith(const Column& other) const { return store_ && store_ == other.store_; }

  Column extended(std::span<const T> more) const {
    Column out;
    out.size_ = size_ + more.size();
    std::size_t expected = size_;
    if (store_ && out.size_ <= store_->capacity &&
        store_->used.compare_exchange_strong(expected, out.size_)) {
      out.store_ = store_;
    } else {
      out.store_ = std::make_shared<Store>(out.size_ + out.size_ / 2, out.size_);
      std::copy_n(data(), size_, out.store_->data.get());
    }
    std::copy(more.begin(), more.end(), out.store_->data.get() + size_);
    return out;
  }

 private:
  struct Store {
    explicit Store(std::vector<T> values) : Store(values.size(), values.size()) {
      std::copy(values.begin(), values.end(), data.get());
    }
    Store(std::size_t room, std::size_t filled)
        : Store(std::make_unique_for_overwrite<T[]>(room), room, filled) {}
    Store(std::unique_ptr<T[]> values, std::size_t room, std::size_t filled)
        : data(std::move(values)), capacity(room), used(filled) {}
    std::unique_ptr<T[]> data;
    std::size_t capacity;
    std::atomic<std::size_t> used;
  };
  std::size_t size_ = 0;
  std::shared_ptr<Store> store_;
};

}  // namespace warpmeter::analyzer
