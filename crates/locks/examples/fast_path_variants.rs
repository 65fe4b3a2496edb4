//! What the flagship's fast paths cost beside the other ways to write them: one thread, one word, nobody else.
//!
//! `cargo run --release -p ondeck-locks --example fast_path_variants`; `docs/experiments.md` has its figures (E4).
//! Under contention the ranking can differ: a read before a write costs a second transfer of the line if another core
//! has polled in between. The workloads of `ondeck bench` tell that.

#![allow(clippy::disallowed_types)]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;

/// As in the flagship: LOCKED below a counter that the release increments by the carry.
const LOCKED: u64 = 1 << 53;
/// What the flagship's release looks for before it writes.
const MARKED: u64 = 1 << 50 | 1 << 48 | 1 << 44;
/// Pairs per measurement: long enough that reading the clock is nothing, short enough that few are interrupted.
const PAIRS: u32 = 100_000;
const ROUNDS: usize = 101;

/// The way not taken.
#[cold]
#[inline(never)]
fn slow(word: &AtomicU64) {
    black_box(word);
}

#[inline(always)]
fn or(word: &AtomicU64) {
    if word.fetch_or(LOCKED, Acquire) & LOCKED != 0 {
        slow(word);
    }
}

#[inline(always)]
fn load_then_cas(word: &AtomicU64) {
    let state = word.load(Relaxed);
    if state & LOCKED != 0 || word.compare_exchange(state, state | LOCKED, Acquire, Relaxed).is_err() {
        slow(word);
    }
}

/// A word without a counter is known to be zero when it is free.
#[inline(always)]
fn cas_from_zero(word: &AtomicU64) {
    if word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
        slow(word);
    }
}

#[inline(always)]
fn load_then_add(word: &AtomicU64) {
    if word.load(Relaxed) & MARKED != 0 {
        return slow(word);
    }
    if word.fetch_add(LOCKED, Release) & MARKED != 0 {
        slow(word);
    }
}

#[inline(always)]
fn add(word: &AtomicU64) {
    if word.fetch_add(LOCKED, Release) & MARKED != 0 {
        slow(word);
    }
}

std::thread_local! {
    /// The lock for which a release has more to do, which its acquisition saw.
    static REMEMBERED: Cell<usize> = const { Cell::new(0) };
}

/// What a release must know it may know from its own thread instead of the word.
#[inline(always)]
fn ask_thread_then_add(word: &AtomicU64) {
    if REMEMBERED.get() == std::ptr::from_ref(word).addr() {
        return slow(word);
    }
    add(word);
}

#[inline(always)]
fn swap_to_zero(word: &AtomicU64) {
    if word.swap(0, Release) & MARKED != 0 {
        slow(word);
    }
}

#[inline(always)]
fn load_then_cas_release(word: &AtomicU64) {
    let state = word.load(Relaxed);
    if state & MARKED != 0 || word.compare_exchange(state, state.wrapping_add(LOCKED), Release, Relaxed).is_err() {
        slow(word);
    }
}

#[inline(always)]
fn cas_to_zero(word: &AtomicU64) {
    if word.compare_exchange(LOCKED, 0, Release, Relaxed).is_err() {
        slow(word);
    }
}

/// Nanoseconds per pair around a section of so many turns of an empty loop.
fn measure(turns: u32, acquire: impl Fn(&AtomicU64), release: impl Fn(&AtomicU64)) -> f64 {
    let word = AtomicU64::new(0);
    let start = Instant::now();
    for _ in 0..PAIRS {
        acquire(black_box(&word));
        for turn in 0..turns {
            black_box(turn);
        }
        release(black_box(&word));
    }
    start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}

type Variant = (&'static str, &'static str, fn(u32) -> f64);

/// Each pair is compiled into a loop of its own.
const VARIANTS: [Variant; 8] = [
    ("fetch-or", "load, fetch-add (the flagship)", |turns| measure(turns, or, load_then_add)),
    ("fetch-or", "fetch-add", |turns| measure(turns, or, add)),
    ("fetch-or", "thread-local compare, fetch-add", |turns| measure(turns, or, ask_thread_then_add)),
    ("fetch-or", "load, compare-exchange", |turns| measure(turns, or, load_then_cas_release)),
    ("load, compare-exchange", "load, fetch-add", |turns| measure(turns, load_then_cas, load_then_add)),
    ("load, compare-exchange", "fetch-add", |turns| measure(turns, load_then_cas, add)),
    ("compare-exchange from 0", "compare-exchange to 0", |turns| measure(turns, cas_from_zero, cas_to_zero)),
    ("compare-exchange from 0", "swap to 0", |turns| measure(turns, cas_from_zero, swap_to_zero)),
];

/// An empty section, and one in which a read that the release begins with can hide.
const TURNS: [u32; 2] = [0, 20];

fn main() {
    let mut times = [const { [const { Vec::new() }; TURNS.len()] }; VARIANTS.len()];
    // In turns, so that whatever else the machine does happens to all.
    for _ in 0..ROUNDS {
        for ((_, _, run), times) in VARIANTS.iter().zip(&mut times) {
            TURNS.iter().zip(times).for_each(|(turns, times)| times.push(run(*turns)));
        }
    }
    println!("ns per pair, median (least) of {ROUNDS}\n");
    println!("| acquire | release | empty section | section of {} turns |", TURNS[1]);
    println!("|---|---|---|---|");
    for ((acquire, release, _), mut times) in VARIANTS.iter().zip(times) {
        let cells = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            format!("{:.1} ({:.1})", times[ROUNDS / 2], times[0])
        });
        println!("| {acquire} | {release} | {} |", cells.join(" | "));
    }
}
