//! Locks taken in generic functions and closures of Rust, some of them put into their callers: all are in the stacks, with
//! names and not with symbols. Through pthread's functions, as what Rust's own mutex does cannot be seen from outside.

use std::cell::UnsafeCell;
use std::fs;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[repr(C)]
struct PthreadMutex([u64; 5]);

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut PthreadMutex) -> i32;
    fn pthread_mutex_unlock(mutex: *mut PthreadMutex) -> i32;
    fn gettid() -> i32;
}

struct Guarded<T> {
    mutex: UnsafeCell<PthreadMutex>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached with the mutex held.
unsafe impl<T: Send> Sync for Guarded<T> {}

struct Apples(u32);
struct Pears(f64);

trait Fruit: Send {
    fn grow(&mut self);
}

impl Fruit for Apples {
    fn grow(&mut self) {
        self.0 += 1;
    }
}

impl Fruit for Pears {
    fn grow(&mut self) {
        self.0 += 0.5;
    }
}

static APPLES: Guarded<Apples> = Guarded::new(Apples(0));
static PEARS: Guarded<Pears> = Guarded::new(Pears(0.0));

/// When it was wanted, had and given back.
struct Times {
    want: Instant,
    have: Instant,
    until: Instant,
}

impl<T: Fruit> Guarded<T> {
    const fn new(value: T) -> Self {
        Guarded { mutex: UnsafeCell::new(PthreadMutex([0; 5])), value: UnsafeCell::new(value) }
    }

    #[inline(always)]
    fn take_inside(&self, within: impl FnOnce(&mut T)) -> Times {
        let want = Instant::now();
        // SAFETY: a mutex of all zeros is PTHREAD_MUTEX_INITIALIZER, and it never moves.
        assert_eq!(unsafe { pthread_mutex_lock(self.mutex.get()) }, 0);
        let have = Instant::now();
        // SAFETY: the mutex is held.
        within(unsafe { &mut *self.value.get() });
        let until = Instant::now();
        // SAFETY: as above.
        assert_eq!(unsafe { pthread_mutex_unlock(self.mutex.get()) }, 0);
        Times { want, have, until }
    }

    #[inline(never)]
    fn take(&self, within: impl FnOnce(&mut T)) -> Times {
        self.take_inside(within)
    }
}

#[inline(never)]
fn grows<T: Fruit>(guarded: &Guarded<T>) -> Times {
    std::hint::black_box(guarded.take(|fruit| fruit.grow()))
}

fn is_asleep(thread: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    thread != 0 && stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"))
}

/// One waits while the other holds: what both did.
fn meet<T: Fruit>(guarded: &'static Guarded<T>) -> (Times, Times) {
    static WAITER: AtomicI32 = AtomicI32::new(0);
    WAITER.store(0, Ordering::SeqCst);
    let mut waiter = None;
    let held = guarded.take_inside(|_| {
        waiter = Some(std::thread::spawn(move || {
            // SAFETY: nothing is asked for.
            WAITER.store(unsafe { gettid() }, Ordering::SeqCst);
            grows(guarded)
        }));
        for _ in 0..5 {
            while !is_asleep(WAITER.load(Ordering::SeqCst)) {
                std::thread::sleep(Duration::from_micros(500));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        std::thread::sleep(Duration::from_millis(20));
    });
    (held, waiter.and_then(|waiter| waiter.join().ok()).expect("the waiter ends"))
}

fn truth_of<T: Fruit>(guarded: &'static Guarded<T>, name: &str, begin: (Instant, f64)) -> String {
    let rounds: Vec<(Times, Times)> = (0..3).map(|_| meet(guarded)).collect();
    let sum = |of: &dyn Fn(&(Times, Times)) -> Duration| rounds.iter().map(|round| of(round).as_nanos()).sum::<u128>();
    let wait_ns = sum(&|(_, waiter)| waiter.have - waiter.want);
    let longest_ns = rounds.iter().map(|(_, waiter)| (waiter.have - waiter.want).as_nanos()).max().unwrap_or(0);
    let charged_ns = sum(&|(holder, waiter)| holder.until - waiter.want);
    let held_ns = sum(&|(holder, waiter)| holder.until - holder.have + (waiter.until - waiter.have));
    let at = |time: Instant| begin.1 + (time - begin.0).as_secs_f64();
    let (from, to) = (at(rounds[0].1.want), at(rounds[2].1.have));
    format!(
        r#"{{"name":"{name}","address":"{:p}","waits":3,"wait_ns":{wait_ns},"longest_ns":{longest_ns},"handing_on_ns":{},
"threads":4,"most_waiting":1,"waits_from":{from:.6},"waits_to":{to:.6},"sites":[{{"function":"take_inside","line":0,"acquisitions":6,
"taken_back":0,"waits":3,"wait_ns":{wait_ns},"unsure":0,"unsure_ns":0,"hold_ns":{held_ns}}}],"holders":[{{"function":"take_inside","line":0,
"charged_ns":{charged_ns},"holds_least":3,"holds_most":6}}]}}"#,
        guarded.mutex.get(),
        wait_ns - charged_ns,
    )
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).expect("a file to write to");
    let program = arguments[0].rsplit('/').next().unwrap_or_default();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs_f64();
    let begin = (Instant::now(), since_1970);
    let truth = [truth_of(&APPLES, "*APPLES*", begin), truth_of(&PEARS, "*PEARS*", begin)];
    let pid = std::process::id();
    let text = format!(
        r#"{{"program":"{program}","pid":{pid},"ended":"exit","locks":[{}],"conditions":[],"facts":{{}}}}"#,
        truth.join(",\n")
    );
    fs::write(format!("{path}.{pid}.{program}"), text).expect("the file can be written");
}
