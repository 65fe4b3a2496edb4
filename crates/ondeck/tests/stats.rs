//! What the statistics say of threads that wait a known number of times for known lengths. Run with
//! `cargo test -p ondeck --features stats --test stats`. All tests share the statistics of their process, so each looks at locks
//! of its own.
#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

use ondeck::stats::{Histogram, LockStatistics, Snapshot, on_long_hold, snapshot, start_at_rate};
use ondeck::{Condvar, Mutex, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Begins to count, each hold.
fn start() {
    assert!(start_at_rate(1));
}

#[track_caller]
fn of(name: &str) -> LockStatistics {
    find(&snapshot(), name).unwrap_or_else(|| panic!("no lock is called {name}"))
}

fn find(snapshot: &Snapshot, name: &str) -> Option<LockStatistics> {
    snapshot.locks.iter().find(|lock| lock.lock == name).cloned()
}

/// Returns once so many threads sleep for the lock.
fn wait_for_sleepers(name: &str, n: usize) {
    while find(&snapshot(), name).is_none_or(|lock| lock.waiting.len() < n) {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_wait_is_counted_with_its_length() {
    const THREADS: usize = 3;
    const ROUNDS: u64 = 5;
    const HELD: Duration = Duration::from_millis(10);
    static LOCK: Mutex<u64> = Mutex::new(0);
    start();
    ondeck::name(&LOCK, "rounds");
    let mut most = Duration::ZERO;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        scope(|scope| {
            let guard = LOCK.lock();
            (0..THREADS).for_each(|_| drop(scope.spawn(|| *LOCK.lock() += 1)));
            // A snapshot needs none of the locks that are held.
            wait_for_sleepers("rounds", THREADS);
            sleep(HELD);
            assert!(of("rounds").waiting.iter().all(|thread| thread.waited >= HELD));
            drop(guard);
        });
        most += began.elapsed();
    }
    let lock = of("rounds");
    let n_waits = THREADS as u64 * ROUNDS;
    assert_eq!((lock.waits.count(), lock.gave_up, lock.waiting.len()), (n_waits, 0, 0));
    assert_eq!((lock.holds.count(), lock.timed_holds, *LOCK.lock()), (n_waits + ROUNDS, n_waits + ROUNDS, n_waits));
    let least = HELD * n_waits as u32;
    assert!((least..=most * THREADS as u32).contains(&lock.waits.sum), "{lock:?} in {most:?}");
    assert!((HELD..=most).contains(&lock.longest_wait), "{lock:?}");
    assert!((HELD..=most).contains(&lock.longest_hold) && !lock.longest_hold_stack.is_empty(), "{lock:?}");
    // None is in a bucket below 10 ms.
    let below = (0..).take_while(|bucket| Histogram::limit(*bucket).is_some_and(|limit| limit <= HELD)).count();
    assert_eq!(lock.waits.buckets[..below], vec![0; below]);
}

#[test]
fn who_gives_up_is_counted() {
    static LOCK: Mutex<()> = Mutex::new(());
    start();
    ondeck::name(&LOCK, "timeouts");
    let guard = LOCK.lock();
    scope(|scope| {
        let tries = || (0..4).for_each(|_| assert!(LOCK.try_lock_for(Duration::from_millis(2)).is_none()));
        scope.spawn(tries);
    });
    drop(guard);
    let lock = of("timeouts");
    assert_eq!((lock.waits.count(), lock.gave_up), (4, 4));
    assert!(lock.waits.sum >= Duration::from_millis(8));
}

/// Each wait, and each hold, of whichever kind.
#[test]
fn readers_and_writers_are_counted() {
    const HELD: Duration = Duration::from_millis(10);
    static LOCK: RwLock<u64> = RwLock::new(0);
    start();
    ondeck::name(&LOCK, "readers");
    scope(|scope| {
        let mut guard = LOCK.write();
        *guard += 1;
        (0..3).for_each(|_| drop(scope.spawn(|| *LOCK.read())));
        wait_for_sleepers("readers", 3);
        sleep(HELD);
    });
    let lock = of("readers");
    assert_eq!((lock.waits.count(), lock.gave_up, lock.holds.count()), (3, 0, 4));
    assert!(lock.waits.sum >= 3 * HELD && lock.longest_hold >= HELD, "{lock:?}");
    scope(|scope| {
        let guard = LOCK.read();
        scope.spawn(|| *LOCK.write() += 1);
        wait_for_sleepers("readers", 1);
        drop(guard);
    });
    scope(|scope| {
        let guard = LOCK.upgradable_read();
        scope.spawn(|| assert!(LOCK.try_write_for(HELD).is_none() && LOCK.try_upgradable_read_for(HELD).is_none()));
        while of("readers").gave_up < 2 {
            sleep(HELD / 10);
        }
        drop(guard);
    });
    let lock = of("readers");
    assert_eq!((lock.waits.count(), lock.gave_up, lock.holds.count()), (6, 2, 7));
}

/// Who goes on in another way ends one hold and begins another. That is a wait only if there is one.
#[test]
fn a_change_of_what_is_held_is_another_hold() {
    static LOCK: RwLock<u64> = RwLock::new(0);
    start();
    ondeck::name(&LOCK, "changes");
    let held = |n_holds, n_waits| {
        let lock = of("changes");
        assert_eq!((lock.holds.count(), lock.waits.count(), lock.waiting.len()), (n_holds, n_waits, 0), "{lock:?}");
    };
    drop(RwLockWriteGuard::downgrade(LOCK.write()));
    held(2, 0);
    let guard = RwLockWriteGuard::downgrade_to_upgradable(LOCK.write());
    let guard = RwLockUpgradableReadGuard::try_upgrade(guard).unwrap();
    let guard = RwLockUpgradableReadGuard::downgrade(RwLockWriteGuard::downgrade_to_upgradable(guard));
    drop(guard);
    held(6, 0);
    // Another one reads for some time.
    let outer = LOCK.upgradable_read();
    scope(|scope| {
        let reader = LOCK.read();
        let upgrades = scope.spawn(move || {
            let guard = RwLockUpgradableReadGuard::try_upgrade_for(LOCK.upgradable_read(), Duration::from_millis(2));
            drop(RwLockUpgradableReadGuard::upgrade(guard.unwrap_err()));
        });
        drop(outer);
        while of("changes").gave_up == 0 {
            sleep(Duration::from_millis(1));
        }
        wait_for_sleepers("changes", 1);
        drop(reader);
        upgrades.join().unwrap();
    });
    let lock = of("changes");
    // The one outside, the reader, and of the other: before and after it gave up, and as the writer.
    assert_eq!((lock.holds.count(), lock.gave_up), (6 + 2 + 3, 1), "{lock:?}");
    // It may have waited to read, too.
    assert!((2..=3).contains(&lock.waits.count()), "{lock:?}");
}

#[test]
fn a_thousand_locks_may_have_one_name() {
    start();
    let locks: Vec<Mutex<u64>> = (0..900).map(Mutex::new).collect();
    locks.iter().for_each(|lock| ondeck::name(lock, "one of many"));
    locks.iter().for_each(|lock| *lock.lock() += 1);
    assert_eq!(of("one of many").holds.count(), 900);
}

#[test]
fn a_lock_inside_of_what_was_named_has_the_name() {
    #[repr(C)]
    struct Session {
        id: [u64; 5],
        state: Mutex<u64>,
    }
    start();
    let sessions = [1, 2].map(|id| Session { id: [id; 5], state: Mutex::new(id) });
    ondeck::name(&sessions[0], "first session");
    ondeck::name(&sessions[1], "second session");
    for session in &sessions {
        *session.state.lock() += session.id[0];
    }
    *sessions[1].state.lock() += 1;
    assert_eq!((of("first session").holds.count(), of("second session").holds.count()), (1, 2));
    // Its flag may come before the lock.
    let poisoned = ondeck::poison::Mutex::new(0);
    ondeck::name(&poisoned, "with a flag");
    *poisoned.lock().unwrap() += 1;
    assert_eq!(of("with a flag").holds.count(), 1);
}

/// Prometheus takes a count that has become less for a process that has begun anew.
#[test]
fn counts_never_go_back_while_threads_lock() {
    const SNAPSHOTS: u32 = 300;
    static LOCK: Mutex<u64> = Mutex::new(0);
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    ondeck::name(&LOCK, "busy");
    scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                start();
                while !IS_OVER.load(Relaxed) {
                    if let Some(mut guard) = LOCK.try_lock_for(Duration::from_micros(20)) {
                        *guard += 1;
                        (0..500).for_each(|_| std::hint::spin_loop());
                    }
                }
            });
        }
        let mut before = LockStatistics::default();
        for _ in 0..SNAPSHOTS {
            let Some(now) = find(&snapshot(), "busy") else { continue };
            assert!(now.gave_up <= now.waits.count(), "{now:?}");
            let numbers = |lock: &LockStatistics| {
                let [waits, holds] = [&lock.waits, &lock.holds].map(|lengths| (lengths.count(), lengths.sum));
                [(lock.gave_up, lock.longest_wait), waits, holds, (lock.timed_holds, lock.longest_hold)]
            };
            let pairs = numbers(&before).into_iter().zip(numbers(&now));
            assert!(
                pairs.into_iter().all(|(before, now)| before.0 <= now.0 && before.1 <= now.1),
                "{before:?} {now:?}"
            );
            before = now;
        }
        IS_OVER.store(true, Relaxed);
        assert!(before.holds.count() > 0);
    });
    assert_eq!(of("busy").holds.count(), *LOCK.lock());
}

/// Each lock is first seen by its own call.
#[test]
fn locks_without_a_name_are_counted_by_place() {
    #[inline(never)]
    fn here(lock: &Mutex<u64>) {
        *lock.lock() += 1;
    }
    #[inline(never)]
    fn there(lock: &Mutex<u64>) {
        *lock.lock() += 2;
    }
    start();
    // Counts by which these locks are known among those of other tests.
    const N: [u64; 3] = [1_000, 10_000, 100_000];
    let locks = [0, 1, 2].map(Mutex::new);
    for (lock, (n, place)) in locks.iter().zip(N.into_iter().zip([here, here, there])) {
        (0..n).for_each(|_| place(lock));
    }
    let locks = snapshot().locks;
    let places: Vec<&LockStatistics> = locks.iter().filter(|lock| lock.lock.contains("+0x")).collect();
    let n: Vec<u64> = places.iter().map(|lock| lock.holds.count()).filter(|count| *count >= N[0]).collect();
    assert!(n.contains(&(N[0] + N[1])) && n.contains(&N[2]), "{n:?}");
    let program = std::env::current_exe().unwrap();
    let program = format!("{}+0x", program.file_name().unwrap().to_str().unwrap());
    assert!(places.iter().all(|lock| lock.lock.starts_with(&program)), "{places:?}");
}

static TOLD: AtomicU64 = AtomicU64::new(0);
static SLOW: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

#[test]
fn who_is_told_of_a_long_hold_may_lock_the_same_lock() {
    const LONG: Duration = Duration::from_millis(200);
    start();
    ondeck::name(&SLOW, "slow");
    on_long_hold(LONG, |hold| {
        if hold.lock() == "slow" && hold.held >= LONG {
            *SLOW.lock() += 1;
            TOLD.fetch_add(1, Relaxed);
        }
    });
    let mut guard = SLOW.lock();
    sleep(LONG);
    // The thread has the lock again after this.
    CHANGED.wait_for(&mut guard, Duration::from_millis(1));
    drop(guard);
    assert_eq!(TOLD.load(Relaxed), 0);
    let guard = SLOW.lock();
    sleep(LONG);
    drop(guard);
    assert_eq!((TOLD.load(Relaxed), *SLOW.lock()), (1, 1));
}

/// The value of each line of a text of Prometheus, by its name and labels. Strict: what the format does not allow is refused.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut values = BTreeMap::new();
    let mut family = ("", "");
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').expect("a help has a name");
            assert!(is_name(name) && !help.is_empty(), "{line}");
            family = (name, "");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type has a name");
            assert!(name == family.0 && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            family.1 = kind;
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a line has a value");
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let part = name.strip_prefix(family.0).expect("it is of its family");
            let is_part = if family.1 == "histogram" { &["_bucket", "_sum", "_count"][..] } else { &[""] };
            assert!(is_name(name) && is_part.contains(&part), "{line}");
            assert!(family.1 != "counter" || name.ends_with("_total"), "{line}");
            assert_are_labels(labels);
            let value: f64 = value.parse().expect("a value is a number");
            assert!(value >= 0.0 && values.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    values
}

/// `name="value",...}`: each name once, and in values all that must be is escaped.
fn assert_are_labels(text: &str) {
    let mut left = text;
    while let Some((name, rest)) = left.split_once("=\"") {
        assert!(["lock", "le"].contains(&name.trim_start_matches(',')), "{text}");
        let mut end = None;
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => assert!(matches!(characters.next(), Some((_, '\\' | '"' | 'n'))), "{text}"),
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        left = &rest[end.expect("a value ends") + 1..];
    }
    assert_eq!(left, "}", "{text}");
}

#[test]
fn the_text_for_prometheus_says_what_the_snapshot_says() {
    static LOCK: Mutex<u64> = Mutex::new(0);
    start();
    ondeck::name(&LOCK, "a \"name\" \\ of\ntwo lines");
    scope(|scope| {
        let guard = LOCK.lock();
        (0..2).for_each(|_| drop(scope.spawn(|| *LOCK.lock() += 1)));
        wait_for_sleepers("a \"name\" \\ of\ntwo lines", 2);
        drop(guard);
    });
    let snapshot = snapshot();
    let mut text = String::new();
    snapshot.prometheus(&mut text).unwrap();
    let values = parsed(&text);
    assert!(values.contains_key(r#"ondeck_lock_waits_total{lock="a \"name\" \\ of\ntwo lines"}"#), "{text}");
    let n_lines = 7 + 2 * (Histogram::default().buckets.len() + 2);
    assert_eq!(values.len(), 1 + n_lines * snapshot.locks.len());
    for lock in &snapshot.locks {
        let label = lock.lock.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let value = |metric: &str| values[&format!("ondeck_lock_{metric}{{lock=\"{label}\"}}")];
        let histograms = [("wait", "waits", &lock.waits), ("hold", "acquisitions", &lock.holds)];
        for (histogram, total, lengths) in histograms {
            assert_eq!(value(&format!("{total}_total")), lengths.count() as f64);
            assert_eq!(value(&format!("{histogram}_seconds_count")), lengths.count() as f64);
            let sum = value(&format!("{histogram}_seconds_sum"));
            assert!((sum - lengths.sum.as_secs_f64()).abs() < 1e-9, "{sum}");
            let mut so_far = 0;
            for (bucket, count) in lengths.buckets.iter().enumerate() {
                so_far += count;
                let le = Histogram::limit(bucket).map_or("+Inf".into(), |limit| limit.as_secs_f64().to_string());
                let series = format!("ondeck_lock_{histogram}_seconds_bucket{{lock=\"{label}\",le=\"{le}\"}}");
                assert_eq!(values[&series], so_far as f64, "{series}");
            }
        }
        assert_eq!(value("gave_up_total"), lock.gave_up as f64);
        assert_eq!(value("waiting_threads"), lock.waiting.len() as f64);
        assert_eq!(value("longest_wait_seconds"), lock.longest_wait.as_secs_f64());
    }
}
