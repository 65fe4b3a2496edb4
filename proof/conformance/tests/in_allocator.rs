//! A lock inside the global allocator of a whole program: it must not allocate, not need a thread-local that does, and
//! work before `main` and during the end of a thread.

use ondeck_core::Hardware;
use ondeck_lineage::RawLock as _;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Lock = ondeck_lineage::RawOndeck<Hardware>;

static LOCK: Lock = Lock::INIT;
static GUARDED: AtomicU64 = AtomicU64::new(0);

/// The system's allocator behind the lock. `GUARDED` is incremented in two accesses, so it shows lost exclusion.
struct GuardedAllocator;

#[global_allocator]
static ALLOCATOR: GuardedAllocator = GuardedAllocator;

thread_local! {
    /// Calls of the allocator on this thread that are under way: a lock that allocates shows as two.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

static CALLS_OF_ENDED: AtomicU64 = AtomicU64::new(0);

fn locked<R>(body: impl FnOnce() -> R) -> R {
    DEPTH.set(DEPTH.get() + 1);
    if DEPTH.get() > 1 {
        // Panicking would allocate.
        std::process::abort();
    }
    LOCK.acquire();
    GUARDED.store(GUARDED.load(Relaxed) + 1, Relaxed);
    CALLS.set(CALLS.get() + 1);
    let result = body();
    // SAFETY: acquired above, by this thread.
    unsafe { LOCK.release() };
    DEPTH.set(DEPTH.get() - 1);
    result
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for GuardedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duties are those of this method.
        locked(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's duties are those of this method.
        locked(|| unsafe { System.dealloc(memory, layout) });
    }
}

#[test]
fn allocations_of_many_threads_exclude_each_other() {
    let churn = |seed: usize| {
        move || {
            let before = CALLS.get();
            let mut kept = Vec::new();
            for round in 0..20_000_usize {
                kept.push(Box::new([round + seed; 4]));
                if kept.len() > 16 {
                    kept.swap_remove(round % 16);
                }
            }
            drop(kept);
            CALLS_OF_ENDED.fetch_add(CALLS.get() - before, Relaxed);
        }
    };
    let before = GUARDED.load(Relaxed);
    let threads: Vec<_> = (0..8).map(|seed| std::thread::spawn(churn(seed))).collect();
    for thread in threads {
        thread.join().expect("no thread panics");
    }
    // Threads also allocate at their start and end, where nobody counts: hence "at least".
    assert!(GUARDED.load(Relaxed) - before >= CALLS_OF_ENDED.load(Relaxed), "an update was lost");
    assert!(CALLS_OF_ENDED.load(Relaxed) >= 8 * 2 * 20_000);
}
