//! Reader-writer locks whose waits are known, for `ondeck profile`: who waits, to read or to write, and for whose hold.
//! Prints of each lock and function that waits how often it did, and for how many ns.
//!
//! | lock | who has it | who waits |
//! |---|---|---|
//! | `TABLE` | `rebuild` writes | three `look_up` |
//! | `INDEX` | two `scan` read | `insert` writes |
//! | `USERS` | `export` reads | `refresh` reads upgradably, and is to become the writer |
//! | `SESSIONS` | `renew` reads upgradably | `renew_too`, the same |
//! | `CONFIG` | `reload` writes, and goes on to read as `check` | `edit` writes, for both |
//! | `JOURNAL`, which can be poisoned | `append` writes | `tail` reads |
//!
//! Run with `--features record`.

use ondeck::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard, poison};
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 5;
const HELD: Duration = Duration::from_millis(20);

static TABLE: RwLock<u64> = RwLock::new(0);
static INDEX: RwLock<u64> = RwLock::new(0);
static USERS: RwLock<u64> = RwLock::new(0);
static SESSIONS: RwLock<u64> = RwLock::new(0);
static CONFIG: RwLock<u64> = RwLock::new(0);
static JOURNAL: poison::RwLock<u64> = poison::RwLock::new(0);

/// How often, and for how many ns.
struct Waits(AtomicU64, AtomicU64);

impl Waits {
    const fn new() -> Waits {
        Waits(AtomicU64::new(0), AtomicU64::new(0))
    }

    fn add(&self, since: Instant) {
        self.0.fetch_add(1, Relaxed);
        self.1.fetch_add(since.elapsed().as_nanos() as u64, Relaxed);
    }
}

static LOOK_UP: Waits = Waits::new();
static INSERT: Waits = Waits::new();
static REFRESH: Waits = Waits::new();
static RENEW_TOO: Waits = Waits::new();
static EDIT: Waits = Waits::new();
static TAIL: Waits = Waits::new();

/// The threads of a round: those that have the lock, and those that come then, and wait.
struct Round {
    all: Barrier,
    n_to_come: usize,
    came: AtomicUsize,
}

impl Round {
    /// Returns some time after all have come, as far as they are awake.
    fn hold(&self) {
        self.all.wait();
        while self.came.load(Relaxed) < self.n_to_come {
            sleep(Duration::from_millis(1));
        }
        sleep(HELD);
    }

    /// Returns once the lock is had.
    fn come(&self) {
        self.all.wait();
        self.came.fetch_add(1, Relaxed);
    }
}

#[inline(never)]
fn rebuild(round: &Round) {
    let mut table = TABLE.write();
    round.hold();
    *table += 1;
}

#[inline(never)]
fn look_up(round: &Round) {
    round.come();
    let since = Instant::now();
    let table = TABLE.read();
    LOOK_UP.add(since);
    drop(table);
}

#[inline(never)]
fn scan(round: &Round) {
    let index = INDEX.read();
    round.hold();
    drop(index);
}

#[inline(never)]
fn insert(round: &Round) {
    round.come();
    let since = Instant::now();
    let mut index = INDEX.write();
    INSERT.add(since);
    *index += 1;
}

#[inline(never)]
fn export(round: &Round) {
    let users = USERS.read();
    round.hold();
    drop(users);
}

#[inline(never)]
fn refresh(round: &Round) {
    let users = USERS.upgradable_read();
    round.come();
    let since = Instant::now();
    let mut users = RwLockUpgradableReadGuard::upgrade(users);
    REFRESH.add(since);
    *users += 1;
}

#[inline(never)]
fn renew(round: &Round) {
    let sessions = SESSIONS.upgradable_read();
    round.hold();
    // Nobody reads beside it.
    *RwLockUpgradableReadGuard::upgrade(sessions) += 1;
}

#[inline(never)]
fn renew_too(round: &Round) {
    round.come();
    let since = Instant::now();
    let sessions = SESSIONS.upgradable_read();
    RENEW_TOO.add(since);
    drop(sessions);
}

#[inline(never)]
fn reload(round: &Round) {
    let mut config = CONFIG.write();
    round.hold();
    *config += 1;
    check(config);
    // So that the call is no jump.
    black_box(());
}

#[inline(never)]
fn check(config: RwLockWriteGuard<'_, u64>) {
    let config = RwLockWriteGuard::downgrade(config);
    sleep(HELD);
    drop(config);
}

#[inline(never)]
fn edit(round: &Round) {
    round.come();
    let since = Instant::now();
    let mut config = CONFIG.write();
    EDIT.add(since);
    *config += 1;
}

#[inline(never)]
fn append(round: &Round) {
    let mut journal = JOURNAL.write().expect("nobody panics");
    round.hold();
    *journal += 1;
}

#[inline(never)]
fn tail(round: &Round) {
    round.come();
    let since = Instant::now();
    let journal = JOURNAL.read().expect("nobody panics");
    TAIL.add(since);
    drop(journal);
}

/// Again and again, all at once.
fn rounds(holders: &[fn(&Round)], others: &[fn(&Round)]) {
    for _ in 0..ROUNDS {
        let all = Barrier::new(holders.len() + others.len());
        let round = Round { all, n_to_come: others.len(), came: AtomicUsize::new(0) };
        scope(|scope| holders.iter().chain(others).for_each(|act| drop(scope.spawn(|| act(&round)))));
    }
}

fn main() {
    // The recording begins here, with nobody beside.
    drop(TABLE.read());
    rounds(&[rebuild], &[look_up, look_up, look_up]);
    rounds(&[scan, scan], &[insert]);
    rounds(&[export], &[refresh]);
    rounds(&[renew], &[renew_too]);
    rounds(&[reload], &[edit]);
    rounds(&[append], &[tail]);
    for (lock, function, Waits(n, ns)) in [
        ("TABLE", "look_up", &LOOK_UP),
        ("INDEX", "insert", &INSERT),
        ("USERS", "refresh", &REFRESH),
        ("SESSIONS", "renew_too", &RENEW_TOO),
        ("CONFIG", "edit", &EDIT),
        ("JOURNAL", "tail", &TAIL),
    ] {
        println!("{lock} {function} {} {}", n.load(Relaxed), ns.load(Relaxed));
    }
}
