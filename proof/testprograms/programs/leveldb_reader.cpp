// Threads that read random keys of one LevelDB database, as fast as they can.
//
//   leveldb_reader DIR fill KEYS               makes the database and compacts it
//   leveldb_reader DIR read KEYS THREADS SECONDS
//
// LevelDB takes its one mutex twice for each Get (to pin the state, and to let it go), so with all data in its cache little
// else is left to wait for. Each value read is compared with what was written.

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kValueBytes = 100;

std::string Key(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llu", static_cast<unsigned long long>(number));
  return text;
}

// The key and then its last digit, so that a value which belongs to another key is seen.
bool IsValueOf(const std::string& key, const std::string& value) {
  return value.size() == kValueBytes && value.compare(0, key.size(), key) == 0 && value.back() == key.back();
}

int Fail(const leveldb::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Fill(leveldb::DB* db, uint64_t n_keys) {
  leveldb::WriteBatch batch;
  for (uint64_t number = 0; number < n_keys; ++number) {
    std::string key = Key(number), value = key;
    value.resize(kValueBytes, key.back());
    batch.Put(key, value);
  }
  leveldb::Status status = db->Write(leveldb::WriteOptions(), &batch);
  if (!status.ok()) return Fail(status);
  db->CompactRange(nullptr, nullptr);
  return 0;
}

struct alignas(128) Count {
  uint64_t reads = 0;
  uint64_t wrong = 0;
};

void Read(leveldb::DB* db, uint64_t n_keys, uint64_t seed, const std::atomic<bool>* stop, Count* result) {
  Count count;
  std::string value;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  while (!stop->load(std::memory_order_relaxed)) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const std::string key = Key(state % n_keys);
    const leveldb::Status status = db->Get(leveldb::ReadOptions(), key, &value);
    count.wrong += !status.ok() || !IsValueOf(key, value);
    ++count.reads;
  }
  *result = count;
}

int ReadAll(leveldb::DB* db, uint64_t n_keys, unsigned n_threads, double seconds) {
  std::atomic<bool> stop{false};
  std::vector<Count> counts(n_threads);
  std::vector<std::thread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n_threads; ++i) threads.emplace_back(Read, db, n_keys, i + 1, &stop, &counts[i]);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (auto& thread : threads) thread.join();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  Count all;
  for (const Count& count : counts) all.reads += count.reads, all.wrong += count.wrong;
  std::printf("ops %llu\nseconds %f\nwrong %llu\n", static_cast<unsigned long long>(all.reads), taken.count(),
              static_cast<unsigned long long>(all.wrong));
  return all.wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_fill = argc == 4 && !std::strcmp(argv[2], "fill");
  const bool is_read = argc == 6 && !std::strcmp(argv[2], "read");
  if (!is_fill && !is_read) {
    std::fprintf(stderr, "usage: leveldb_reader DIR fill KEYS | DIR read KEYS THREADS SECONDS\n");
    return 2;
  }
  std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(64 << 20));
  leveldb::Options options;
  options.create_if_missing = is_fill;
  options.block_cache = cache.get();
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, argv[1], &opened);
  if (!status.ok()) return Fail(status);
  std::unique_ptr<leveldb::DB> db(opened);
  const uint64_t n_keys = std::strtoull(argv[3], nullptr, 10);
  if (is_fill) return Fill(db.get(), n_keys);
  return ReadAll(db.get(), n_keys, std::strtoul(argv[4], nullptr, 10), std::strtod(argv[5], nullptr));
}
