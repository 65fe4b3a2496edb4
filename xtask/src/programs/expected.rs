//! Which lock is known to be hot in a program, from the program's sources, and what a profile shall say of it.
//!
//! Debian strips its programs, and packages with their debug information are in an archive of their own, which is not asked
//! for. So names are expected where programs export them, as plugins or other libraries need them (MariaDB, node, RocksDB, Kyoto
//! Cabinet, SQLite, rsyslog, Python); of the others, in which file who waits is, and that it is one lock.

use ondeck_profile::{Lock, Profile};

/// What shall be found.
pub(super) struct Expected {
    /// As in the table of programs, with one of its settings.
    pub(super) program: (&'static str, &'static [&'static str]),
    /// The lock, by those who have read the sources.
    pub(super) known: &'static str,
    /// What its name in the profile begins with.
    pub(super) name: &'static str,
    /// The file that who waits is in, by the beginning of its name.
    pub(super) module: &'static str,
    /// How the functions begin of which one is on the stack of who waits; none if no names are to be had.
    pub(super) waiters: &'static [&'static str],
    /// The least part of all waiting that is for such locks.
    pub(super) share: f64,
}

/// So much of the waiting for a lock must be as expected; the rest may be at its beginning and end.
const NEARLY_ALL: f64 = 0.9;
/// Files in which threads begin: the C library; and the program itself, whose `_start` has no name if it is stripped.
const LIBC: &str = "libc.so";
const START: &str = "_start";

/// In the order in which they run.
pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        program: ("sysbench-mutex", &["16"]),
        known: "the only mutex of `thread_locks`, mutex_execute_event in sysbench's src/tests/mutex/sb_mutex.c",
        name: "initialised in sysbench+0x",
        module: "sysbench",
        waiters: &[],
        share: 0.9,
    },
    Expected {
        program: ("sysbench-threads", &["16"]),
        known: "the only mutex of `test_mutexes`, threads_execute_event in sysbench's src/tests/threads/sb_threads.c",
        name: "initialised in sysbench+0x",
        module: "sysbench",
        waiters: &[],
        share: 0.9,
    },
    Expected {
        program: ("leveldb", &["16"]),
        known: "DBImpl::mutex_, db/db_impl.cc, and the mutexes of the shards of its caches, util/cache.cc; all within Get",
        name: "first seen in libleveldb.so",
        module: "libleveldb.so",
        waiters: &["(anonymous namespace)::Read(leveldb::DB*"],
        share: 0.9,
    },
    Expected {
        program: ("sqlite", &["16"]),
        known: "mem0.mutex, src/malloc.c: taken by sqlite3Malloc and sqlite3_free for the statistics",
        name: "first seen in sqlite3",
        module: "libsqlite3.so",
        waiters: &["sqlite3Malloc", "sqlite3_malloc", "sqlite3_free", "sqlite3Realloc", "sqlite3_realloc"],
        share: 0.5,
    },
    Expected {
        program: ("rocksdb", &["16"]),
        known: "LRUCacheShard::mutex_, cache/lru_cache.cc",
        name: "initialised in rocksdb::lru_cache::LRUCacheShard::LRUCacheShard",
        module: "librocksdb.so",
        waiters: &["rocksdb::lru_cache::LRUCacheShard::"],
        share: 0.9,
    },
    Expected {
        program: ("kyotocabinet", &["8"]),
        known: "CacheDB::Slot::lock of 16 slots, kccachedb.h: taken by accept and by clear",
        name: "initialised in kyotocabinet::CacheDB::CacheDB",
        module: "libkyotocabinet.so",
        waiters: &["kyotocabinet::CacheDB::"],
        share: 0.9,
    },
    Expected {
        program: ("node", &["16"]),
        known: "`mutex` of libuv's src/threadpool.c: taken by worker and post",
        name: "mutex",
        module: "node",
        waiters: &["worker", "post", "uv__work_submit"],
        share: 0.5,
    },
    Expected {
        program: ("python-queue", &["4 + 4"]),
        known: "the mutex of the interpreter's lock, Python/ceval_gil.h: taken by take_gil and drop_gil",
        name: "_PyRuntime+0x",
        module: "python3",
        waiters: &[
            "take_gil",
            "drop_gil",
            "PyEval_RestoreThread",
            "PyEval_SaveThread",
            "PyEval_AcquireThread",
            "_PyEval_EvalFrameDefault",
        ],
        share: 0.9,
    },
    Expected {
        program: ("mariadb", &["64"]),
        known: "Query_cache::structure_guard_mutex, sql/sql_cache.cc",
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
    Expected {
        program: ("rsyslog", &["8"]),
        known: "the main queue's `mut`, runtime/queue.c: initialised by qqueueStart, taken by wtiWorker and by enqueuers",
        name: "initialised in qqueueStart",
        module: "rsyslogd",
        waiters: &["wtiWorker", "multiSubmitMsg2"],
        share: 0.9,
    },
];

/// What a profile says of the lock that hurts most, and of the expectation.
pub(super) struct Verdict {
    /// The part of all waiting that is for the first lock.
    pub(super) share: f64,
    /// The part of the waiting for it whose stacks reach the thread's first function.
    pub(super) whole: f64,
    /// What is not as expected.
    pub(super) faults: Vec<String>,
}

impl Expected {
    /// Holds the profile to it. An error if nobody waited, which says nothing.
    pub(super) fn judge(&self, profile: &Profile) -> Result<Verdict, String> {
        let all = profile.wait_ns();
        let Some(first) = profile.locks.first().filter(|lock| lock.wait_ns > 0.0) else {
            return Err("nobody waited for a lock".to_owned());
        };
        let mut faults = Vec::new();
        if !first.name.starts_with(self.name) {
            faults.push(format!("the first lock is `{}`, and not `{}...`", first.name, self.name));
        }
        let alike: f64 =
            profile.locks.iter().filter(|lock| lock.name.starts_with(self.name)).map(|lock| lock.wait_ns).sum();
        if alike < self.share * all {
            faults.push(format!(
                "{:.0} % of all waiting is for such locks; {:.0} % are due",
                alike / all * 100.0,
                self.share * 100.0
            ));
        }
        let in_module =
            waited(first, |stack| profile.frames_of(stack).any(|frame| frame.module.starts_with(self.module)));
        let in_function = waited(first, |stack| {
            let is_one = |function: &str| self.waiters.iter().any(|name| function.starts_with(name));
            self.waiters.is_empty() || profile.frames_of(stack).any(|frame| is_one(&frame.function))
        });
        let whole = waited(first, |stack| {
            let start = profile.frames_of(stack).next_back();
            start.is_some_and(|frame| frame.module.starts_with(LIBC) || frame.function == START)
        });
        for (part, what) in [
            (in_module, format!("is in {}", self.module)),
            (in_function, format!("is in one of {}", self.waiters.join(", "))),
            (whole, "has a stack that reaches the thread's first function".to_owned()),
        ] {
            if part < NEARLY_ALL {
                faults.push(format!("{:.0} % of the waiting for the first lock {what}; 90 % are due", part * 100.0));
            }
        }
        Ok(Verdict { share: first.wait_ns / all, whole, faults })
    }
}

/// The part of the waiting for a lock whose stacks are such.
fn waited(lock: &Lock, is_such: impl Fn(u32) -> bool) -> f64 {
    let (mut such, mut all) = (0.0, 0.0);
    for site in &lock.waiters {
        all += site.ns;
        such += if is_such(site.stack) { site.ns } else { 0.0 };
    }
    if all > 0.0 { such / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Two locks, the first waited for 3 s at one stack of functions of `app`, the second 1 s.
    fn profile(name: &str, stack: &[(&str, &str)]) -> Profile {
        let frame = |(function, module): &(&str, &str)| {
            json!({"function": function, "module": module, "file": "", "line": 0, "address": 1, "build_id": "",
                "is_inlined": false, "is_named": true})
        };
        let lock = |name: &str, wait_ns: f64| {
            json!({"name": name, "process": 0, "address": 1, "origin": null, "acquisitions": 9.0, "waits": 1.0,
                "wait_ns": wait_ns, "longest_ns": 1, "wait_histogram": [{"from": 0, "to": 8, "count": 1.0}],
                "hold_histogram": [], "hold_ns": 0.0, "handing_on_ns": 0.0, "most_waiting": 1, "threads": 2, "spins": null,
                "parks": null, "wakes": null, "rotations": null,
                "waiters": [{"stack": 0, "count": 1.0, "ns": wait_ns}], "holders": [], "takers": [],
                "timeline": {"slice": 1.0, "amounts": []}})
        };
        let whole = json!({"version": 1, "command": ["app"], "started_at": 0.0, "seconds": 4.0, "cores": 2, "lock": "glibc",
            "rate": 1000, "processes": [{"pid": 1, "parent": 0, "program": "app", "from": 0.0, "to": 4.0, "ended": "exit"}],
            "frames": stack.iter().map(frame).collect::<Vec<_>>(), "stacks": [(0..stack.len()).collect::<Vec<_>>()],
            "locks": [lock(name, 3e9), lock("other", 1e9)], "conditions": [],
            "dropped": {"samples": 0, "stacks": 0, "locks": 0, "processes": 0}, "notes": []});
        ondeck_profile::json::from_json(&whole.to_string()).unwrap()
    }

    const QUEUE: Expected = Expected {
        program: ("app", &[""]),
        known: "the queue's",
        name: "queue+0x",
        module: "app",
        waiters: &["push(", "pop("],
        share: 0.7,
    };
    const GOOD: [(&str, &str); 3] = [("push(int)", "app"), ("work()", "app"), ("clone3", "libc.so.6")];

    #[test]
    fn what_is_expected_is_found() {
        let verdict = QUEUE.judge(&profile("queue+0x8", &GOOD)).unwrap();
        assert_eq!((verdict.share, verdict.whole, verdict.faults), (0.75, 1.0, vec![]));
    }

    #[test]
    fn what_is_not_as_expected_is_named() {
        let faults = |name: &str, stack: &[(&str, &str)], expected: &Expected| {
            expected.judge(&profile(name, stack)).unwrap().faults.join("; ")
        };
        let other = faults("heap", &GOOD, &QUEUE);
        assert!(
            other.contains("the first lock is `heap`, and not `queue+0x...`") && other.contains("0 % of all waiting")
        );
        let little = faults("queue+0x8", &GOOD, &Expected { share: 0.8, ..QUEUE });
        assert_eq!(little, "75 % of all waiting is for such locks; 80 % are due");
        let function = faults("queue+0x8", &GOOD[1..], &QUEUE);
        assert_eq!(function, "0 % of the waiting for the first lock is in one of push(, pop(; 90 % are due");
        assert_eq!(faults("queue+0x8", &GOOD[1..], &Expected { waiters: &[], ..QUEUE }), "");
        let module = faults("queue+0x8", &GOOD, &Expected { module: "libqueue", ..QUEUE });
        assert!(module.contains("is in libqueue; 90 %"), "{module}");
        let cut = faults("queue+0x8", &GOOD[..2], &QUEUE);
        assert!(cut.contains("reaches the thread's first function"), "{cut}");
    }

    #[test]
    fn no_waiting_says_nothing() {
        let mut profile = profile("queue+0x8", &GOOD);
        profile.locks.clear();
        assert_eq!(QUEUE.judge(&profile).err().as_deref(), Some("nobody waited for a lock"));
    }
}
