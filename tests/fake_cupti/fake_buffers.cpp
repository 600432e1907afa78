// SPDX-License-Identifier: Apache-2.0
#include "fake_buffers.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

namespace warpmeter::fake {

struct Buffer {
  std::uint8_t* start = nullptr;
  std::size_t size = 0, used = 0;
  std::deque<Reservation> open;       // addresses stay while others leave at the front
  bool full = false;
};

struct Reservation {
  Buffer* buffer;
  void* record;
  std::size_t bytes;
  std::int64_t readyNs;
  bool done;
  Fill fill;
};

namespace {

struct Thread {
  std::mutex mutex;
  Buffer* current = nullptr;
  std::vector<Buffer*> full;
};

std::mutex gMutex;  // the list of threads
std::vector<Thread*>& threads() {
  static auto* list = new std::vector<Thread*>;
  return *list;
}
void lockAll() {
  gMutex.lock();
  for (Thread* thread : threads()) thread->mutex.lock();
}
void unlockAll() {
  for (Thread* thread : threads()) thread->mutex.unlock();
  gMutex.unlock();
}
Thread& thisThread() {
  thread_local Thread* thread = [] {
    auto* fresh = new Thread;
    const std::lock_guard lock(gMutex);
    threads().push_back(fresh);
    return fresh;
  }();
  return *thread;
}

CUpti_BuffersCallbackRequestFunc gRequest = nullptr;
CUpti_BuffersCallbackCompleteFunc gComplete = nullptr;
std::atomic<std::uint64_t> gWritten{0}, gDropped{0}, gDroppedTotal{0}, gRequested{0}, gRefused{0}, gCompleted{0}, gDirty{0};
std::atomic<bool> gExpectZero{false};

bool allZero(const std::uint8_t* start, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (start[i] != 0) return false;
  }
  return true;
}

Buffer* requestBuffer() {
  auto* buffer = new Buffer;
  std::size_t maxRecords = 0;
  if (gRequest != nullptr) gRequest(&buffer->start, &buffer->size, &maxRecords);
  ++gRequested;
  if (buffer->start == nullptr || buffer->size == 0) {
    ++gRefused;
    delete buffer;
    return nullptr;
  }
  if (!gExpectZero) {
    std::memset(buffer->start, 0, buffer->size);
  } else if (!allZero(buffer->start, buffer->size)) {
    ++gDirty;
  }
  return buffer;
}

void fillNow(Reservation& reservation, bool finished) {
  if (reservation.done) return;
  reservation.fill(reservation.record, finished);
  reservation.done = true;
  ++gWritten;
}

// Fills what the GPU has finished; true when nothing of the buffer is open any more.
bool settle(Buffer& buffer, std::int64_t now) {
  for (Reservation& reservation : buffer.open) {
    if (!reservation.done && reservation.readyNs != 0 && reservation.readyNs <= now) fillNow(reservation, true);
  }
  while (!buffer.open.empty() && buffer.open.front().done) buffer.open.pop_front();
  return buffer.open.empty();
}

void deliver(Buffer* buffer) {
  ++gCompleted;
  gComplete(nullptr, 0, buffer->start, buffer->size, buffer->used);
  if (buffer->open.empty()) delete buffer;  // else a call of another thread still points into it
}

}  // namespace

std::int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

const Settings& settings() {
  static const Settings* const kSettings = [] {
    auto* s = new Settings;
    if (const char* text = std::getenv("FAKE_CUPTI_VERSION")) s->version = static_cast<std::uint32_t>(std::atoi(text));
    if (const char* text = std::getenv("FAKE_CUPTI_FAIL")) s->failures = text;
    if (const char* text = std::getenv("FAKE_CUPTI_HOLDER")) s->holder = text;
#ifdef WARPMETER_FAKE_OLD
    if (std::getenv("FAKE_CUPTI_VERSION") == nullptr) s->version = 22;  // CUDA 12.4
#endif
    return s;
  }();
  return *kSettings;
}

void setBufferFunctions(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  gRequest = request;
  gComplete = complete;
  // A forked child shall find no mutex that a thread of its parent holds.
  pthread_atfork(lockAll, unlockAll, unlockAll);
}

void expectZeroedBuffers() { gExpectZero = true; }

Reservation* reserve(std::uint32_t kind, std::int64_t readyNs, Fill fill) {
  const std::size_t bytes = recordBytes(kind);
  Thread& thread = thisThread();
  std::vector<Buffer*> ready;
  Reservation* result = nullptr;
  {
    const std::lock_guard lock(thread.mutex);
    const std::int64_t now = nowNs();
    if (thread.current != nullptr && thread.current->used + bytes > thread.current->size) {
      thread.current->full = true;
      thread.full.push_back(thread.current);
      thread.current = nullptr;
    }
    for (auto it = thread.full.begin(); it != thread.full.end();) {
      if (settle(**it, now)) {
        ready.push_back(*it);
        it = thread.full.erase(it);
      } else {
        ++it;
      }
    }
    if (thread.current == nullptr) thread.current = requestBuffer();
    if (thread.current == nullptr) {
      ++gDropped;
      ++gDroppedTotal;
    } else {
      Buffer& buffer = *thread.current;
      settle(buffer, now);
      buffer.open.push_back({&buffer, buffer.start + buffer.used, bytes, readyNs, false, std::move(fill)});
      buffer.used += bytes;
      result = &buffer.open.back();
    }
  }
  for (Buffer* buffer : ready) deliver(buffer);
  return result;
}

void finish(Reservation* reservation) {
  if (reservation == nullptr) return;
  const std::lock_guard lock(thisThread().mutex);
  fillNow(*reservation, true);
}

void flushAll(bool forced) {
  std::vector<Thread*> all;
  {
    const std::lock_guard lock(gMutex);
    all = threads();
  }
  for (Thread* thread : all) {
    std::vector<Buffer*> ready;
    {
      const std::lock_guard lock(thread->mutex);
      const std::int64_t now = nowNs();
      if (thread->current != nullptr && (settle(*thread->current, now) || forced)) {
        ready.push_back(thread->current);
        thread->current = nullptr;
      }
      for (auto it = thread->full.begin(); it != thread->full.end();) {
        if (settle(**it, now) || forced) {
          ready.push_back(*it);
          it = thread->full.erase(it);
        } else {
          ++it;
        }
      }
    }
    for (Buffer* buffer : ready) {
      // A forced flush returns records that are still open: kind and ids are there, the end is 0.
      for (Reservation& reservation : buffer->open) {
        fillNow(reservation, false);
      }
      deliver(buffer);
    }
  }
}

std::uint64_t takeDropped() { return gDropped.exchange(0); }

BufferCounts bufferCounts() { return {gWritten, gDroppedTotal, gRequested, gRefused, gCompleted, gDirty}; }

}  // namespace warpmeter::fake
