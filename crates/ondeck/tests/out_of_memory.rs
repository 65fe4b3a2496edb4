//! A monitor without memory for its side object: leaving makes do, waiting and going too deep panic and change nothing.

mod limit;

use ondeck::{Monitor, MonitorGuard, WaitEnd};
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const NOTHING: u8 = 0;
const SLABS: u8 = 1;
const LISTS: u8 = 2;

/// What is refused now, and how often anything was.
static REFUSED: AtomicU8 = AtomicU8::new(NOTHING);
static N_REFUSALS: AtomicU32 = AtomicU32::new(0);

/// The system's allocator, which refuses what the pool of side objects asks for, when told so. Other requests are met: a
/// panic takes some memory too.
struct RefusingAllocator;

#[global_allocator]
static ALLOCATOR: RefusingAllocator = RefusingAllocator;

fn is_refused(layout: Layout) -> bool {
    match REFUSED.load(Relaxed) {
        // Side objects have a cache line each, and nothing else here is aligned so.
        SLABS => layout.align() == 64,
        // Indices of 32 objects or more.
        LISTS => layout.align() == align_of::<u32>() && layout.size() >= 128,
        _ => false,
    }
}

// SAFETY: every request is refused, or goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for RefusingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout) {
            N_REFUSALS.fetch_add(1, Relaxed);
            return ptr::null_mut();
        }
        // SAFETY: the caller's duties are those of this method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's duties are those of this method.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs `body` without memory for further side objects, and with those that there are in use elsewhere. When there is
/// memory again `monitor` must be usable in every way.
fn without_memory<T: Send>(monitor: &Monitor<T>, refused: u8, body: impl FnOnce()) {
    // The pool is the same for all tests.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Its own memory looks like a list of indices.
    let mut fat = Vec::with_capacity(10_000);
    REFUSED.store(refused, Relaxed);
    loop {
        let monitor = Monitor::new(());
        let inflate = || {
            let _entered = monitor.enter();
            monitor.wait_for(Duration::ZERO)
        };
        if panic_of(inflate).is_some() {
            break;
        }
        fat.push(monitor);
    }
    let result = catch_unwind(AssertUnwindSafe(body));
    REFUSED.store(NOTHING, Relaxed);
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
    drop((0..20).map(|_| monitor.enter()).collect::<Vec<_>>());
    assert_eq!(MonitorGuard::wait_for(&mut monitor.enter(), Duration::ZERO), Ok(WaitEnd::TimedOut));
}

/// The message of the panic that ends `body`, which is not printed.
fn panic_of<R>(body: impl FnOnce() -> R) -> Option<String> {
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let result = catch_unwind(AssertUnwindSafe(body));
    set_hook(hook);
    let text = |panic: Box<dyn Any + Send>| match panic.downcast::<&'static str>() {
        Ok(text) => text.to_string(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    };
    result.err().map(text)
}

fn assert_says_so(panic: Option<String>) {
    let text = panic.expect("there is no memory");
    assert!(text.contains("no memory for the side object"), "{text}");
}

fn assert_entered_by_us_alone<T: Send>(monitor: &Monitor<T>) {
    assert!(monitor.is_entered());
    thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_none())).join().unwrap());
}

fn assert_free<T: Send>(monitor: &Monitor<T>) {
    assert!(!monitor.is_entered());
    thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_some())).join().unwrap());
}

#[test]
fn a_wait_panics_and_leaves_the_monitor_as_it_was() {
    for refused in [SLABS, LISTS] {
        let monitor = Monitor::new(());
        without_memory(&monitor, refused, || {
            let first = monitor.enter();
            let second = monitor.enter();
            assert_says_so(panic_of(|| monitor.wait()));
            assert_says_so(panic_of(|| monitor.wait_for(Duration::from_secs(1))));
            assert_entered_by_us_alone(&monitor);
            drop(second);
            assert_entered_by_us_alone(&monitor);
            drop(first);
            assert_free(&monitor);
        });
    }
}

/// Unwinding out of a wait leaves by the guards, as any panic does.
#[test]
fn a_wait_that_panics_with_its_guard_leaves() {
    let monitor = Monitor::new(());
    without_memory(&monitor, SLABS, || {
        assert_says_so(panic_of(|| {
            let _entered = monitor.enter();
            monitor.wait()
        }));
        assert_free(&monitor);
    });
}

#[test]
fn entering_deeper_than_the_word_can_count_panics_and_leaves_the_monitor_as_it_was() {
    let monitor = Monitor::new(());
    without_memory(&monitor, SLABS, || {
        let mut guards: Vec<_> = (0..8).map(|_| monitor.enter()).collect();
        assert_says_so(panic_of(|| drop(monitor.enter())));
        assert_says_so(panic_of(|| drop(monitor.try_enter())));
        while guards.pop().is_some() && !guards.is_empty() {
            assert_entered_by_us_alone(&monitor);
        }
        assert_free(&monitor);
    });
}

#[test]
fn a_contended_monitor_makes_do_without() {
    const THREADS: u32 = 4;
    const ROUNDS: u32 = 200;
    const LONG: Duration = Duration::from_secs(60);
    let (monitor, mut crowds) = (Monitor::new(Cell::new(0)), 0);
    without_memory(&monitor, SLABS, || {
        let (before, begin) = (N_REFUSALS.load(Relaxed), Instant::now());
        // One crowd is enough, unless the machine is so busy that its threads never meet.
        while N_REFUSALS.load(Relaxed) == before {
            assert!(begin.elapsed() < LONG, "waited {LONG:?} for an exit that asks for a side object");
            crowds += 1;
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        for round in 0..ROUNDS {
                            let entered = monitor.enter();
                            entered.set(entered.get() + 1);
                            if round % 20 == 0 {
                                // Long enough that the others ask for a side object and sleep.
                                thread::sleep(Duration::from_millis(1));
                            }
                        }
                    });
                }
            });
        }
    });
    assert_eq!(monitor.into_inner().get(), crowds * THREADS * ROUNDS);
}
