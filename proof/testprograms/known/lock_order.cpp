// Locks of the C++ library that are taken in some order. The argument says how.
#include <cstring>
#include <mutex>
#include <thread>

static std::mutex cache, table;

__attribute__((noinline)) static void put() {
  std::lock_guard<std::mutex> outer(cache);
  std::lock_guard<std::mutex> inner(table);
}

__attribute__((noinline)) static void drop() {
  std::lock_guard<std::mutex> outer(table);
  std::lock_guard<std::mutex> inner(cache);
}

// Both at once: one is locked, the other one tried, and the other way round.
static void put_scoped() { std::scoped_lock both(cache, table); }
static void drop_scoped() { std::scoped_lock both(table, cache); }

// Both at once, below another lock: any of the two may be waited for meanwhile.
static std::mutex outer;
static void put_below() {
  std::lock_guard<std::mutex> all(outer);
  std::scoped_lock both(cache, table);
}
static void drop_below() {
  std::lock_guard<std::mutex> one(table);
  std::lock_guard<std::mutex> all(outer);
}

// The same, and a lock that keeps the two threads apart.
static std::mutex around;
static void put_within() {
  std::lock_guard<std::mutex> first(around);
  put_below();
}
static void drop_within() {
  std::lock_guard<std::mutex> first(around);
  drop_below();
}

// The program's own try, which waits for nothing.
static void put_trying() {
  std::lock_guard<std::mutex> all(outer);
  std::lock_guard<std::mutex> one(cache);
  if (table.try_lock()) table.unlock();
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

int main(int, char **words) {
  if (std::strcmp(words[1], "again") == 0) {
    std::thread(make_again).join();
    return 0;
  }
  struct Case {
    const char *name;
    void (*puts)(), (*drops)();
  };
  const Case cases[] = {{"guards", put, drop},
                        {"scoped", put_scoped, drop_scoped},
                        {"below", put_below, drop_below},
                        {"within", put_within, drop_within},
                        {"trying", put_trying, drop_below}};
  for (const Case &one : cases) {
    if (std::strcmp(words[1], one.name) != 0) continue;
    for (int round = 0; round < 3; round++) {
      std::thread(one.puts).join();
      std::thread(one.drops).join();
    }
  }
}
