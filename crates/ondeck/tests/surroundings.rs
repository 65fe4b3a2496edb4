//! The locks where little else works: before `main`, in the last destructors of a thread, in the child of a fork, under
//! a storm of signals.
#![cfg(target_os = "linux")]

mod limit;

use ondeck::{Condvar, Monitor, MonitorGuard, Mutex, WaitEnd};
use std::cell::Cell;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(30);

/// One of each.
struct Locks {
    count: Mutex<u32>,
    changed: Condvar,
    monitor: Monitor<Cell<u32>>,
}

impl Locks {
    const fn new() -> Self {
        Locks { count: Mutex::new(0), changed: Condvar::new(), monitor: Monitor::new(Cell::new(0)) }
    }

    /// Uses everything that needs no second thread, and tells whether it went as it should. Does not panic. Others may do
    /// the same at the same time.
    fn all_work(&self) -> bool {
        let Some(mut count) = self.count.try_lock_for(LONG) else { return false };
        *count += 1;
        let is_refused = self.count.try_lock_for(SHORT).is_none();
        let has_timed_out = self.changed.wait_for(&mut count, SHORT).timed_out();
        drop(count);
        let Some(mut entered) = self.monitor.try_enter_for(LONG) else { return false };
        entered.set(entered.get() + 1);
        let again: [_; 10] = std::array::from_fn(|_| self.monitor.enter());
        drop(again);
        let has_waited = MonitorGuard::wait_for(&mut entered, SHORT) == Ok(WaitEnd::TimedOut);
        is_refused && has_timed_out && has_waited && self.monitor.is_entered()
    }
}

mod before_main {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static LOCKS: Locks = Locks::new();
    static WORKED: AtomicBool = AtomicBool::new(false);

    #[used]
    // SAFETY: the section is a list of functions of this type, which the C library calls before `main`.
    #[unsafe(link_section = ".init_array")]
    static EARLY: extern "C" fn() = early;

    extern "C" fn early() {
        WORKED.store(LOCKS.all_work(), Relaxed);
    }

    #[test]
    fn locks_work_before_main_and_after() {
        assert!(WORKED.load(Relaxed));
        assert_eq!((*LOCKS.count.lock(), LOCKS.monitor.enter().get()), (1, 1));
        assert!(LOCKS.all_work());
    }
}

mod end_of_a_thread {
    use super::*;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::{ptr, thread};

    static LOCKS: Locks = Locks::new();
    static N_WORKED: AtomicU32 = AtomicU32::new(0);

    /// Other threads do so at the same time, and all wait for each other.
    fn use_locks() {
        N_WORKED.fetch_add(u32::from(LOCKS.all_work()), Relaxed);
    }

    /// Uses the locks when it is destroyed.
    struct LockOnExit;

    impl Drop for LockOnExit {
        fn drop(&mut self) {
            use_locks();
            // One of the two is destroyed first, and is gone for the other.
            let n_left = u32::from(ONE.try_with(|_| ()).is_ok()) + u32::from(OTHER.try_with(|_| ()).is_ok());
            N_LEFT.fetch_add(n_left, Relaxed);
        }
    }

    static N_LEFT: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static ONE: LockOnExit = const { LockOnExit };
        static OTHER: LockOnExit = const { LockOnExit };
    }

    /// Called by the C library, with all thread-local variables of Rust gone.
    extern "C" fn at_the_very_end(_value: *mut c_void) {
        use_locks();
    }

    #[test]
    fn locks_work_in_the_last_destructors() {
        const THREADS: u32 = 8;
        let mut key = 0;
        // SAFETY: writes the key; the function stays where it is.
        let answer = unsafe { libc::pthread_key_create(&mut key, Some(at_the_very_end)) };
        assert_eq!(answer, 0, "there is a key");
        let work = move || {
            ONE.with(|_| ());
            OTHER.with(|_| ());
            // SAFETY: the key was made above; the value is never followed.
            unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
        };
        // A thread that has used no lock before, too: it gets its number among the ruins.
        let threads: Vec<_> = (0..THREADS).map(|_| thread::spawn(work)).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        // Joined is a thread before the C library has called its last function.
        let start = Instant::now();
        while N_WORKED.load(Relaxed) < 3 * THREADS && start.elapsed() < LONG {
            thread::sleep(SHORT);
        }
        assert_eq!(N_WORKED.load(Relaxed), 3 * THREADS);
        assert_eq!(N_LEFT.load(Relaxed), THREADS, "of each pair the second finds the first gone");
    }
}

mod fork {
    use super::*;
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    /// Runs `body` in the child of a fork, which must say that all is well. A child that hangs is ended by a signal.
    fn in_child(body: impl FnOnce() -> bool) {
        // SAFETY: the child runs `body`, which keeps to what the crate's page allows it, and ends without unwinding and
        // without the destructors of the parent.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "there is room for a process");
        if child == 0 {
            // SAFETY: no memory.
            unsafe { libc::alarm(20) };
            let is_well = body();
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(i32::from(!is_well)) };
        }
        let mut status = -1;
        // SAFETY: writes the status of a child that is ours and has not been waited for.
        let waited = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((waited, status), (child, 0), "the child failed, or had to be ended");
    }

    /// Sets its flag when it goes, if only because a test has failed.
    struct SetOnDrop<'a>(&'a AtomicBool);

    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }

    /// Forks again and again while other threads contend for locks of their own.
    fn beside_contenders(mut fork: impl FnMut()) {
        let (others, is_over) = (Locks::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let mut count = others.count.lock();
                        *count += 1;
                        others.changed.notify_one();
                        others.changed.wait_for(&mut count, Duration::from_micros(50));
                    }
                });
            }
            let _over = SetOnDrop(&is_over);
            (0..20).for_each(|_| fork());
        });
    }

    #[test]
    fn a_child_uses_what_nobody_used() {
        let locks = Locks::new();
        beside_contenders(|| in_child(|| !locks.changed.notify_one() && locks.all_work()));
        assert!(locks.all_work());
    }

    /// New threads of the child contend as others do. They are the C library's: one of Rust's begins with a lock of the standard
    /// library, which a thread of another test that began or ended at the fork may have had.
    #[test]
    fn the_threads_of_a_child_contend() {
        extern "C" fn count(locks: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: who has started this thread waits for its end.
            let locks = unsafe { &*locks.cast::<Locks>() };
            for _ in 0..500 {
                *locks.count.lock() += 1;
                let entered = locks.monitor.enter();
                entered.set(entered.get() + 1);
            }
            std::ptr::null_mut()
        }
        let locks = Locks::new();
        let start = |locks: &Locks| {
            let mut thread = 0;
            let argument = std::ptr::from_ref(locks).cast_mut().cast();
            // SAFETY: the function takes such an argument.
            let error = unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), count, argument) };
            (error == 0).then_some(thread)
        };
        let is_joined = |thread| {
            // SAFETY: a thread that nobody has joined, and room for nothing.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) == 0 }
        };
        let count_with = |locks: &Locks| {
            let threads = [(); 4].map(|()| start(locks));
            let all_end = threads.into_iter().all(|thread| thread.is_some_and(is_joined));
            all_end && *locks.count.lock() == 2_000 && locks.monitor.enter().get() == 2_000
        };
        beside_contenders(|| in_child(|| count_with(&locks)));
    }

    #[test]
    fn a_child_releases_what_its_thread_held() {
        let locks = Locks::new();
        beside_contenders(|| {
            let mut count = locks.count.lock();
            let entered = locks.monitor.enter();
            let again = locks.monitor.enter();
            in_child(|| {
                // The number of the thread is that of its parent, so it is still inside.
                let has_both = locks.count.try_lock().is_none() && locks.monitor.is_entered();
                let has_timed_out = locks.changed.wait_for(&mut count, SHORT).timed_out();
                drop((count, entered, again));
                has_both && has_timed_out && !locks.monitor.is_entered() && locks.all_work()
            });
            // Here they are dropped with the closure, which has run in the child only.
        });
    }

    /// A place that the child may write a new value over.
    struct Place(UnsafeCell<Locks>);

    // SAFETY: written in the child only, where there is one thread.
    unsafe impl Sync for Place {}

    #[test]
    fn a_child_writes_over_what_others_wait_for() {
        let place = Place(UnsafeCell::new(Locks::new()));
        // SAFETY: nobody writes in this process.
        let locks = unsafe { &*place.0.get() };
        thread::scope(|scope| {
            let held = (locks.count.lock(), locks.monitor.enter());
            for _ in 0..3 {
                scope.spawn(|| *locks.count.lock() += 1);
                scope.spawn(|| drop(locks.monitor.enter()));
            }
            thread::sleep(10 * SHORT);
            in_child(|| {
                // SAFETY: the one thread of the child is here and uses no part of it. Nothing has to be destroyed.
                unsafe { place.0.get().write(Locks::new()) };
                // SAFETY: written above.
                unsafe { &*place.0.get() }.all_work()
            });
            drop(held);
        });
        assert_eq!(*locks.count.lock(), 3);
    }
}

mod signals {
    use super::*;
    use std::os::unix::thread::JoinHandleExt as _;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use std::thread;

    /// How long a wait lasts at least.
    const WAIT: Duration = Duration::from_millis(150);
    /// How many signals are a storm.
    const STORM: u32 = 50;
    /// Any value that nothing here sets.
    const ERRNO: i32 = libc::EXDEV;
    static N_SIGNALS: AtomicU32 = AtomicU32::new(0);

    fn errno() -> *mut i32 {
        // SAFETY: takes nothing.
        unsafe { libc::__errno_location() }
    }

    extern "C" fn note(_signal: libc::c_int) {
        N_SIGNALS.fetch_add(1, Relaxed);
    }

    /// Runs `wait` on a thread that gets signals all the time, and returns how long it took and how many they were.
    /// `meanwhile` is run when the wait has lasted for [`WAIT`] and they are a storm. Neither the wait nor its signals may be
    /// seen in `errno`.
    fn in_signals(wait: impl FnOnce() + Send + 'static, meanwhile: impl FnOnce()) -> (Duration, u32) {
        // SAFETY: all zeros is a valid `sigaction`: no flags, so that system calls are interrupted; empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as *const () as libc::sighandler_t;
        // SAFETY: the handler touches an atomic only.
        let answer = unsafe { libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()) };
        assert_eq!(answer, 0, "the signal has a handler");
        let (tell_begin, begin) = std::sync::mpsc::channel();
        let is_done = std::sync::Arc::new(AtomicBool::new(false));
        let is_calm = is_done.clone();
        let (tell_end, calm) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            // SAFETY: the location of this thread.
            unsafe { *errno() = ERRNO };
            let start = Instant::now();
            tell_begin.send(()).expect("it is waited for");
            wait();
            let took = start.elapsed();
            // SAFETY: as above.
            let left = unsafe { *errno() };
            is_done.store(true, Relaxed);
            // Signals are sent to threads that are there.
            calm.recv().expect_err("told by hanging up");
            (took, left)
        });
        begin.recv().expect("it begins");
        let (start, before) = (Instant::now(), N_SIGNALS.load(Relaxed));
        let n_signals = || N_SIGNALS.load(Relaxed) - before;
        let mut meanwhile = Some(meanwhile);
        while !is_calm.load(Relaxed) {
            assert!(start.elapsed() < LONG, "waited {LONG:?} for the end of a wait, with {} signals", n_signals());
            // SAFETY: the thread waits for the end of the storm.
            unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR2) };
            thread::sleep(Duration::from_micros(50));
            if start.elapsed() > WAIT && n_signals() > STORM {
                meanwhile.take().into_iter().for_each(|meanwhile| meanwhile());
            }
        }
        drop(tell_end);
        let (took, left) = thread.join().expect("the wait went as it should");
        assert_eq!(left, ERRNO, "errno has changed");
        (took, n_signals())
    }

    /// No signal may end `wait`, which somebody ends by `end` when there has been a storm.
    fn lasts_until(wait: impl FnOnce() + Send + 'static, end: impl FnOnce()) {
        let (took, _) = in_signals(wait, end);
        assert!(took >= WAIT, "ended by a signal, after {took:?}");
    }

    /// No signal may end `give_up` before the time that it is given, which grows until there has been a storm meanwhile: on a
    /// busy machine few signals come in a short time.
    fn gives_up_in_time(give_up: fn(Duration)) {
        for patience in (0..8).map(|turn| WAIT * (1 << turn)) {
            let (took, n_signals) = in_signals(move || give_up(patience), || ());
            assert!(took >= patience, "ended early, after {took:?} of {patience:?}");
            if n_signals > STORM {
                return;
            }
        }
        panic!("that was no storm");
    }

    /// Does it until somebody is found who waits: on a busy machine that may not have begun yet.
    fn soon(mut end: impl FnMut() -> bool) {
        let start = Instant::now();
        while !end() {
            assert!(start.elapsed() < LONG, "waited {LONG:?} for a thread that waits");
            thread::yield_now();
        }
    }

    static LOCKS: Locks = Locks::new();
    /// The tests share the locks.
    static IN_TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn waits_for_a_mutex() {
        let _turn = IN_TURN.lock();
        let held = LOCKS.count.lock();
        let give_up = |patience| assert!(LOCKS.count.try_lock_for(patience).is_none());
        gives_up_in_time(give_up);
        // With another one on deck it sleeps in the dugout.
        let on_deck = thread::spawn(|| drop(LOCKS.count.lock()));
        thread::sleep(20 * SHORT);
        gives_up_in_time(give_up);
        lasts_until(|| drop(LOCKS.count.lock()), move || drop(held));
        on_deck.join().expect("it got the lock");
    }

    #[test]
    fn waits_for_a_notification() {
        let _turn = IN_TURN.lock();
        gives_up_in_time(|patience| assert!(LOCKS.changed.wait_for(&mut LOCKS.count.lock(), patience).timed_out()));
        lasts_until(|| LOCKS.changed.wait(&mut LOCKS.count.lock()), || soon(|| LOCKS.changed.notify_one()));
    }

    #[test]
    fn waits_in_a_monitor() {
        let _turn = IN_TURN.lock();
        gives_up_in_time(|patience| {
            let mut entered = LOCKS.monitor.enter();
            assert_eq!(MonitorGuard::wait_for(&mut entered, patience), Ok(WaitEnd::TimedOut));
        });
        let wait = || {
            MonitorGuard::wait(&mut LOCKS.monitor.enter()).expect("entered once");
        };
        let pulse = || {
            let _entered = LOCKS.monitor.enter();
            LOCKS.monitor.pulse().expect("entered")
        };
        lasts_until(wait, || soon(pulse));
        let held = LOCKS.monitor.enter();
        gives_up_in_time(|patience| assert!(LOCKS.monitor.try_enter_for(patience).is_none()));
        drop(held);
    }
}
