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
  bool scoped = std::strcmp(words[1], "scoped") == 0;
  for (int round = 0; round < 3; round++) {
    std::thread(scoped ? put_scoped : put).join();
    std::thread(scoped ? drop_scoped : drop).join();
  }
}
