//! What the statistics say of a process that knows what it did. No file is asked for, but where a test orders one.

use crate::common::{TimeRange, files, from_here, in_its_own_process, pass, prepare, samples, sum, when};
use ondeck_record::control::{Control, answer, command, control};
use ondeck_record::layout::{event, kind};
use ondeck_record::read::Reader;
use ondeck_record::stats::{self, LockStatistics, LongHold};
use ondeck_record::{OpaqueWait, PendingRelease, RecordOptions, bare};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const LOCK: u64 = 0x5000;

/// Begins to count, each hold.
fn start() {
    // SAFETY: this process has one thread that asks for it.
    unsafe { std::env::remove_var("ONDECK_RECORD") };
    assert!(!prepare());
    assert!(stats::start_at_rate(1));
}

#[inline(never)]
fn take(lock: u64) {
    from_here(|| bare::taken(lock, None, bare::is_due(), false));
    std::hint::black_box(lock);
}

#[inline(never)]
fn take_elsewhere(lock: u64) {
    from_here(|| bare::taken(lock, None, true, false));
    // No jump: this function's frame is there.
    std::hint::black_box(lock);
}

fn release(lock: u64) {
    from_here(|| bare::release(lock, None, true).map(PendingRelease::done));
}

/// A wait for that long, at least: between which instants it began and ended.
fn wait(lock: u64, us: u64, has_it: bool) -> (TimeRange, TimeRange) {
    let (waiting, from) = when(|| bare::wait(lock).unwrap());
    pass(us);
    let (_, to) = when(|| bare::waited(&waiting, has_it, lock, None));
    (from, to)
}

#[track_caller]
fn of(name: &str) -> LockStatistics {
    let snapshot = stats::snapshot();
    let names: Vec<&str> = snapshot.locks.iter().map(|lock| lock.lock.as_str()).collect();
    let found = snapshot.locks.iter().find(|lock| lock.lock == name);
    found.unwrap_or_else(|| panic!("no {name} among {names:?}")).clone()
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

#[test]
fn waits_and_holds_are_counted() {
    in_its_own_process("statistics::waits_and_holds_are_counted", 1, |directory| {
        start();
        assert_eq!(stats::snapshot().locks.len(), 0);
        ondeck_record::name(LOCK, 8, b"a lock");
        let (came, got) = wait(LOCK, 2000, true);
        pass(300);
        let ((), freed) = when(|| release(LOCK));
        let (came_again, left) = wait(LOCK, 300, false);
        let ((), taken) = when(|| bare::taken(LOCK, None, bare::is_due(), false));
        let ((), freed_again) = when(|| release(LOCK));
        let lock = of("a lock");
        assert_eq!((lock.waits.count(), lock.gave_up, lock.holds.count(), lock.timed_holds), (2, 1, 2, 2));
        let (long, short) = (came.until(got), came_again.until(left));
        assert!(sum(&long, &short).contains(&ns(lock.waits.sum)), "{lock:?}");
        assert!(long.contains(&ns(lock.longest_wait)) || short.contains(&ns(lock.longest_wait)), "{lock:?}");
        let (held, held_again) = (got.until(freed), taken.until(freed_again));
        // What reading the clock takes is taken off each.
        let most = *sum(&held, &held_again).end();
        assert!((300_000..=most).contains(&ns(lock.holds.sum)), "{lock:?}");
        assert!((300_000..=most).contains(&ns(lock.longest_hold)), "{lock:?}");
        // One is longer than 1 ms, and each is in one bucket.
        assert!(lock.waits.buckets[7..].iter().sum::<u64>() >= 1, "{lock:?}");
        assert_eq!(lock.waiting, []);
        // Of who released it. The program's file is this test's.
        let file = std::env::current_exe().unwrap();
        let file = format!("{}+0x", file.file_name().unwrap().to_str().unwrap());
        let stack = &lock.longest_hold_stack;
        assert!(stack.len() > 1 && stack[0].starts_with(&file), "{stack:?}");
        assert_eq!(files(directory).len(), 0);
    });
}

#[test]
fn a_wait_on_a_condition_is_no_wait_for_a_lock() {
    in_its_own_process("statistics::a_wait_on_a_condition_is_no_wait_for_a_lock", 1, |_| {
        start();
        let wait = from_here(|| OpaqueWait::begin(LOCK, kind::CONDITION)).unwrap();
        assert_eq!(stats::snapshot().locks.len(), 0);
        wait.end();
        ondeck_record::notifies(LOCK, true);
        assert_eq!(stats::snapshot().locks.len(), 0);
    });
}

#[test]
fn one_of_many_stands_for_many() {
    in_its_own_process("statistics::one_of_many_stands_for_many", 1, |_| {
        const N: u64 = 200_000;
        const RATE: u64 = 100;
        // SAFETY: this process has one thread that asks for it.
        unsafe { std::env::remove_var("ONDECK_RECORD") };
        assert!(!prepare() && stats::start_at_rate(RATE));
        ondeck_record::name(LOCK, 8, b"often");
        for _ in 0..N {
            if bare::is_due() {
                from_here(|| bare::taken(LOCK, None, true, false));
            }
            if bare::remembers() {
                release(LOCK);
            }
        }
        let lock = of("often");
        assert_eq!(lock.holds.count(), RATE * lock.timed_holds);
        // Five standard errors.
        assert!(lock.holds.count().abs_diff(N) < 5 * (N as f64 * RATE as f64).sqrt() as u64, "{lock:?}");
    });
}

#[test]
fn who_sleeps_is_told_and_since_when() {
    in_its_own_process("statistics::who_sleeps_is_told_and_since_when", 1, |_| {
        start();
        ondeck_record::name(LOCK, 8, b"held");
        let (waiting, came) = when(|| bare::wait(LOCK).unwrap());
        // One that does not sleep is over soon.
        assert_eq!(stats::snapshot().locks.len(), 0);
        waiting.told(|| {
            ondeck_record::slept();
            pass(1000);
            let (lock, looked) = when(|| of("held"));
            // SAFETY: always may be called.
            let thread = unsafe { libc::gettid() } as u32;
            assert_eq!((lock.waiting.len(), lock.waiting[0].thread, lock.waits.count()), (1, thread, 0));
            let waited = ns(lock.waiting[0].waited);
            assert!(waited >= 1_000_000 && waited <= *came.until(looked).end(), "{waited}");
        });
        from_here(|| bare::waited(&waiting, true, LOCK, None));
        release(LOCK);
        assert_eq!((of("held").waiting.len(), of("held").waits.count()), (0, 1));
    });
}

#[test]
fn locks_are_counted_by_place_or_by_name() {
    in_its_own_process("statistics::locks_are_counted_by_place_or_by_name", 1, |_| {
        start();
        // Two locks at one place, and one at another.
        for lock in [LOCK, LOCK + 64] {
            take(lock);
            release(lock);
        }
        take_elsewhere(LOCK + 128);
        release(LOCK + 128);
        let count = |named: &str| {
            let locks = stats::snapshot().locks;
            let named = locks.iter().filter(|lock| lock.lock.contains(named));
            let mut counts: Vec<u64> = named.map(|lock| lock.holds.count()).collect();
            counts.sort_unstable();
            counts
        };
        assert_eq!(count("+0x"), [1, 2]);
        for lock in 0..1000 {
            ondeck_record::name(0x10_0000 + 64 * lock, 64, b"connection");
            take(0x10_0000 + 64 * lock + 8);
            release(0x10_0000 + 64 * lock + 8);
        }
        assert_eq!(count("connection"), [1000]);
        // Who is named later is counted so from then on.
        ondeck_record::name(LOCK, 8, b"late");
        take(LOCK);
        release(LOCK);
        assert_eq!((count("late"), count("+0x")), (vec![1], vec![1, 2]));
    });
}

/// As an observer gives it; the next thread obeys.
fn commanded(what: u32, directory: &Path) -> u32 {
    let path = directory.as_os_str().as_encoded_bytes();
    commanded_with(what, RecordOptions::new(path, 1, 1, 0).unwrap())
}

fn commanded_with(what: u32, wanted: RecordOptions) -> u32 {
    let Control { options, command, answer, process, .. } = control();
    process.store(std::process::id(), Relaxed);
    answer.store(answer::NONE, Relaxed);
    // SAFETY: this process has one thread that uses it.
    unsafe { *options.get() = wanted };
    command.store(what, Relaxed);
    take(LOCK);
    release(LOCK);
    answer.load(Relaxed)
}

#[test]
fn recordings_by_order_begin_and_end_and_all_is_counted() {
    in_its_own_process("statistics::recordings_by_order_begin_and_end_and_all_is_counted", 1, |directory| {
        start();
        ondeck_record::name(LOCK, 8, b"a lock");
        let mut n_waits = 0;
        for n_files in 1..4 {
            wait(LOCK, 0, true);
            release(LOCK);
            assert_eq!(commanded(command::BEGIN, directory), answer::BEGUN);
            wait(LOCK, 0, true);
            release(LOCK);
            assert_eq!(commanded(command::END, directory), answer::ENDED);
            n_waits += 2;
            assert_eq!(of("a lock").waits.count(), n_waits);
            assert_eq!(files(directory).len(), n_files);
        }
        // Those that obeyed the orders, too.
        assert_eq!(of("a lock").holds.count(), n_waits + 2 * 3);
        for file in files(directory) {
            let samples = samples(&mut Reader::open(&file).unwrap());
            assert_eq!(samples.iter().filter(|sample| sample.event == event::WAIT).count(), 1);
        }
        assert_eq!(commanded(command::BEGIN, &directory.join("missing")), answer::NO_FILE);
        wait(LOCK, 0, true);
        assert_eq!(of("a lock").waits.count(), n_waits + 1);
    });
}

/// As a recording of orders ends, the statistics go on at their own price. What it noted at first might lack an outer lock.
#[test]
fn orders_of_locks_are_told_until_their_recording_ends() {
    in_its_own_process("statistics::orders_of_locks_are_told_until_their_recording_ends", 1, |directory| {
        start();
        ondeck_record::name(LOCK, 8, b"a lock");
        let options = RecordOptions::new(directory.as_os_str().as_encoded_bytes(), 1, 1, 0).unwrap().with_order();
        let nested = || {
            take(LOCK);
            take(LOCK + 64);
            release(LOCK + 64);
            release(LOCK);
        };
        assert_eq!(commanded_with(command::BEGIN, options), answer::BEGUN);
        assert!(ondeck_record::tells_order());
        let noted = || Reader::open(&files(directory)[0]).unwrap().nestings().unwrap().len();
        nested();
        assert_eq!(noted(), 0);
        pass(250_000);
        nested();
        assert_eq!(noted(), 1);
        assert_eq!(commanded_with(command::END, options), answer::ENDED);
        assert!(!ondeck_record::tells_order());
        nested();
        assert_eq!((noted(), of("a lock").holds.count()), (1, 5));
    });
}

/// Who is recorded from the start has one recording, and is counted as well.
#[test]
fn what_is_recorded_anyway_is_counted_too() {
    in_its_own_process("statistics::what_is_recorded_anyway_is_counted_too", 1, |directory| {
        assert!(prepare());
        wait(LOCK, 0, true);
        release(LOCK);
        assert!(stats::start());
        wait(LOCK, 0, true);
        release(LOCK);
        let lock = &stats::snapshot().locks[0];
        assert_eq!((lock.waits.count(), lock.holds.count()), (1, 1));
        let samples = samples(&mut Reader::open(&files(directory)[0]).unwrap());
        assert_eq!(samples.iter().filter(|sample| sample.event == event::WAIT).count(), 2);
    });
}

#[test]
fn a_child_counts_from_zero() {
    in_its_own_process("statistics::a_child_counts_from_zero", 1, |_| {
        start();
        ondeck_record::name(LOCK, 8, b"a lock");
        (0..5).for_each(|_| {
            wait(LOCK, 0, false);
        });
        // SAFETY: the child only does what follows.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_empty = stats::snapshot().locks.is_empty();
            wait(LOCK, 0, false);
            let is_right = is_empty && of("a lock").waits.count() == 1;
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        let mut status = 0;
        // SAFETY: our child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((status, of("a lock").waits.count()), (0, 5));
    });
}

static TOLD: Mutex<Vec<LongHold>> = Mutex::new(Vec::new());

fn tell(hold: &LongHold) {
    TOLD.lock().unwrap().push(hold.clone());
    // A long hold, of which nobody is told meanwhile.
    take(LOCK + 64);
    pass(30_000);
    release(LOCK + 64);
}

#[test]
fn long_holds_are_told_if_they_are_known() {
    in_its_own_process("statistics::long_holds_are_told_if_they_are_known", 1, |_| {
        start();
        ondeck_record::name(LOCK, 8, b"slow");
        stats::on_long_hold(Duration::from_millis(20), tell);
        let hold = |is_timed: bool, ms: u64| {
            from_here(|| bare::taken(LOCK, None, is_timed, false));
            pass(1000 * ms);
        };
        hold(true, 0);
        release(LOCK);
        hold(true, 30);
        release(LOCK);
        let told = || TOLD.lock().unwrap().clone();
        assert_eq!(told().len(), 1);
        assert!(told()[0].is_whole && told()[0].held >= Duration::from_millis(30) && told()[0].lock() == "slow");
        // Neither timed nor waited for.
        hold(false, 30);
        release(LOCK);
        assert_eq!(told().len(), 1);
        // Waited for, after a while.
        let ((), taken) = when(|| hold(false, 30));
        let (waiting, came) = when(|| bare::wait(LOCK).unwrap());
        pass(25_000);
        let ((), freed) = when(|| release(LOCK));
        from_here(|| bare::waited(&waiting, false, LOCK, None));
        assert_eq!(told().len(), 2);
        let held = ns(told()[1].held);
        assert!(!told()[1].is_whole && came.until(freed).contains(&held) && held < *taken.until(freed).end());
        // One that ends in a wait on a condition variable is counted, and not told: the lock is not free yet.
        hold(true, 30);
        from_here(|| bare::release(LOCK, None, false).map(PendingRelease::done_before));
        assert_eq!((told().len(), of("slow").timed_holds), (2, 3));
    });
}

/// Those that wait, and give up, leave nothing by which a later hold seems long.
#[test]
fn a_hold_is_not_as_long_as_the_time_since_somebody_gave_up() {
    in_its_own_process("statistics::a_hold_is_not_as_long_as_the_time_since_somebody_gave_up", 1, |_| {
        start();
        stats::on_long_hold(Duration::from_millis(100), tell);
        wait(LOCK, 0, false);
        pass(110_000);
        let taken = || from_here(|| bare::taken(LOCK, None, false, false));
        taken();
        let waiting = from_here(|| bare::wait(LOCK).unwrap());
        release(LOCK);
        from_here(|| bare::waited(&waiting, true, LOCK, None));
        assert_eq!(TOLD.lock().unwrap().len(), 0);
    });
}

/// A program may make locks for as long as it runs.
#[test]
fn a_lock_gets_the_place_of_one_that_nobody_waits_for() {
    in_its_own_process("statistics::a_lock_gets_the_place_of_one_that_nobody_waits_for", 1, |_| {
        start();
        const PLACES: u64 = 1 << 14;
        for lock in 1..2 * PLACES {
            take(lock * 4096);
            release(lock * 4096);
        }
        let snapshot = stats::snapshot();
        let counted: u64 = snapshot.locks.iter().map(|lock| lock.holds.count()).sum();
        assert_eq!((counted, snapshot.missed), (2 * PLACES - 1, 0));
    });
}
