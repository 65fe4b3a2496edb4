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
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 10;
const HOLD: Duration = Duration::from_millis(20);

/// One lock around all memory, as simple allocators have it: what records must not ask for memory while somebody locks.
struct LockedAllocator;

static MEMORY: ondeck::Mutex<()> = ondeck::Mutex::new(());

#[global_allocator]
static ALLOCATOR: LockedAllocator = LockedAllocator;

// SAFETY: the system's allocator, by one thread at a time.
unsafe impl GlobalAlloc for LockedAllocator {
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
trait ExampleMutex: Sync {
    fn turn(&self, act: impl FnOnce());
}

impl ExampleMutex for ondeck::Mutex<u64> {
    fn turn(&self, act: impl FnOnce()) {
        let mut turns = self.lock();
        act();
        *turns += 1;
    }
}

impl ExampleMutex for parking_lot::Mutex<u64> {
    fn turn(&self, act: impl FnOnce()) {
        let mut turns = self.lock();
        act();
        *turns += 1;
    }
}

/// A mutex of the C library.
struct PthreadMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is for several threads.
unsafe impl Sync for PthreadMutex {}

impl ExampleMutex for PthreadMutex {
    fn turn(&self, act: impl FnOnce()) {
        // SAFETY: a mutex that is never destroyed.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        act();
        // SAFETY: locked above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

fn now_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Nobody waits meanwhile.
#[inline(never)]
fn touch<M: ExampleMutex>(mutex: &M) {
    mutex.turn(|| {});
    // Else the call above would be a jump, and this function not on the stack.
    black_box(mutex);
}

/// Holds it until the thread `waiter` has slept for some time; when that was first seen to sleep, and when it is over.
#[inline(never)]
fn hold<M: ExampleMutex>(mutex: &M, both: &Barrier, waiter: i32, is_asking: &AtomicBool) -> [u64; 3] {
    let mut seen = [0; 3];
    mutex.turn(|| {
        let begin = now_ns();
        is_asking.store(false, SeqCst);
        both.wait();
        while !is_asking.load(SeqCst) || !is_asleep(waiter) {
            thread::yield_now();
        }
        let asleep = now_ns();
        thread::sleep(HOLD);
        seen = [begin, asleep, now_ns()];
    });
    black_box(both);
    seen
}

/// Waits; until when.
#[inline(never)]
fn wait_for<M: ExampleMutex>(mutex: &M) -> u64 {
    let mut until = 0;
    mutex.turn(|| until = now_ns());
    until
}

/// Whether the thread sleeps, as far as the system tells.
fn is_asleep(thread: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    status.map_or(true, |status| status.contains(") S "))
}

/// One thread holds, the other waits; a third one of each round is alone. What is printed are bounds: a thread can lose its
/// core between two looks at the clock.
#[inline(never)]
fn measure<M: ExampleMutex>(name: &str, mutex: &M) {
    let (both, is_asking) = (Barrier::new(2), AtomicBool::new(false));
    // SAFETY: takes nothing and cannot fail.
    let waiter = unsafe { libc::gettid() };
    let (mut waits, mut holds) = ([0; 2], [0; 2]);
    thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let mut rounds = Vec::with_capacity(ROUNDS as usize);
            for _ in 0..ROUNDS {
                let before = now_ns();
                let seen = hold(mutex, &both, waiter, &is_asking);
                rounds.push((before, seen, now_ns()));
                both.wait();
            }
            rounds
        });
        let mut ours = Vec::with_capacity(ROUNDS as usize);
        for _ in 0..ROUNDS {
            both.wait();
            let before = now_ns();
            is_asking.store(true, SeqCst);
            let until = wait_for(mutex);
            touch(mutex);
            ours.push((before, until, now_ns()));
            both.wait();
        }
        for ((before, [begin, asleep, end], after), ours) in holder.join().expect("no panic").into_iter().zip(ours) {
            // It waits from before it is seen asleep until after the hold; and no longer than its call takes.
            waits = [waits[0] + end - asleep, waits[1] + ours.1 - ours.0];
            holds = [holds[0] + end - begin, holds[1] + (after - before) + (ours.2 - end)];
        }
    });
    println!("{name} {} {} {} {}", waits[0], waits[1], holds[0], holds[1]);
}

static CROWDED: ondeck::Mutex<u64> = ondeck::Mutex::new(0);

/// An acquisition of the crowded mutex: instants in their order, and whether it is one of [`long`].
#[derive(Clone, Copy)]
struct Turn {
    asked: u64,
    /// Soon after it was acquired.
    begin: u64,
    /// Soon before it was released.
    end: u64,
    after: u64,
    is_long: bool,
}

/// Holds the crowded mutex, awake.
fn work(length: Duration, is_long: bool, book: &mut Vec<Turn>) {
    let (asked, mut begin, mut end) = (now_ns(), 0, 0);
    CROWDED.turn(|| {
        begin = now_ns();
        while end < begin + length.as_nanos() as u64 {
            end = now_ns();
        }
    });
    book.push(Turn { asked, begin, end, after: now_ns(), is_long });
}

#[inline(never)]
fn long(book: &mut Vec<Turn>) {
    work(Duration::from_micros(30), true, book);
    black_box(&CROWDED);
}

#[inline(never)]
fn short(book: &mut Vec<Turn>) {
    work(Duration::from_micros(5), false, book);
    black_box(&CROWDED);
}

/// How long threads waited during the turns of one kind, at least and at most: a thread can lose its core between acquiring or
/// releasing and a look at the clock.
fn waited_for(turns: &[Turn], is_long: bool) -> [u64; 2] {
    let during = |idx: usize| {
        let Turn { asked, begin, end, after, .. } = turns[idx];
        let before = if idx == 0 { 0 } else { turns[idx - 1].end };
        let next = turns.get(idx + 1).map_or(after, |next| next.begin);
        [(begin, end), (asked.max(before), after.min(next))]
    };
    let mut sums = [0; 2];
    for waiter in turns {
        let first = turns.partition_point(|turn| turn.after <= waiter.asked).saturating_sub(1);
        let holds = (first..turns.len()).take_while(|idx| turns[*idx].begin < waiter.begin);
        for idx in holds.filter(|idx| turns[*idx].is_long == is_long) {
            for (sum, (begin, end)) in sums.iter_mut().zip(during(idx)) {
                *sum += end.min(waiter.begin).saturating_sub(begin.max(waiter.asked));
            }
        }
    }
    sums
}

/// Threads that all want the mutex all the time.
fn crowd() {
    const LENGTH: Duration = Duration::from_secs(1);
    let begin = now_ns();
    let mut turns: Vec<Turn> = thread::scope(|scope| {
        let crowd = || {
            // Memory has a lock, whose waits would be between the clocks.
            let mut book = Vec::with_capacity(1 << 17);
            while now_ns() < begin + LENGTH.as_nanos() as u64 {
                long(&mut book);
                short(&mut book);
            }
            book
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(crowd)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let elapsed = now_ns() - begin;
    turns.sort_unstable_by_key(|turn| turn.begin);
    let held: u64 = turns.iter().map(|turn| turn.end - turn.begin).sum();
    println!("crowd {elapsed} {held}");
    for (name, is_long) in [("long", true), ("short", false)] {
        let [least, most] = waited_for(&turns, is_long);
        println!("{name} {least} {most}");
    }
}

static OURS: ondeck::Mutex<u64> = ondeck::Mutex::new(0);
static PARKING_LOT: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
static OF_C: PthreadMutex = PthreadMutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
static IN_CHILD: ondeck::Mutex<u64> = ondeck::Mutex::new(0);

fn main() {
    crowd();
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
