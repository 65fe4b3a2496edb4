//! The programs: what each needs, in which settings it runs, and what prepares and runs it.

use super::ground::{Ground, Run};
use super::needs::Need;
use super::{Sample, batch, correct, servers};

/// One way to run a program.
pub(super) struct Setting {
    /// As in the records.
    pub(super) label: &'static str,
    /// Threads of the program, or clients of the server.
    pub(super) threads: u32,
    /// Whether other programs want every CPU meanwhile.
    pub(super) is_busy: bool,
}

/// Makes what all runs start from, with glibc's locks.
type Prepare = fn(&Ground) -> Result<(), String>;
/// Runs a program once, and looks at what it has computed.
type RunIt = fn(&Run) -> Result<Sample, String>;

/// A program that runs with glibc's locks and with ours.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) needs: &'static [Need],
    pub(super) settings: &'static [Setting],
    /// Whether it has figures. Others are only known to compute the same.
    pub(super) is_measured: bool,
    pub(super) prepare: Prepare,
    pub(super) run: RunIt,
}

/// Programs, and of each the labels of settings; none for all that it has.
pub(super) type List = [(&'static str, &'static [&'static str])];

const fn threads(label: &'static str, threads: u32) -> Setting {
    Setting { label, threads, is_busy: false }
}

const ALONE: &[Setting] = &[threads("1", 1), threads("1 + 1 asleep", 2)];
const UP_TO_64: &[Setting] = &[threads("2", 2), threads("16", 16), threads("64", 64)];
const FROM_ONE: &[Setting] = &[threads("1", 1), threads("2", 2), threads("16", 16), threads("64", 64)];
const POOLS: &[Setting] = &[threads("4", 4), threads("8", 8), threads("16", 16), threads("64", 64)];
const EIGHT: &[Setting] = &[threads("8", 8)];
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
    row("uncontended", &[C], ALONE, |ground| ground.compile("uncontended.c", ""), batch::uncontended),
    row("sysbench-mutex", &[SYSBENCH], UP_TO_64, nothing, batch::sysbench_mutex),
    row("sysbench-threads", &[SYSBENCH], UP_TO_64, nothing, batch::sysbench_threads),
    row("leveldb", &[CPP, LEVELDB], FROM_ONE, batch::prepare_leveldb, batch::leveldb),
    row("sqlite", &[C, SQLITE], UP_TO_64, |ground| ground.compile("sqlite_reader.c", "-lsqlite3"), batch::sqlite),
    row("rocksdb", &[("rocksdb-tools", "db_bench")], &[threads("16", 16)], batch::prepare_rocksdb, batch::rocksdb),
    row("kyotocabinet", &[("kyotocabinet-utils", "kccachetest")], EIGHT, nothing, batch::kyotocabinet),
    row("node", &[("nodejs", "node")], POOLS, |ground| ground.write("file", "eleven byte"), batch::node),
    row("python-queue", &[("python3", "python3")], &[threads("4 + 4", 8)], nothing, batch::python),
    row("mariadb", &[SYSBENCH, MARIADB, ("mawk", "awk")], CLIENTS, servers::prepare_mariadb, servers::mariadb),
    row("memcached", &[MEMCACHED, MEMCASLAP], EIGHT, nothing, servers::memcached),
    row("rsyslog", &[("rsyslog", "rsyslogd")], EIGHT, nothing, servers::rsyslog),
    row("small-sections", &[C], A_FEW_SECTIONS, batch::prepare_small, batch::small).unmeasured(),
    row("random-of-many", &[C], A_FEW_RANDOM, batch::prepare_small, batch::small).unmeasured(),
    row("pigz", &[("pigz", "pigz")], ONCE, correct::prepare_text, correct::pigz).unmeasured(),
    row("xz", &[("xz-utils", "xz")], ONCE, correct::prepare_text, correct::xz).unmeasured(),
    row("git", &[("git", "git")], ONCE, correct::prepare_git, correct::git).unmeasured(),
    row("libstdc++", &[CPP], ONCE, |ground| ground.compile("standard_library.cpp", ""), correct::libstdcpp)
        .unmeasured(),
    row("valgrind", &[C, ("valgrind", "valgrind")], ONCE, correct::prepare_valgrind, correct::valgrind).unmeasured(),
];

fn nothing(_: &Ground) -> Result<(), String> {
    Ok(())
}

const fn row(
    name: &'static str,
    needs: &'static [Need],
    settings: &'static [Setting],
    prepare: Prepare,
    run: RunIt,
) -> Program {
    Program { name, needs, settings, is_measured: true, prepare, run }
}

impl Program {
    /// Without figures: it hardly locks, or is too short for them, or has them elsewhere.
    const fn unmeasured(self) -> Program {
        Program { is_measured: false, ..self }
    }
}

/// The program of that name.
pub(super) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}
