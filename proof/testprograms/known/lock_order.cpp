// Locks of the C++ library that are taken in some order: cases one after the other, each with its own locks.
#include <mutex>
#include <thread>

struct Locks {
  // What comes first has the name of the whole.
  int before;
  std::mutex cache, table, outer, around;
};

// Those of the case that runs.
static Locks *its;

__attribute__((noinline)) static void put() {
  std::lock_guard<std::mutex> outer(its->cache);
  std::lock_guard<std::mutex> inner(its->table);
}

__attribute__((noinline)) static void drop() {
  std::lock_guard<std::mutex> outer(its->table);
  std::lock_guard<std::mutex> inner(its->cache);
}

// Both at once: one is locked, the other one tried, and the other way round.
static void put_scoped() { std::scoped_lock both(its->cache, its->table); }
static void drop_scoped() { std::scoped_lock both(its->table, its->cache); }

// Both at once, below another lock: any of the two may be waited for meanwhile.
static void put_below() {
  std::lock_guard<std::mutex> all(its->outer);
  std::scoped_lock both(its->cache, its->table);
}
static void drop_below() {
  std::lock_guard<std::mutex> one(its->table);
  std::lock_guard<std::mutex> all(its->outer);
}

// The same, and a lock that keeps the two threads apart.
static void put_within() {
  std::lock_guard<std::mutex> first(its->around);
  put_below();
}
static void drop_within() {
  std::lock_guard<std::mutex> first(its->around);
  drop_below();
}

// The program's own try, which waits for nothing.
static void put_trying() {
  std::lock_guard<std::mutex> all(its->outer);
  std::lock_guard<std::mutex> one(its->cache);
  if (its->table.try_lock()) its->table.unlock();
}

struct Entry {
  std::mutex first, second;
};

// Entries that are made and freed, at one address: each is locked in one order.
static void make_again() {
  for (int round = 0; round < 4; round++) {
    Entry *entry = new Entry;
    bool other_way = round % 2 != 0;
    {
      std::lock_guard<std::mutex> outer(other_way ? entry->second : entry->first);
      std::lock_guard<std::mutex> inner(other_way ? entry->first : entry->second);
    }
    delete entry;
  }
}

static Locks guards, scoped, below, within, trying;

int main() {
  std::thread(make_again).join();
  const struct {
    Locks &locks;
    void (*puts)(), (*drops)();
  } cases[] = {{guards, put, drop},
               {scoped, put_scoped, drop_scoped},
               {below, put_below, drop_below},
               {within, put_within, drop_within},
               {trying, put_trying, drop_below}};
  for (const auto &one : cases) {
    its = &one.locks;
    for (int round = 0; round < 3; round++) {
      std::thread(one.puts).join();
      std::thread(one.drops).join();
    }
  }
}
