//! A program whose waits are known, for `ondeck profile`: threads that wait for mutexes of this crate and of `ondeck`, in
//! turns, an allocator that locks, a mutex of the C library, and the child of a fork. Prints what it has measured itself.
//!
//! ```text
//! cargo build --example recorded --features record --manifest-path crates/parking_lot/Cargo.toml
//! ondeck profile --rate 1 -- target/debug/examples/recorded
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 10;
const HOLD: Duration = Duration::from_millis(20);

/// One lock around all memory, as simple allocators have it: what records must not ask for memory while somebody locks.
struct Locked;

static MEMORY: ondeck::Mutex<()> = ondeck::Mutex::new(());

#[global_allocator]
static ALLOCATOR: Locked = Locked;

// SAFETY: the system's allocator, by one thread at a time.
unsafe impl GlobalAlloc for Locked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _guard = MEMORY.lock();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let _guard = MEMORY.lock();
        // SAFETY: the caller's.
        unsafe { System.dealloc(place, layout) };
    }
}

/// What the program needs of a mutex, whosever it is.
trait Turns: Sync {
    fn turn(&self, act: impl FnOnce());
}

impl Turns for ondeck::Mutex<u64> {
    fn turn(&self, act: impl FnOnce()) {
        let mut turns = self.lock();
        act();
        *turns += 1;
    }
}

impl Turns for parking_lot::Mutex<u64> {
    fn turn(&self, act: impl FnOnce()) {
        let mut turns = self.lock();
        act();
        *turns += 1;
    }
}

/// A mutex of the C library.
struct OfC(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is for several threads.
unsafe impl Sync for OfC {}

impl Turns for OfC {
    fn turn(&self, act: impl FnOnce()) {
        // SAFETY: a mutex that is never destroyed.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        act();
        // SAFETY: locked above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

/// Nobody waits meanwhile.
#[inline(never)]
fn touch<M: Turns>(mutex: &M) {
    mutex.turn(|| {});
    // Else the call above would be a jump, and this function not on the stack.
    black_box(mutex);
}

#[inline(never)]
fn hold<M: Turns>(mutex: &M, both: &Barrier) {
    mutex.turn(|| {
        both.wait();
        thread::sleep(HOLD);
    });
    black_box(both);
}

/// How long it has waited.
#[inline(never)]
fn wait_for<M: Turns>(mutex: &M) -> Duration {
    let begin = Instant::now();
    let mut end = begin;
    mutex.turn(|| end = Instant::now());
    end - begin
}

/// One thread holds, the other waits; a third one of each round is alone.
fn measure<M: Turns>(name: &str, mutex: &M) {
    let both = Barrier::new(2);
    let mut waited = Duration::ZERO;
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                hold(mutex, &both);
                both.wait();
            }
        });
        for _ in 0..ROUNDS {
            both.wait();
            waited += wait_for(mutex);
            touch(mutex);
            both.wait();
        }
    });
    println!("{name} {}", waited.as_nanos());
}

static OURS: ondeck::Mutex<u64> = ondeck::Mutex::new(0);
static PARKING_LOT: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
static OF_C: OfC = OfC(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
static IN_CHILD: ondeck::Mutex<u64> = ondeck::Mutex::new(0);

fn main() {
    measure("OURS", &OURS);
    measure("PARKING_LOT", &PARKING_LOT);
    measure("OF_C", &OF_C);
    // SAFETY: nobody else runs, and so nobody holds anything.
    match unsafe { libc::fork() } {
        0 => measure("IN_CHILD", &IN_CHILD),
        // SAFETY: our only child.
        _ => assert!(unsafe { libc::wait(std::ptr::null_mut()) } > 0),
    }
}
