//! A mutex and a condition variable inside the global allocator of a whole program.

mod limit;

use ondeck::{Condvar, Mutex};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long the test goes on for what it has not seen yet.
const LONG: Duration = Duration::from_secs(60);

/// Whether a thread is in the allocator; the others wait until it is told that it has left.
static IS_TAKEN: Mutex<bool> = Mutex::new(false);
static LEFT: Condvar = Condvar::new();
/// Incremented in two accesses, so that it shows two threads inside.
static CALLS: AtomicU64 = AtomicU64::new(0);
static N_WAITS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator behind a lock.
struct GuardedAllocator;

#[global_allocator]
static ALLOCATOR: GuardedAllocator = GuardedAllocator;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static CALLS_OF_MINE: Cell<u64> = const { Cell::new(0) };
}

fn guarded<R>(body: impl FnOnce() -> R) -> R {
    if IS_INSIDE.replace(true) {
        // The lock has allocated. Panicking would, too.
        std::process::abort();
    }
    let mut is_taken = IS_TAKEN.lock();
    while *is_taken {
        N_WAITS.fetch_add(1, Relaxed);
        LEFT.wait(&mut is_taken);
    }
    *is_taken = true;
    drop(is_taken);
    CALLS.store(CALLS.load(Relaxed) + 1, Relaxed);
    CALLS_OF_MINE.set(CALLS_OF_MINE.get() + 1);
    let result = body();
    *IS_TAKEN.lock() = false;
    LEFT.notify_one();
    IS_INSIDE.set(false);
    result
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for GuardedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duties are those of this method.
        guarded(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's duties are those of this method.
        guarded(|| unsafe { System.dealloc(memory, layout) });
    }
}

#[test]
fn a_guard_of_mutex_and_condvar_holds_in_an_allocator() {
    let churn = |seed: usize| {
        move || {
            let before = CALLS_OF_MINE.get();
            let mut kept = Vec::new();
            for round in 0..5_000_usize {
                kept.push(Box::new([round + seed; 4]));
                if kept.len() > 16 {
                    kept.swap_remove(round % 16);
                }
            }
            drop(kept);
            CALLS_OF_MINE.get() - before
        }
    };
    let before = CALLS.load(Relaxed);
    // Ended by the first wait; each round has thousands of calls on eight threads.
    let (mut calls, begin) = (0, Instant::now());
    while calls == 0 || N_WAITS.load(Relaxed) == 0 {
        assert!(begin.elapsed() < LONG, "waited {LONG:?} for a thread that waits for its turn");
        let threads: Vec<_> = (0..8).map(|seed| std::thread::spawn(churn(seed))).collect();
        calls += threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum::<u64>();
    }
    assert!(CALLS.load(Relaxed) - before >= calls, "two threads were inside");
}
