// What a C++ program reaches of the C library's locks through libstdc++: mutex, timed_mutex, recursive_mutex,
// recursive_timed_mutex, condition_variable, condition_variable_any, call_once. Prints what was counted, and fails if that
// is not what it must be. It ends by itself if no lock forgets anybody.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

constexpr int kThreads = 8;
constexpr int kTurns = 20000;
bool all_fine = true;

void Expect(const char* what, long seen, long wanted) {
  std::printf("%s %ld\n", what, seen);
  if (seen == wanted) return;
  std::fprintf(stderr, "%s: %ld, not %ld\n", what, seen, wanted);
  all_fine = false;
}

void Crowd(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (auto& thread : threads) thread.join();
}

template <typename Mutex>
void Counting(const char* what, const std::function<void(Mutex&)>& lock) {
  Mutex mutex;
  long count = 0;
  Crowd([&](int) {
    for (int turn = 0; turn < kTurns; ++turn) {
      lock(mutex);
      ++count;
      mutex.unlock();
    }
  });
  Expect(what, count, static_cast<long>(kThreads) * kTurns);
}

template <typename Condition>
void BoundedQueue(const char* what) {
  std::mutex mutex;
  Condition has_room, has_items;
  int queued = 0;
  long taken = 0;
  Crowd([&](int number) {
    for (int turn = 0; turn < kTurns; ++turn) {
      std::unique_lock<std::mutex> guard(mutex);
      if (number % 2) {
        has_room.wait(guard, [&] { return queued < 4; });
        ++queued;
        has_items.notify_one();
      } else {
        has_items.wait(guard, [&] { return queued > 0; });
        --queued, ++taken;
        has_room.notify_one();
      }
    }
  });
  Expect(what, taken, static_cast<long>(kThreads) / 2 * kTurns);
}

void Deadlines() {
  std::timed_mutex mutex;
  std::mutex plain;
  std::condition_variable nobody_notifies;
  std::atomic<long> too_early{0}, acquired{0};
  mutex.lock();
  Crowd([&](int) {
    const auto start = std::chrono::steady_clock::now();
    acquired += mutex.try_lock_for(milliseconds(20));
    std::unique_lock<std::mutex> guard(plain);
    nobody_notifies.wait_for(guard, milliseconds(20), [] { return false; });
    too_early += std::chrono::steady_clock::now() - start < milliseconds(40);
  });
  mutex.unlock();
  Expect("acquired while held", acquired, 0);
  Expect("timeouts that came too early", too_early, 0);
  Expect("free afterwards", mutex.try_lock(), 1);
  mutex.unlock();
}

void Broadcasts() {
  std::mutex mutex;
  std::condition_variable turn;
  int arrived = 0, generation = 0;
  constexpr int kGenerations = 500;
  Crowd([&](int) {
    for (int mine = 0; mine < kGenerations; ++mine) {
      std::unique_lock<std::mutex> guard(mutex);
      if (++arrived == kThreads) {
        arrived = 0, ++generation;
        turn.notify_all();
      } else {
        turn.wait(guard, [&] { return generation > mine; });
      }
    }
  });
  Expect("generations", generation, kGenerations);
}

}  // namespace

int main() {
  Counting<std::mutex>("mutex", [](std::mutex& mutex) { mutex.lock(); });
  Counting<std::mutex>("try_lock", [](std::mutex& mutex) {
    while (!mutex.try_lock()) std::this_thread::yield();
  });
  Counting<std::timed_mutex>("timed_mutex", [](std::timed_mutex& mutex) {
    while (!mutex.try_lock_for(milliseconds(1))) continue;
  });
  Counting<std::recursive_mutex>("recursive_mutex", [](std::recursive_mutex& mutex) {
    mutex.lock(), mutex.lock(), mutex.unlock();
  });
  Counting<std::recursive_timed_mutex>("recursive_timed_mutex", [](std::recursive_timed_mutex& mutex) {
    while (!mutex.try_lock_for(milliseconds(1))) continue;
  });
  BoundedQueue<std::condition_variable>("condition_variable");
  BoundedQueue<std::condition_variable_any>("condition_variable_any");
  Deadlines();
  Broadcasts();
  std::once_flag once;
  std::atomic<long> calls{0};
  Crowd([&](int) { std::call_once(once, [&] { ++calls; }); });
  Expect("call_once", calls, 1);
  return all_fine ? 0 : 1;
}
