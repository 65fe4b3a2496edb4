//! The programs: what each needs, in which settings it runs, and who prepares and runs it.

use super::needs::Need;
use super::preload::Variant;
use super::{Ground, Sample, batch, correct, servers};

/// One way to run a program.
pub(super) struct Setting {
    /// As in the records.
    pub(super) label: &'static str,
    /// Threads of the program, or clients of the server.
    pub(super) threads: u32,
    /// Whether other programs want every CPU meanwhile.
    pub(super) is_busy: bool,
}

/// A program that runs with glibc's locks and with ours.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) needs: &'static [Need],
    pub(super) settings: &'static [Setting],
    /// Whether it has figures. Others are only known to compute the same.
    pub(super) is_measured: bool,
    /// Makes what all runs start from, with glibc's locks.
    pub(super) prepare: fn(&Ground) -> Result<(), String>,
    /// Runs it once, and looks at what it has computed.
    pub(super) run: fn(&Ground, &Setting, &Variant) -> Result<Sample, String>,
}

const fn threads(label: &'static str, threads: u32) -> Setting {
    Setting { label, threads, is_busy: false }
}

const ALONE: &[Setting] = &[threads("1", 1), threads("1 + 1 asleep", 2)];
const UP_TO_64: &[Setting] = &[threads("2", 2), threads("16", 16), threads("64", 64)];
const FROM_ONE: &[Setting] = &[threads("1", 1), threads("2", 2), threads("16", 16), threads("64", 64)];
const POOLS: &[Setting] = &[threads("4", 4), threads("8", 8), threads("16", 16), threads("64", 64)];
const ONCE: &[Setting] = &[threads("", 8)];
const CLIENTS: &[Setting] = &[threads("64", 64), Setting { label: "64, CPUs busy", threads: 64, is_busy: true }];

/// Some of those that `small.rs` measures, for a check.
const A_FEW_SECTIONS: &[Setting] = &[
    threads("2 1 turn 5 5 beside", 2),
    threads("8 1 turn 50 200 apart", 8),
    threads("32 1 turn 200 50 own", 32),
    threads("32 2 turn 5 50 apart", 32),
];
const A_FEW_RANDOM: &[Setting] = &[threads("8 16 random 1 0 beside", 8), threads("32 1024 random 1 0 beside", 32)];

const SYSBENCH: Need = Need::program("sysbench", "sysbench");
const C: Need = Need::program("gcc", "cc");
const CPP: Need = Need::program("g++", "c++");

fn nothing(_: &Ground) -> Result<(), String> {
    Ok(())
}

/// In the order in which they run and are shown.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "uncontended",
        needs: &[C],
        settings: ALONE,
        is_measured: true,
        prepare: batch::prepare_uncontended,
        run: batch::uncontended,
    },
    Program {
        name: "sysbench-mutex",
        needs: &[SYSBENCH],
        settings: UP_TO_64,
        is_measured: true,
        prepare: nothing,
        run: batch::sysbench_mutex,
    },
    Program {
        name: "sysbench-threads",
        needs: &[SYSBENCH],
        settings: UP_TO_64,
        is_measured: true,
        prepare: nothing,
        run: batch::sysbench_threads,
    },
    Program {
        name: "leveldb",
        needs: &[CPP, Need::header("libleveldb-dev", "leveldb/db.h")],
        settings: FROM_ONE,
        is_measured: true,
        prepare: batch::prepare_leveldb,
        run: batch::leveldb,
    },
    Program {
        name: "sqlite",
        needs: &[C, Need::header("libsqlite3-dev", "sqlite3.h")],
        settings: UP_TO_64,
        is_measured: true,
        prepare: batch::prepare_sqlite,
        run: batch::sqlite,
    },
    Program {
        name: "rocksdb",
        needs: &[Need::program("rocksdb-tools", "db_bench")],
        settings: &[threads("16", 16)],
        is_measured: true,
        prepare: batch::prepare_rocksdb,
        run: batch::rocksdb,
    },
    Program {
        name: "kyotocabinet",
        needs: &[Need::program("kyotocabinet-utils", "kccachetest")],
        settings: &[threads("8", 8)],
        is_measured: true,
        prepare: nothing,
        run: batch::kyotocabinet,
    },
    Program {
        name: "node",
        needs: &[Need::program("nodejs", "node")],
        settings: POOLS,
        is_measured: true,
        prepare: batch::prepare_node,
        run: batch::node,
    },
    Program {
        name: "python-queue",
        needs: &[Need::program("python3", "python3")],
        settings: &[threads("4 + 4", 8)],
        is_measured: true,
        prepare: nothing,
        run: batch::python,
    },
    Program {
        name: "mariadb",
        needs: &[SYSBENCH, Need::program("mariadb-server-core", "mariadbd")],
        settings: CLIENTS,
        is_measured: true,
        prepare: servers::prepare_mariadb,
        run: servers::mariadb,
    },
    Program {
        name: "memcached",
        needs: &[Need::program("memcached", "memcached"), Need::program("libmemcached-tools", "memcaslap")],
        settings: &[threads("8", 8)],
        is_measured: true,
        prepare: nothing,
        run: servers::memcached,
    },
    Program {
        name: "rsyslog",
        needs: &[Need::program("rsyslog", "rsyslogd")],
        settings: &[threads("8", 8)],
        is_measured: true,
        prepare: nothing,
        run: servers::rsyslog,
    },
    Program { settings: A_FEW_SECTIONS, ..checked("small-sections", &[C], batch::prepare_small, batch::small) },
    Program { settings: A_FEW_RANDOM, ..checked("random-of-many", &[C], batch::prepare_small, batch::small) },
    checked("pigz", &[Need::program("pigz", "pigz")], correct::prepare_text, correct::pigz),
    checked("xz", &[Need::program("xz-utils", "xz")], correct::prepare_text, correct::xz),
    checked("git", &[Need::program("git", "git")], correct::prepare_git, correct::git),
    checked("libstdc++", &[CPP], correct::prepare_libstdcpp, correct::libstdcpp),
    checked("valgrind", &[C, Need::program("valgrind", "valgrind")], correct::prepare_valgrind, correct::valgrind),
];

/// One that hardly locks, or is too short for figures, or has them elsewhere.
const fn checked(
    name: &'static str,
    needs: &'static [Need],
    prepare: fn(&Ground) -> Result<(), String>,
    run: fn(&Ground, &Setting, &Variant) -> Result<Sample, String>,
) -> Program {
    Program { name, needs, settings: ONCE, is_measured: false, prepare, run }
}
