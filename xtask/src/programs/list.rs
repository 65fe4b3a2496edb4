//! The programs: what each needs, in which settings it runs, what prepares and runs it, and what is known of its locks.

use super::place::{Need, Place};
use super::run::{ExpectedProfile, Program, Run, Sample, Setting};
use super::{batch, correct, servers};

const fn row(
    name: &'static str,
    needs: &'static [Need],
    settings: &'static [Setting],
    prepare: fn(&Place) -> Result<(), String>,
    run: fn(&Run) -> Result<Sample, String>,
) -> Program {
    Program { name, needs, settings, prepare, run, known: None }
}

fn nothing(_: &Place) -> Result<(), String> {
    Ok(())
}

const fn of(label: &'static str, threads: u32) -> Setting {
    Setting { label, threads }
}

const ALONE: &[Setting] = &[of("1", 1), of("1 + 1 asleep", 2)];
const UP_TO_64: &[Setting] = &[of("2", 2), of("16", 16), of("64", 64)];
const FROM_ONE: &[Setting] = &[of("1", 1), of("2", 2), of("16", 16), of("64", 64)];
const POOLS: &[Setting] = &[of("4", 4), of("8", 8), of("16", 16), of("64", 64)];
const EIGHT: &[Setting] = &[of("8", 8)];
const ONCE: &[Setting] = &[of("", 8)];
const CLIENTS: &[Setting] = &[of("64", 64), of(servers::BUSY, 64)];
/// Some of many: threads, mutexes, choice of one, increments inside and outside, place of the data.
const SECTIONS: &[Setting] =
    &[of("2 1 turn 5 5 beside", 2), of("8 1 turn 50 200 apart", 8), of("32 2 turn 5 50 own", 32)];
const RANDOM: &[Setting] = &[of("8 16 random 1 0 beside", 8), of("32 1024 random 1 0 beside", 32)];

const C: Need = ("gcc", "cc");
const CPP: Need = ("g++", "c++");
const LEVELDB: Need = ("libleveldb-dev", "leveldb/db.h");
const SQLITE: Need = ("libsqlite3-dev", "sqlite3.h");
const SYSBENCH: Need = ("sysbench", "sysbench");
const MARIADB: Need = ("mariadb-server-core", "mariadbd");
const MEMCACHED: Need = ("memcached", "memcached");
const MEMCASLAP: Need = ("libmemcached-tools", "memcaslap");

/// In the order in which they run and are shown.
pub(super) const PROGRAMS: &[Program] = &[
    row("uncontended", &[C], ALONE, |place| place.compile("uncontended.c", ""), batch::uncontended),
    row("sysbench-mutex", &[SYSBENCH], UP_TO_64, nothing, batch::sysbench_mutex).with(ExpectedProfile {
        setting: "16",
        lock: "the only mutex of `thread_locks`, mutex_execute_event in sysbench's src/tests/mutex/sb_mutex.c",
        name: "initialised in sysbench+0x",
        module: "sysbench",
        waiters: &[],
        share: 0.9,
    }),
    row("sysbench-threads", &[SYSBENCH], UP_TO_64, nothing, batch::sysbench_threads).with(ExpectedProfile {
        setting: "16",
        lock: "the only mutex of `test_mutexes`, threads_execute_event in sysbench's src/tests/threads/sb_threads.c",
        name: "initialised in sysbench+0x",
        module: "sysbench",
        waiters: &[],
        share: 0.9,
    }),
    row("leveldb", &[CPP, LEVELDB], FROM_ONE, batch::prepare_leveldb, batch::leveldb).with(ExpectedProfile {
        setting: "16",
        lock: "DBImpl::mutex_, db/db_impl.cc, and the mutexes of the shards of its caches, util/cache.cc; all within Get",
        name: "first seen in libleveldb.so",
        module: "libleveldb.so",
        waiters: &["(anonymous namespace)::Read(leveldb::DB*"],
        share: 0.9,
    }),
    row("sqlite", &[C, SQLITE], UP_TO_64, |place| place.compile("sqlite_reader.c", "-lsqlite3"), batch::sqlite).with(
        ExpectedProfile {
            setting: "16",
            lock: "mem0.mutex, src/malloc.c: taken by sqlite3Malloc and sqlite3_free for the statistics",
            name: "first seen in sqlite3",
            module: "libsqlite3.so",
            waiters: &["sqlite3Malloc", "sqlite3_malloc", "sqlite3_free", "sqlite3Realloc", "sqlite3_realloc"],
            share: 0.5,
        },
    ),
    row("rocksdb", &[("rocksdb-tools", "db_bench")], &[of("16", 16)], batch::prepare_rocksdb, batch::rocksdb).with(
        ExpectedProfile {
            setting: "16",
            lock: "LRUCacheShard::mutex_, cache/lru_cache.cc",
            name: "initialised in rocksdb::lru_cache::LRUCacheShard::LRUCacheShard",
            module: "librocksdb.so",
            waiters: &["rocksdb::lru_cache::LRUCacheShard::"],
            share: 0.9,
        },
    ),
    row("kyotocabinet", &[("kyotocabinet-utils", "kccachetest")], EIGHT, nothing, batch::kyotocabinet).with(ExpectedProfile {
        setting: "8",
        lock: "CacheDB::Slot::lock of 16 slots, kccachedb.h: taken by accept and by clear",
        name: "initialised in kyotocabinet::CacheDB::CacheDB",
        module: "libkyotocabinet.so",
        waiters: &["kyotocabinet::CacheDB::"],
        share: 0.9,
    }),
    row("node", &[("nodejs", "node")], POOLS, |place| place.write("file", "eleven byte"), batch::node).with(ExpectedProfile {
        setting: "16",
        lock: "`mutex` of libuv's src/threadpool.c: taken by worker and post",
        name: "mutex",
        module: "node",
        waiters: &["worker", "post", "uv__work_submit"],
        share: 0.5,
    }),
    row("python-queue", &[("python3", "python3")], &[of("4 + 4", 8)], nothing, batch::python).with(ExpectedProfile {
        setting: "4 + 4",
        lock: "the interpreter's lock, Python/ceval_gil.h: taken by take_gil, which waits on its condition variable; and the \
               mutex of that",
        name: "GIL",
        module: "python3",
        waiters: &[
            "take_gil",
            "drop_gil",
            "PyEval_RestoreThread",
            "PyEval_SaveThread",
            "PyEval_AcquireThread",
            "_PyEval_EvalFrameDefault",
        ],
        share: 0.7,
    }),
    row("mariadb", &[SYSBENCH, MARIADB, ("mawk", "awk")], CLIENTS, servers::prepare_mariadb, servers::mariadb).with(
        ExpectedProfile {
            setting: "64",
            lock: "Query_cache::structure_guard_mutex, sql/sql_cache.cc",
            name: "query_cache+0x",
            module: "mariadbd",
            waiters: &[
                "Query_cache::try_lock(",
                "Query_cache::lock(",
                "Query_cache::unlock(",
                "Query_cache::lock_and_suspend(",
            ],
            share: 0.5,
        },
    ),
    row("memcached", &[MEMCACHED, MEMCASLAP], EIGHT, nothing, servers::memcached),
    row("rsyslog", &[("rsyslog", "rsyslogd")], EIGHT, nothing, servers::rsyslog).with(ExpectedProfile {
        setting: "8",
        lock: "the main queue's `mut`, runtime/queue.c: initialised by qqueueStart, taken by wtiWorker and by enqueuers",
        name: "initialised in qqueueStart",
        module: "rsyslogd",
        waiters: &["wtiWorker", "multiSubmitMsg2"],
        share: 0.9,
    }),
    row("small-sections", &[C], SECTIONS, batch::prepare_small, batch::small),
    row("random-of-many", &[C], RANDOM, batch::prepare_small, batch::small),
    row("pigz", &[("pigz", "pigz")], ONCE, correct::prepare_text, correct::pigz),
    row("xz", &[("xz-utils", "xz")], ONCE, correct::prepare_text, correct::xz),
    row("git", &[("git", "git")], ONCE, correct::prepare_git, correct::git),
    row("libstdc++", &[CPP], ONCE, |place| place.compile("standard_library.cpp", ""), correct::libstdcpp),
    row("valgrind", &[C, ("valgrind", "valgrind")], ONCE, correct::prepare_valgrind, correct::valgrind),
];
