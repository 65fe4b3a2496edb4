use super::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

const FOLDING: u64 = 1 << FOLDING_SHIFT;

/// A counter, and a word that has it; none where there are no sequences.
fn word() -> Option<(u32, AtomicU64)> {
    let counter = take()?.get();
    Some((counter, AtomicU64::new(u64::from(counter) << COUNTER_SHIFT)))
}

fn try_count(word: &AtomicU64, amount: u64) -> bool {
    // So that the core has a row.
    is_sampled(1);
    // SAFETY: the counter was taken by the test.
    unsafe { count(word, amount) }
}

fn give_back(counter: u32) {
    // SAFETY: taken by the test, whose threads have ended.
    unsafe { give(counter) };
}

#[test]
fn only_an_open_word_with_a_counter_is_counted() {
    let Some((counter, word)) = word() else { return };
    // The first may find that its core has no row.
    assert!((0..1000).any(|_| try_count(&word, 0)));
    word.fetch_or(FOLDING, SeqCst);
    assert!(!(0..1000).any(|_| try_count(&word, 1)));
    assert!(!(0..1000).any(|_| try_count(&AtomicU64::new(0xf_ffff), 1)));
    assert_eq!(counted(counter), Counted::of(0));
    give_back(counter);
}

/// If there is such a core.
fn stay_on_core(core: usize) {
    let mask = [1_u64 << core];
    // SAFETY: a mask of that length.
    unsafe { libc::sched_setaffinity(0, 8, mask.as_ptr().cast()) };
}

#[test]
fn what_all_have_counted_adds_up() {
    const N: u64 = 100_000;
    let Some((counter, word)) = word() else { return };
    let counts = &|amount| while !try_count(&word, amount) {};
    std::thread::scope(|scope| {
        for at in 0..8 {
            scope.spawn(move || {
                stay_on_core(at % 2);
                (0..N).for_each(|_| counts(Counted::ENTER));
                (1..N).for_each(|_| counts(Counted::LEAVE));
            });
        }
    });
    assert_eq!(counted(counter), Counted { readers: 8, entered: (8 * N % 4096) as u32 });
    give_back(counter);
    assert_eq!(counted(counter), Counted::of(0));
}

/// An addition to a page that is not there takes a microsecond, from the look at the word on.
#[test]
fn nothing_is_added_after_an_expulsion() {
    in_its_own_process("nothing_is_added_after_an_expulsion", || {
        let Some((counter, word)) = word() else { return };
        let (is_over, has_counted, mut stays) = (AtomicBool::new(false), AtomicBool::new(false), true);
        let forget = |row: usize| {
            let page = part(row, counter as usize).as_ptr().map_addr(|address| address & !(PAGE - 1));
            // SAFETY: of the table, in which nobody else has a counter.
            let _ = unsafe { kernel::advise(page.cast(), PAGE, libc::MADV_DONTNEED) };
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                stay_on_core(1);
                while !is_over.load(Relaxed) {
                    has_counted.fetch_or(try_count(&word, Counted::ENTER), Relaxed);
                }
            });
            stay_on_core(0);
            let is_long = std::env::var_os("ONDECK_LONG").is_some();
            let until = Instant::now() + Duration::from_millis(if is_long { 10_000 } else { 500 });
            let mut n = 0;
            while stays && Instant::now() < until {
                (0..head().seen.load(Relaxed) as usize).for_each(forget);
                n += 1;
                clock::pause_ns(n % 64 * 20);
                word.fetch_or(FOLDING, SeqCst);
                expel();
                let sum = counted(counter);
                clock::pause_ns(5_000);
                stays &= counted(counter) == sum;
                word.fetch_and(!FOLDING, SeqCst);
            }
            is_over.store(true, Relaxed);
        });
        assert!(stays, "something was added after the expulsion");
        assert!(has_counted.into_inner());
        give_back(counter);
    });
}

#[test]
fn no_two_have_one_counter() {
    in_its_own_process("no_two_have_one_counter", || {
        let taken: std::vec::Vec<_> = core::iter::from_fn(take).take(2 * N_COUNTERS).collect();
        assert!(taken.is_empty() || taken.len() == N_COUNTERS - 1);
        let different: std::collections::HashSet<_> = taken.iter().collect();
        assert_eq!(different.len(), taken.len());
        taken.iter().for_each(|counter| give_back(counter.get()));
        assert_eq!(take().is_none(), taken.is_empty());
    });
}

#[test]
fn of_many_locks_only_those_are_spread_whose_readers_meet() {
    in_its_own_process("of_many_locks_only_those_are_spread_whose_readers_meet", || {
        let n_taken_after_reads = |lock: &crate::RawOndeckRwLock<crate::Hardware>| {
            for _ in 0..200_000 {
                lock.read();
                // SAFETY: acquired above.
                unsafe { lock.release_read() };
            }
            table().map_or(0, n_taken) as usize
        };
        let alone = n_taken_after_reads(&Default::default());
        let few = core::iter::from_fn(take).take(FEW as usize).count();
        assert_eq!(alone > 0, few > 0 && !crate::Hardware::is_zen_3());
        let lock = crate::RawOndeckRwLock::default();
        assert_eq!((n_taken_after_reads(&lock), pays_alone(false)), (few, few == 0));
        lock.read();
        assert_eq!(n_taken_after_reads(&lock), few + few.min(1));
        // SAFETY: acquired above.
        unsafe { lock.release_read() };
    });
}

/// Runs the test of that name again from the start of a process, and there `part` of it.
fn in_its_own_process(name: &str, part: impl FnOnce()) {
    const VARIABLE: &str = "ONDECK_PART";
    if std::env::var_os(VARIABLE).is_some() {
        return part();
    }
    let name = std::format!("platform::hardware::sequence::x86_64_linux::counters::tests::{name}");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", &name, "--test-threads=1"]).env(VARIABLE, "1").output().unwrap();
    let text = std::string::String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn where_something_else_is_there_are_no_counters() {
    in_its_own_process("where_something_else_is_there_are_no_counters", || {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let place = ptr::with_exposed_provenance_mut(AT);
        // SAFETY: a new mapping, where there is none.
        let made = unsafe { libc::mmap(place, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        assert_eq!(made, place);
        assert!(take().is_none());
        head().magic.store(MAGIC, Relaxed);
        assert!(take().is_none() && !is_sampled(1), "that was decided");
    });
}

/// As another copy of this code has it.
#[test]
fn a_table_that_is_there_is_used() {
    in_its_own_process("a_table_that_is_there_is_used", || {
        let Some((counter, word)) = word() else { return };
        ATTACHED.store(0, Relaxed);
        let (other, _) = self::word().unwrap();
        assert!(counter != other && (0..1000).any(|_| try_count(&word, 1)));
    });
}

/// As another copy of this code, which has no area of threads, or may not ask for expulsions.
#[test]
fn who_may_not_count_misses_no_reader() {
    in_its_own_process("who_may_not_count_misses_no_reader", || {
        let lock = crate::RawOndeckRwLock::<crate::Hardware>::new();
        if !lock.spread() {
            return;
        }
        let is_counted = || (1..N_COUNTERS as u32).any(|counter| counted(counter).readers == 1);
        // The first may find that its core has no row.
        let is_in = (0..1000).any(|_| {
            is_sampled(1);
            lock.read();
            // SAFETY: acquired above.
            is_counted() || (unsafe { lock.release_read() }, false).1
        });
        assert!(is_in);
        ATTACHED.store(MAY_NOT, Relaxed);
        OFFSET.store(0, Relaxed);
        super::super::LAST_EXPULSION.store(super::super::NEVER_AGAIN, Relaxed);
        assert!(!lock.try_write(), "a reader is in");
        assert_eq!(head().rows.load(Relaxed), 0, "nobody counts after an expulsion that is refused");
        assert!(!lock.try_write() && take().is_none());
        let word = AtomicU64::new(0);
        note(word.as_ptr().cast(), true);
        assert!(is_noted(word.as_ptr().cast()));
        // SAFETY: it is in since.
        unsafe { lock.release_read() };
        assert!(lock.try_write());
    });
}

#[test]
fn where_no_mutex_becomes_quiet_there_are_counters_all_the_same() {
    in_its_own_process("where_no_mutex_becomes_quiet_there_are_counters_all_the_same", || {
        let before = super::super::can_expel();
        super::super::stay_loud();
        assert!(!super::super::can_expel() && !crate::RawOndeckRwLock::<crate::Hardware>::new().hush());
        assert_eq!(take().is_some(), before);
    });
}

#[test]
fn who_forgoes_ends_all_counting() {
    in_its_own_process("who_forgoes_ends_all_counting", || {
        let Some((counter, word)) = word() else { return };
        assert!((0..1000).any(|_| try_count(&word, 1)));
        super::super::forgo();
        assert!(!(0..1000).any(|_| try_count(&word, 1)) && take().is_none());
        // No call is made any more, and none is needed.
        expel();
        assert_eq!(counted(counter).readers, 1);
    });
}

/// A hold that is quiet by then ends with its release, which hears of who waits.
#[test]
fn who_waits_beside_a_quiet_hold_gets_in_without_expulsions() {
    in_its_own_process("who_waits_beside_a_quiet_hold_gets_in_without_expulsions", || {
        type Lock = crate::RawOndeckRwLock<crate::Hardware>;
        type Act = fn(&Lock);
        let writes: Act = |lock| {
            lock.write();
            // SAFETY: acquired above.
            unsafe { lock.release_write() };
        };
        let reads: Act = |lock| {
            lock.read();
            // SAFETY: acquired above.
            unsafe { lock.release_read() };
        };
        let locks = [Lock::new(), Lock::new()];
        let are_quiet = locks.iter().all(Lock::hush);
        locks.iter().for_each(Lock::write);
        super::super::forgo();
        for (lock, act) in locks.iter().zip([writes, reads]) {
            std::thread::scope(|scope| {
                scope.spawn(|| act(lock));
                while are_quiet && !lock.is_contended() {
                    std::thread::yield_now();
                }
                // Until then it has found that there are no expulsions, most likely: if not, it takes another way.
                std::thread::sleep(Duration::from_millis(1));
                // SAFETY: acquired above.
                unsafe { lock.release_write() };
            });
            assert!(lock.is_at_rest() && !lock.hush());
        }
    });
}

#[test]
fn a_filter_that_nobody_has_told_of_ends_it_too() {
    in_its_own_process("a_filter_that_nobody_has_told_of_ends_it_too", || {
        let Some((counter, word)) = word() else { return };
        assert!((0..1000).any(|_| try_count(&word, 1)));
        // As an expulsion does that is refused.
        super::super::LAST_EXPULSION.store(super::super::NEVER_AGAIN, Relaxed);
        let before = Instant::now();
        expel();
        assert!(before.elapsed() >= Duration::from_millis(100));
        assert!(!(0..1000).any(|_| try_count(&word, 1)));
        expel();
        assert_eq!(counted(counter).readers, 1);
    });
}
