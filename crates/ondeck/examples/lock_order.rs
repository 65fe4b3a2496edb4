//! Locks that are taken in some order, by threads that run one after the other. The argument says which: of mutexes `pair`,
//! `circle`, `outer`, `try`, `condition`, `sorted` or `again`; and of reader-writer locks those in [`with_readers`].
//!
//! Run with `--features record`, under `ondeck profile --order`.

use ondeck::{Condvar, Mutex, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::time::Duration;

static CACHE: Mutex<u32> = Mutex::new(0);
static TABLE: Mutex<u32> = Mutex::new(0);
static USERS: Mutex<u32> = Mutex::new(0);
static OUTER: Mutex<u32> = Mutex::new(0);

#[inline(never)]
fn both(first: &Mutex<u32>, second: &Mutex<u32>) {
    let mut first = first.lock();
    *first += 1;
    *second.lock() += *first;
}

#[inline(never)]
fn cache_then_table() {
    both(&CACHE, &TABLE);
}

#[inline(never)]
fn table_then_cache() {
    both(&TABLE, &CACHE);
}

fn within_outer(act: fn()) {
    let _outer = OUTER.lock();
    act();
}

fn tries() {
    let _table = TABLE.lock();
    drop(CACHE.try_lock());
    drop(CACHE.try_lock_for(Duration::from_secs(1)));
}

/// While it waits it has no more than the table.
fn waits() {
    let ready = Condvar::new();
    let _table = TABLE.lock();
    let mut users = USERS.lock();
    ready.wait_for(&mut users, Duration::from_millis(2));
}

/// Of a thousand, those at lower addresses first.
fn sorted() {
    let all: Vec<Mutex<u32>> = (0..1000).map(Mutex::new).collect();
    for (at, first) in all.iter().enumerate() {
        all[at + 1..].iter().take(5).for_each(|second| both(first, second));
    }
}

/// At the same places one after the other: they are never the same two.
fn again() {
    let mut all = [Mutex::new(0), Mutex::new(0)];
    both(&all[0], &all[1]);
    all = [Mutex::new(0), Mutex::new(0)];
    both(&all[1], &all[0]);
}

static ROUTES: RwLock<u32> = RwLock::new(0);
static HOSTS: RwLock<u32> = RwLock::new(0);

fn cache() {
    *CACHE.lock() += 1;
}

fn cache_then(act: impl FnOnce()) {
    let _cache = CACHE.lock();
    act();
}

/// One that is mostly looked at, and changed now and then, with the cache.
fn looks_and_upgrades() {
    let routes = ROUTES.upgradable_read();
    let _cache = CACHE.lock();
    *RwLockUpgradableReadGuard::upgrade(routes) += 1;
}

fn writes_and_downgrades() {
    let routes = ROUTES.write();
    let _cache = CACHE.lock();
    drop(RwLockWriteGuard::downgrade(routes));
}

fn upgraded_then_cache() {
    let _routes = RwLockUpgradableReadGuard::upgrade(ROUTES.upgradable_read());
    cache();
}

fn downgraded_then_cache() {
    let _routes = RwLockWriteGuard::downgrade(ROUTES.write());
    cache();
}

fn upgradable_then_cache() {
    let _routes = ROUTES.upgradable_read();
    cache();
}

/// Each reads one lock below the other, so that it waits for a writer that waits.
fn reads_both() -> [fn(); 2] {
    [|| drop((ROUTES.read(), HOSTS.read())), || drop((HOSTS.read(), ROUTES.read()))]
}

fn reads_both_recursively() -> [fn(); 2] {
    let one = || drop((ROUTES.read_recursive(), HOSTS.read_recursive()));
    [one, || drop((HOSTS.read_recursive(), ROUTES.read_recursive()))]
}

/// What the threads of a case do.
fn with_readers(case: &str) -> Option<Vec<fn()>> {
    let cache_then_recursive: fn() = || cache_then(|| drop(ROUTES.read_recursive()));
    Some(match case {
        "read_and_write" => vec![
            || {
                let _routes = ROUTES.read();
                cache();
            },
            || cache_then(|| *ROUTES.write() += 1),
        ],
        "try_write" => vec![upgradable_then_cache, || cache_then(|| drop(ROUTES.try_write()))],
        "reads" => reads_both().to_vec(),
        "reads_recursively" => reads_both_recursively().to_vec(),
        "read_again" => vec![|| drop((ROUTES.read(), ROUTES.read()))],
        "read_again_recursively" => vec![|| drop((ROUTES.read(), ROUTES.read_recursive()))],
        "upgradable" => vec![upgradable_then_cache, || cache_then(|| drop(ROUTES.upgradable_read()))],
        "upgradable_recursively" => vec![upgradable_then_cache, cache_then_recursive],
        "upgraded" => vec![upgraded_then_cache, cache_then_recursive],
        "downgraded" => vec![downgraded_then_cache, cache_then_recursive],
        "changes" => vec![looks_and_upgrades, writes_and_downgrades],
        _ => return None,
    })
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let readers = with_readers(&case).unwrap_or_default();
    let acts: &[fn()] = match case.as_str() {
        _ if !readers.is_empty() => &readers,
        "pair" => &[cache_then_table, table_then_cache],
        "circle" => &[cache_then_table, || both(&TABLE, &USERS), || both(&USERS, &CACHE)],
        "outer" => &[|| within_outer(cache_then_table), || within_outer(table_then_cache)],
        "try" => &[cache_then_table, tries],
        "condition" => &[waits, || both(&TABLE, &USERS)],
        "sorted" => &[sorted],
        "again" => &[again],
        _ => panic!("{case} is no case"),
    };
    for act in acts {
        std::thread::spawn(*act).join().expect("it does not panic");
    }
}
