//! The server of `ondeck demo`: its mutexes are the C library's, so that it can be recorded and run with others.

use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::print;
use rustix::time::{ClockId, clock_gettime};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const RUN: Duration = Duration::from_secs(1);
/// Steps of arithmetic, some 0.3 ns each: to read a request, and to write its answer.
const OUTSIDE: u32 = 40;
const ENTRIES: usize = 64;
/// One request of so many is counted in the books, which are shared too.
const COUNTED: u64 = 64;

/// As many threads as can run at once, for two at least must meet.
pub(super) fn threads() -> u64 {
    std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 64) as u64)
}

/// Data that a mutex of the C library guards. The mutex comes first, so that it has the name of the whole.
#[repr(C)]
struct GuardedData<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    data: UnsafeCell<T>,
}

// SAFETY: the data is touched under the mutex only, which is for all threads.
unsafe impl<T: Send> Sync for GuardedData<T> {}

impl<T> GuardedData<T> {
    const fn new(data: T) -> Self {
        GuardedData { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), data: UnsafeCell::new(data) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: a mutex that was initialised as a static, and never moves.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        // SAFETY: under the mutex, and `work` does not come here again.
        let result = work(unsafe { &mut *self.data.get() });
        // SAFETY: this thread has locked it.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        result
    }
}

/// Who was asked for last, and how often.
// SAFETY: nothing else has this name, nor the next ones. They are what the list shows, as those of a C program.
#[unsafe(export_name = "demo_cache")]
static CACHE: GuardedData<[(u64, u64); ENTRIES]> = GuardedData::new([(0, 0); ENTRIES]);
// SAFETY: as above.
#[unsafe(export_name = "demo_books")]
static BOOKS: GuardedData<u64> = GuardedData::new(0);

/// Reads a request, or writes an answer.
#[inline(never)]
fn think(from: u64, steps: u32) -> u64 {
    (0..steps).fold(from | 1, |state, _| black_box(state.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

// SAFETY: as above.
#[unsafe(export_name = "demo_look_up")]
#[inline(never)]
fn look_up(key: u64) -> u64 {
    CACHE.with(|cache| {
        let (last, n) = &mut cache[key as usize % ENTRIES];
        *n += 1;
        std::mem::replace(last, key) ^ *n
    })
}

// SAFETY: as above.
#[unsafe(export_name = "demo_keep_books")]
#[inline(never)]
fn keep_books() {
    BOOKS.with(|n| *n += COUNTED);
}

fn answer(request: u64) {
    let key = think(request, OUTSIDE / 2);
    black_box(think(look_up(key), OUTSIDE / 2));
    if request.is_multiple_of(COUNTED) {
        keep_books();
    }
}

/// Serves for a second. Prints requests per second, and the CPU time of one in nanoseconds.
pub(crate) fn serve() -> Result<(), Exit> {
    let (is_over, begin) = (AtomicBool::new(false), Instant::now());
    let n_served: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads())
            .map(|thread| {
                let is_over = &is_over;
                scope.spawn(move || answers(thread << 40, is_over))
            })
            .collect();
        std::thread::sleep(RUN);
        is_over.store(true, Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
    });
    let elapsed = begin.elapsed().as_secs_f64();
    print(&format!("{:.0} {:.1}\n", n_served as f64 / elapsed, cpu_ns() / n_served.max(1) as f64))
}

/// Answers requests from this number on. Gives how many.
fn answers(first: u64, is_over: &AtomicBool) -> u64 {
    let mut n = 0;
    while !is_over.load(Relaxed) {
        answer(first + n);
        n += 1;
    }
    n
}

/// CPU time of this process until now.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
