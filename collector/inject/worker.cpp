// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <pthread.h>
#include <signal.h>

#include "callbacks.h"
#include "clock.h"
#include "session.h"
#include "warpmeter/counters_guest/exact.h"
#include "warpmeter/counters_guest/pc.h"

namespace warpmeter::inject {
namespace {

// CUPTI runs on this stack; what it needs is its own affair, so not the smallest possible.
constexpr std::size_t kStackBytes = 512 * 1024;

void flush(Session& session) {
  session.flushing.store(1, std::memory_order_seq_cst);
  if (session.stopping.load(std::memory_order_seq_cst) == 0 && session.attached.load(std::memory_order_relaxed) != 0) {
    const std::int64_t start = monotonicNs();
    session.cupti.functions.cuptiActivityFlushAll(0);
    readDropCounter();
    session.header->flushCount.fetch_add(1, std::memory_order_relaxed);
    session.header->flushNs.fetch_add(static_cast<std::uint64_t>(monotonicNs() - start), std::memory_order_relaxed);
  }
  session.flushing.store(0, std::memory_order_release);
}

void* work(void*) {
  Session& session = gSession;
  pthread_setname_np(pthread_self(), "warpmeter");
  const std::int64_t periodNs = std::int64_t{session.options.flushMs} * 1000000;
  std::int64_t nextFlushNs = monotonicNs() + periodNs;
  while (recordingHere()) {
    const std::uint32_t seen = session.header->recorderDoorbell.load(std::memory_order_acquire);
    session.pool.reclaim();
    session.pool.refill(monotonicNs());
    const bool attached = session.attached.load(std::memory_order_relaxed) != 0;
    if (attached && monotonicNs() >= nextFlushNs) {
      if (session.lentBuffers.load(std::memory_order_relaxed) != 0) flush(session);
      if (session.stopping.load(std::memory_order_relaxed) == 0) {
        counters::exactTick();
        counters::pcTick();
      }
      nextFlushNs = monotonicNs() + periodNs;
    }
    session.header->threadCpuNs.store(static_cast<std::uint64_t>(nowNs(CLOCK_THREAD_CPUTIME_ID)),
                                      std::memory_order_relaxed);
    std::int64_t waitNs = attached ? nextFlushNs - monotonicNs() : -1;
    if (attached && waitNs < 1) waitNs = 1;
    futexWait(session.header->recorderDoorbell, seen, waitNs);
  }
  return nullptr;
}

}  // namespace

bool startWorker() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;  // the new thread inherits the mask
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, work, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) {  // a host with much thread-local data may need more stack than ours: the default then
    error = pthread_create(&thread, nullptr, work, nullptr);
    if (error == 0) pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

void stopFlushing() noexcept {
  Session& session = gSession;
  session.stopping.store(1, std::memory_order_seq_cst);
  for (int i = 0; i < 1000 && session.flushing.load(std::memory_order_seq_cst) != 0; ++i) {
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace warpmeter::inject
