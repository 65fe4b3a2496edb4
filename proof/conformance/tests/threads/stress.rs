//! Real threads on real cores: up to 1024 of them, timed attempts mixed in, threads frozen at arbitrary instructions,
//! the whole process stopped, one core only.
//!
//! Boxes: each test lets its threads contend for the time that its name's constant says, and longer where the machine is too
//! busy for what the test is about; it is ended by a watchdog after [`PATIENCE`]. All together take below a minute on two cores.

use ondeck_conformance::child::{stay_on_one_core, succeed, test_in_child};
use ondeck_conformance::rwlock::Writers;
use ondeck_conformance::{CheckedCell, HardwareHarness, Harness, Random, depth, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::*;
use std::os::unix::process::CommandExt as _;
use std::os::unix::thread::JoinHandleExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long threads contend per lock and number of threads.
fn spell() -> Duration {
    Duration::from_millis(if depth::is_whole() { 200 } else { 60 })
}

/// How long anything may take: far more than ever seen on a loaded machine of two cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// Hold and think times to draw from, in nanoseconds: mostly short, at times long enough to make everybody sleep.
const HOLD_NS: [u32; 8] = [0, 0, 0, 0, 20, 200, 2_000, 20_000];
const THINK_NS: [u32; 5] = [0, 0, 100, 1_000, 10_000];

struct SharedState<L> {
    lock: L,
    data: <HardwareHarness as Harness>::Cell,
    entered: AtomicU64,
    is_over: AtomicBool,
}

/// How a thread asks for the lock; false if it gave up.
type Attempt<L> = fn(&L, &mut Random) -> bool;

fn patient<L: RawLock>(lock: &L, _: &mut Random) -> bool {
    lock.acquire();
    true
}

fn trying<L: RawLock>(lock: &L, random: &mut Random) -> bool {
    if random.below(4) == 0 {
        return lock.try_acquire();
    }
    patient(lock, random)
}

fn timed<L: RawTimedLock>(lock: &L, random: &mut Random) -> bool {
    match random.below(4) {
        0 => lock.try_acquire(),
        1 => patient(lock, random),
        _ => {
            // From "already over" to two milliseconds, the shorter the more frequent.
            let most = 1 << random.below(22);
            lock.try_acquire_until(L::Platform::now_ns() + random.below(most))
        }
    }
}

fn contender<L: RawLock>(arena: &SharedState<L>, mut random: Random, attempt: Attempt<L>) {
    while !arena.is_over.load(Relaxed) {
        if attempt(&arena.lock, &mut random) {
            Hardware::pause_ns(HOLD_NS[random.below(HOLD_NS.len() as u64) as usize]);
            // SAFETY: the lock is held; that this suffices is what the test is about.
            unsafe { arena.data.update(|count| count + 1) };
            arena.entered.fetch_add(1, Relaxed);
            // SAFETY: held.
            unsafe { arena.lock.release() };
        }
        Hardware::pause_ns(THINK_NS[random.below(THINK_NS.len() as u64) as usize]);
    }
}

/// Lets `threads` contend for a [`spell`] while `disturb` is called with them again and again, then checks the count.
fn contend<L: RawLock>(threads: u64, attempt: Attempt<L>, mut disturb: impl FnMut(&[JoinHandle<()>])) {
    let name = L::ENTRY.name;
    within(PATIENCE, name, || {
        let data = CheckedCell::new(0);
        let arena = Arc::new(SharedState { lock: L::new(), data, entered: 0.into(), is_over: false.into() });
        let spawn = |seed| {
            let arena = arena.clone();
            std::thread::spawn(move || contender(&arena, Random::new(seed), attempt))
        };
        let contenders: Vec<_> = (0..threads).map(spawn).collect();
        let start = Instant::now();
        // On a busy machine nobody may have run yet.
        while start.elapsed() < spell() || arena.entered.load(Relaxed) == 0 {
            disturb(&contenders);
            std::thread::sleep(Duration::from_millis(2));
        }
        arena.is_over.store(true, Relaxed);
        for thread in contenders {
            thread.join().expect("a contender panicked");
        }
        arena.lock.acquire();
        // SAFETY: just acquired; nobody else is left.
        let count = unsafe { arena.data.update(|count| count) };
        // SAFETY: acquired above.
        unsafe { arena.lock.release() };
        let entered = arena.entered.load(Relaxed);
        assert_eq!(count, entered, "{name}: {threads} threads lost an update");
        assert!(arena.lock.is_at_rest(), "{name}: a flag is left after {threads} threads");
    });
}

fn undisturbed(_: &[JoinHandle<()>]) {}

/// Freezes a random contender for two milliseconds at whatever instruction it has reached, and interrupts its
/// futex call if it is in one.
fn freezing() -> impl FnMut(&[JoinHandle<()>]) {
    extern "C" fn freeze(_signal: libc::c_int) {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        // SAFETY: nanosleep may be called in a signal handler; both pointers are valid or null.
        unsafe { libc::nanosleep(&pause, std::ptr::null_mut()) };
    }
    // SAFETY: all zeros is a valid `sigaction`: no flags (so that system calls are interrupted), empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = freeze as *const () as libc::sighandler_t;
    // SAFETY: the handler only calls nanosleep.
    let answer = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    assert_eq!(answer, 0, "SIGUSR1 has a handler");
    let mut random = Random::new(7);
    move |contenders| {
        let victim = &contenders[random.below(contenders.len() as u64) as usize];
        // SAFETY: a contender runs until it is told to stop, which is after the last disturbance.
        unsafe { libc::pthread_kill(victim.as_pthread_t(), libc::SIGUSR1) };
    }
}

/// Two threads, and where waiters sleep also crowds: spinners by the dozen only show what a time slice is.
fn crowds<L: RawLock>() -> &'static [u64] {
    match (L::ENTRY.promises.sleeps, depth::is_whole()) {
        (true, true) => &[2, 8, 64, 256, 1024],
        (true, false) => &[2, 64],
        (false, _) => &[2, 4],
    }
}

fn on_one_core<L: RawLock>(attempt: Attempt<L>) {
    // This is the child's first thread that matters; its contenders inherit the affinity.
    stay_on_one_core();
    contend::<L>(4, attempt, undisturbed);
}

/// Runs the test in a child and stops and continues the whole process some ten times while it contends.
fn stop_and_go(mut child: Command) {
    let child = child.process_group(0).spawn().expect("the child starts");
    let mut random = Random::new(11);
    for _ in 0..10 {
        for signal in [libc::SIGSTOP, libc::SIGCONT] {
            std::thread::sleep(Duration::from_millis(5 + random.below(20)));
            // SAFETY: our own child, not waited for yet, so its number is still its own.
            unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        }
    }
    succeed(child);
}

/// The tests of one lock; `$attempt` is how its contenders ask.
macro_rules! stress {
    ($name:ident, $lock:ident, $attempt:ident) => {
        mod $name {
            use super::*;

            type Lock = $lock<Hardware>;

            #[test]
            fn crowd() {
                for &threads in crowds::<Lock>() {
                    contend::<Lock>(threads, $attempt, undisturbed);
                }
            }

            #[test]
            fn frozen_threads() {
                contend::<Lock>(if Lock::ENTRY.promises.sleeps { 16 } else { 3 }, $attempt, freezing());
            }

            #[test]
            #[ignore = "the child's half"]
            fn child_on_one_core() {
                on_one_core::<Lock>($attempt);
            }

            #[test]
            fn one_core() {
                let mut child = test_in_child(module_path!(), "child_on_one_core");
                succeed(child.spawn().expect("the child starts"));
            }

            #[test]
            #[ignore = "the child's half"]
            fn child_contends() {
                contend::<Lock>(if Lock::ENTRY.promises.sleeps { 16 } else { 2 }, $attempt, undisturbed);
            }

            #[test]
            fn stopped_process() {
                stop_and_go(test_in_child(module_path!(), "child_contends"));
            }
        }
    };
}

macro_rules! untimed {
    ($name:ident, $lock:ident) => {
        stress!($name, $lock, trying);
    };
}

for_each_lock!(untimed);

/// The same for locks whose attempts can be given up, with deadlines mixed in.
mod with_deadlines {
    use super::*;

    macro_rules! timed_lock {
        ($name:ident, $lock:ident) => {
            stress!($name, $lock, timed);
        };
    }

    for_each_lock!(timed_lock, timed);
    stress!(rwlock_writers, Writers, timed);
}

/// Runs `threads` contenders for the flagship, each holding it for `hold` and then staying away for `away`, and gives
/// each one's longest wait in nanoseconds and its number of entries.
fn longest_waits(threads: usize, hold: Duration, away: Duration, time: Duration) -> Vec<(u64, u64)> {
    let shared = Arc::new((RawOndeck::<Hardware>::new(), AtomicBool::new(false)));
    let contend = move |shared: Arc<(RawOndeck<Hardware>, AtomicBool)>| {
        let (lock, is_over) = &*shared;
        let (mut longest_ns, mut entries) = (0, 0_u64);
        while !is_over.load(Relaxed) {
            let arrival_ns = Hardware::now_ns();
            lock.acquire();
            longest_ns = longest_ns.max(Hardware::now_ns() - arrival_ns);
            entries += 1;
            if !hold.is_zero() {
                std::thread::sleep(hold);
            }
            // SAFETY: acquired above.
            unsafe { lock.release() };
            if !away.is_zero() {
                std::thread::sleep(away);
            }
        }
        (longest_ns, entries)
    };
    let spawn = |_| {
        let shared = shared.clone();
        std::thread::spawn(move || contend(shared))
    };
    let contenders: Vec<_> = (0..threads).map(spawn).collect();
    std::thread::sleep(time);
    shared.1.store(true, Relaxed);
    contenders.into_iter().map(|thread| thread.join().expect("a contender panicked")).collect()
}

/// Without a rule against it some thread would wait for the end of the box, however long that is; with the rule none waits for
/// a third of it, once it is long enough. The bound of the lock's header is far below the shortest box, but other load on the
/// machine may hold up anybody.
fn assert_bounded(name: &'static str, threads: usize, hold: Duration, away: Duration) {
    const BOXES_S: [u64; 4] = [3, 6, 12, 24];
    within(2 * PATIENCE, name, move || {
        let mut worst = Vec::new();
        for box_s in BOXES_S {
            let waits = longest_waits(threads, hold, away, Duration::from_secs(box_s));
            let (longest_ns, fewest) = waits.iter().fold((0, u64::MAX), |(longest, fewest), (wait_ns, entries)| {
                (longest.max(*wait_ns), fewest.min(*entries))
            });
            if longest_ns < box_s * 1_000_000_000 / 3 && fewest > 1 {
                return;
            }
            worst.push(format!("{longest_ns} ns in {box_s} s, {fewest} entries"));
        }
        panic!("waits grow with the time that threads contend: {worst:?}");
    });
}

/// One thread would keep a hot lock for whole time slices.
#[test]
fn waits_are_bounded() {
    assert_bounded("waits_are_bounded", 16, Duration::ZERO, Duration::ZERO);
}

/// Two threads would hand a lock to each other that is held longer than the deck cares to poll, past all who sleep.
#[test]
fn waits_are_bounded_with_long_sections() {
    let (hold, away) = (Duration::from_millis(2), Duration::from_micros(500));
    assert_bounded("waits_are_bounded_with_long_sections", 4, hold, away);
}
