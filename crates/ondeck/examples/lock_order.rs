//! Mutexes that are taken in some order, by threads that run one after the other. The argument says which: `pair`, `circle`,
//! `outer`, `try`, `condition`, `sorted` or `again`.
//!
//! Run with `--features record`, under `ondeck profile --order`.

use ondeck::{Condvar, Mutex};
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

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let acts: &[fn()] = match case.as_str() {
        "pair" => &[cache_then_table, table_then_cache],
        "circle" => &[cache_then_table, || both(&TABLE, &USERS), || both(&USERS, &CACHE)],
        "outer" => &[|| within_outer(cache_then_table), || within_outer(table_then_cache)],
        "try" => &[cache_then_table, tries],
        "condition" => &[waits, || both(&TABLE, &USERS)],
        "sorted" => &[sorted],
        "again" => &[again],
        _ => panic!("{case}: accepted are pair, circle, outer, try, condition, sorted and again"),
    };
    for act in acts {
        std::thread::spawn(*act).join().expect("it does not panic");
    }
}
