//! What is not seen: holds, in the view from the kernel, and waits of threads that try until they have a lock.

use super::*;
use crate::profile::{Doing, ThreadTime};
use crate::words::FROM_KERNEL;

/// A program whose threads wait for a lock inside of `function`, called by `f3`, and run for so many ms.
fn hidden(function: &str, waits_ms: f64, runs_ms: f64) -> Profile {
    let mut profile = program();
    let inner = |function: &str| Frame {
        function: function.to_owned(),
        module: "libc.so.6".to_owned(),
        is_named: true,
        ..Frame::default()
    };
    profile.frames.extend(["__lll_lock_wait_private", function].map(inner));
    profile.stacks.push(vec![9, 10, 3]);
    let waits = ThreadTime {
        doing: Doing::Sleeping,
        call: "futex".to_owned(),
        stack: Some(9),
        ns: waits_ms * 1e6,
        ..ThreadTime::default()
    };
    let runs = ThreadTime { doing: Doing::Running, ns: runs_ms * 1e6, ..ThreadTime::default() };
    profile.times = vec![waits, runs];
    profile
}

#[test]
fn locks_inside_of_libraries_are_told_of_and_never_cleared() {
    let of = |function: &str, waits, runs| findings(&hidden(function, waits, runs)).verdict;
    assert_eq!(
        of("__libc_malloc", 3000.0, 1000.0),
        "Threads spend 75 % of their time waiting for the allocator's lock, inside of `malloc`, most in `f3` (a.c:13). \
         Allocate less there, or use an allocator whose threads have memory of their own."
    );
    // The allocator gives memory back to the kernel.
    let mut maps = hidden("free", 300.0, 700.0);
    maps.times[0].call = "munmap".to_owned();
    assert_eq!(
        findings(&maps).verdict,
        "Threads spend 30 % of their time waiting for the kernel's lock of the memory map, inside of `munmap`, most in `f3` \
         (a.c:13). Keep memory that was mapped and use it again, or have fewer threads change the map."
    );
    let unknown = of("__nss_database_get", 50.0, 950.0);
    assert!(
        unknown.contains("5.0 % of their time waiting for a lock inside of `nss_database_get`, most in `f3`"),
        "{unknown}"
    );
    let calm = of("fprintf", 5.0, 995.0);
    assert!(calm.starts_with("No lock calls were seen") && calm.contains("100 % on a core"), "{calm}");
}

/// As a lock of the program's own that is made of `std::atomic::wait`.
#[test]
fn waits_for_a_programs_own_words_are_told_of_where_no_lock_is() {
    let of = |function: &str, waits, runs| {
        let mut profile = hidden("std::__atomic_base<int>::wait(int, std::memory_order) const", waits, runs);
        profile.stacks[9] = vec![10, 3];
        profile.frames[3].function = function.to_owned();
        findings(&profile).verdict
    };
    let told = of("Gate::enter(int)", 700.0, 1300.0);
    let words = " In 35 % of it they wait in `Gate::enter`, for a word of the program's own: that may be a lock.";
    assert!(told.starts_with("No lock calls were seen") && told.contains(words), "{told}");
    assert!(!of("Gate::enter(int)", 30.0, 1970.0).contains("of the program's own: that"));
}

#[test]
fn locks_of_both_kinds_are_told_in_the_order_of_their_waiting() {
    let with_lock = |ms: f64| {
        let locks = vec![lock("table", &[cause(State::Computing, 1, ms, 300.0)], &[])];
        findings(&Profile { locks, ..hidden("fprintf", 1000.0, 1000.0) }).verdict
    };
    let places = |verdict: &str| [verdict.find("lock of a FILE"), verdict.find("`table`")];
    for (ms, is_first) in [(500.0, 0), (1500.0, 1)] {
        let [hidden, recorded] = places(&with_lock(ms));
        assert_eq!(usize::from(hidden > recorded), is_first, "{}", with_lock(ms));
        assert!(with_lock(ms).contains(" Also: "));
    }
    assert!(matches!(places(&with_lock(100.0)), [Some(_), None]));
    assert!(matches!(places(&with_lock(9000.0)), [None, Some(_)]));
}

#[test]
fn the_kernel_does_not_tell_how_long_a_lock_is_held() {
    let mut seen = lock("m", &[], &[]);
    (seen.wait_ns, seen.wakers) = (1e9, vec![Site { stack: 1, count: 10.0, ns: 1e9 }]);
    seen.waiters = vec![Site { stack: 2, count: 10.0, ns: 1e9 }];
    let mut profile = Profile { locks: vec![seen], lock: FROM_KERNEL.to_owned(), ..program() };
    let verdict = "`f1` (a.c:11) ends most of the waiting for `m`. How long it is held, and by whom, is not seen from the kernel.";
    assert_eq!(findings(&profile).verdict, verdict);
    // The recorder's library does not see Rust's locks, nor those inside the C library, nor a static program's.
    for (function, module, is_recordable) in [
        ("std::sys::sync::mutex::futex::Mutex::lock_contended", "app", false),
        ("__tzset", "libc.so.6", false),
        ("pthread_mutex_lock", "app", false),
        ("___pthread_mutex_lock", "libc.so.6", true),
        ("pthread_rwlock_rdlock", "libpthread.so.0", true),
    ] {
        (profile.frames[3].function, profile.frames[3].module) = (function.to_owned(), module.to_owned());
        profile.stacks[2] = vec![3, 2];
        let found = findings(&profile).verdict;
        assert_eq!(
            found.strip_prefix(verdict).map(|more| !more.is_empty()),
            Some(is_recordable),
            "{function}: {found}"
        );
    }
}

/// Such as the word of a thread's number, for which another thread waits to its end.
#[test]
fn a_single_wait_without_a_stack_is_not_first() {
    let seen = |name: &str, ms: f64, waits: f64, stack| {
        let waiters = vec![Site { stack, count: waits, ns: ms * 1e6 }];
        Lock { waits, wait_ns: ms * 1e6, waiters, ..lock(name, &[], &[]) }
    };
    let mut profile = Profile { lock: FROM_KERNEL.to_owned(), ..program() };
    profile.stacks.push(Vec::new());
    let strange = seen("0x7fc16c361990", 2000.0, 1.0, 9);
    profile.locks = vec![strange.clone(), seen("m", 700.0, 90.0, 2)];
    assert_eq!(findings(&profile).locks[0], 1);
    // It is if there is nothing else, and if it is waited for again and again.
    profile.locks.truncate(1);
    assert_eq!(findings(&profile).locks, [0]);
    profile.locks = vec![seen("0x7fc16c361990", 2000.0, 20.0, 9), seen("m", 700.0, 90.0, 2)];
    assert_eq!(findings(&profile).locks[0], 0);
}

#[test]
fn tries_are_told_by_the_time_that_they_take() {
    let site = |stack, count, ms: f64| Site { stack, count, ns: ms * 1e6 };
    let polled = |ms| Lock {
        tries: vec![site(1, 7200.0, ms)],
        triers: 4,
        refusers: vec![site(2, 300.0, 900.0)],
        ..lock("m", &[], &[])
    };
    let tried = "Instead of waiting, threads tried to lock `m` 7.20 k times in vain in `f1` (a.c:11), for 75 % of their time. `f2` \
                 (a.c:12) has it meanwhile, for about 6.00 ms at a time. Make that shorter. If they try until they have it, lock it \
                 instead: who waits for a lock sleeps.";
    said(vec![polled(6000.0)], tried);
    // As seldom, and beside other waiting.
    assert!(findings(&Profile { locks: vec![polled(30.0)], ..program() }).verdict.starts_with("No lock "));
    let held = |ms| lock("n", &[cause(State::Computing, 3, ms, 400.0)], &[]);
    let verdict = |ms| findings(&Profile { locks: vec![held(ms), polled(6000.0)], ..program() }).verdict;
    assert!(verdict(3000.0).starts_with(tried) && verdict(3000.0).contains(" Also: `f3` (a.c:13) holds `n`"));
    assert!(
        verdict(8000.0).starts_with("`f3` (a.c:13) holds `n`") && verdict(8000.0).contains(" Also: Instead of waiting")
    );
    assert!(!verdict(20_000.0).contains("Instead"));
}

#[test]
fn what_locks_cost_without_sleep_is_told() {
    let time = |doing, stack, ms: f64| ThreadTime { doing, stack, ns: ms * 1e6, ..ThreadTime::default() };
    let spins = |ms| {
        let times = vec![time(Doing::Spinning, Some(1), ms), time(Doing::Running, None, 1000.0)];
        findings(&Profile { times, ..program() }).verdict
    };
    assert_eq!(
        spins(1000.0),
        "Threads spend 50 % of their CPU time in a loop that only waits, as for a spin lock, in `f1` (a.c:11). Who lets them wait \
         is not known. Wait for a mutex instead, or hold what they wait for for less."
    );
    assert!(spins(30.0).starts_with("No lock calls were seen"), "{}", spins(30.0));
    // Calls that lock, of two threads that run at once and share the lock; beside others they do not matter so soon.
    let mut profile = Profile { seconds: 1.0, ..hidden("pthread_rwlock_rdlock", 0.0, 500.0) };
    profile.times = vec![time(Doing::Running, Some(9), 800.0), time(Doing::Running, None, 1000.0)];
    profile.stacks[9] = vec![10];
    let takers = vec![Site { stack: 2, count: 4e6, ns: 1.0 }];
    let shared = Lock { acquisitions: 4e6, by_others: 2e6, threads: 2, takers, ..lock("table", &[], &[]) };
    profile.locks = vec![shared.clone()];
    assert_eq!(
        findings(&profile).verdict,
        "Threads spend 44 % of their CPU time in calls that lock and unlock, and hardly wait there. Most shared: `table`, which 2 \
         threads take 4.00 M times a second, most in `f2` (a.c:12). Each time takes 200 ns, as its memory goes from core to core. \
         Take it less often, or let each thread have its own."
    );
    // A function without a name is told with one around it that has one. What takes less stays in its core.
    profile.frames.push(Frame { function: "lib.so+0x12".to_owned(), module: "lib.so".to_owned(), ..Frame::default() });
    profile.stacks[2] = vec![11, 2];
    profile.locks[0].acquisitions = 40e6;
    profile.locks[0].by_others = 20e6;
    let verdict = findings(&profile).verdict;
    assert!(verdict.contains("most in `lib.so+0x12` (called by `f2`). Take it less often"), "{verdict}");
    let is_told = |profile: &Profile| !findings(profile).verdict.starts_with("No lock ");
    assert!(!is_told(&Profile { seconds: 4.0, ..profile.clone() }), "one thread alone");
    // Each has its own, or nearly so, and the recorder walks stacks.
    for by_others in [0.0, 4e6] {
        profile.locks = vec![Lock { acquisitions: 40e6, by_others, ..shared.clone() }];
        assert!(!is_told(&profile), "{by_others}");
    }
    // Looks do not tell how often locks are taken.
    let verdict = findings(&Profile { locks: Vec::new(), ..profile.clone() }).verdict;
    assert!(verdict.contains("hardly wait there. If threads share a lock, its memory goes"), "{verdict}");
    profile.locks = vec![shared];
    profile.times[1].ns = 6e9;
    assert!(!is_told(&profile), "less than an eighth");
    profile.times[1].ns = 1e9;
    assert!(is_told(&profile));
    profile.frames[10].function = "ondeck_record::walk::walked".to_owned();
    assert!(!is_told(&profile), "the recorder itself");
}

#[test]
fn waiters_of_a_spin_lock_are_told_with_where_they_are() {
    let waiters = vec![Site { stack: 1, count: 9.0, ns: 4e8 }];
    let spin = Lock { kind: LockKind::Spin, wait_ns: 4e8, waits: 9.0, waiters, ..lock("gate", &[], &[]) };
    said(
        vec![spin],
        "The waiters of `gate` use CPU time while they wait, most in `f1` (a.c:11). Use a mutex, or lock it less often.",
    );
}

#[test]
fn waits_of_threads_that_have_work_come_first() {
    let site = |stack, count, ms: f64| Site { stack, count, ns: ms * 1e6 };
    let waited = |ms: f64, waits, by| Condition {
        name: "ready".to_owned(),
        waits,
        wait_ns: ms * 1e6,
        waiters: vec![site(1, waits, ms)],
        notifiers: vec![site(by, waits, 0.0)],
        ..Condition::default()
    };
    let runs = |ms: f64| vec![ThreadTime { doing: Doing::Running, ns: ms * 1e6, ..ThreadTime::default() }];
    let profile = |condition, locks| Profile { conditions: vec![condition], locks, times: runs(1600.0), ..program() };
    let with = |condition, locks| findings(&profile(condition, locks)).verdict;
    let told = "Threads waited 1.50 s for the condition variable `ready` in 3.00 k waits, most in `f1` (a.c:11). It is notified in ";
    let barrier = "`f1` (a.c:11), too: they wait for each other, as at a barrier. Share the work more evenly, or let them meet \
                   less often.";
    let of = |ms| vec![lock("m", &[cause(State::Computing, 3, ms, 400.0)], &[])];
    let verdict = |ms| with(waited(1500.0, 3000.0, 1), of(ms));
    let nothing = with(waited(1500.0, 3000.0, 1), Vec::new());
    assert!(nothing.starts_with(&format!("{told}{barrier} No lock was waited for in 2.0 s.")), "{nothing}");
    assert!(verdict(400.0).starts_with(&format!("{told}{barrier}")) && !verdict(400.0).contains("`m`"));
    assert!(
        verdict(800.0).starts_with(&format!("{told}{barrier} Also: `f3` (a.c:13) holds `m`")),
        "{}",
        verdict(800.0)
    );
    assert!(verdict(1600.0).starts_with("`f3` (a.c:13) holds `m`"), "{}", verdict(1600.0));
    // Who takes from a queue says that there is room, and waits until somebody puts something in.
    let mut queue = waited(1500.0, 3000.0, 1);
    queue.notifiers.push(site(2, 3000.0, 0.0));
    assert!(with(queue, of(400.0)).starts_with("`f3` (a.c:13) holds `m`"));
    // Of those that another function lets go on, nobody knows whether they should wait: these have work, and those may have none.
    let room = format!(
        "{told}`f2` (a.c:12). If they had work to do, make that function faster. No lock was waited for in 2.0 s."
    );
    assert!(with(waited(1500.0, 3000.0, 2), Vec::new()).starts_with(&room));
    let idle = Profile { times: runs(400.0), ..profile(waited(1500.0, 3000.0, 2), Vec::new()) };
    for seldom in [findings(&idle).verdict, with(waited(1500.0, 30.0, 2), Vec::new())] {
        assert!(
            seldom.starts_with("No lock was waited for in 2.0 s.") && seldom.contains("Threads waited 1.50 s"),
            "{seldom}"
        );
    }
    assert!(with(waited(1500.0, 3000.0, 2), of(400.0)).starts_with("`f3` (a.c:13) holds `m`"));
}

/// A server that has load for a second, and none for an hour.
#[test]
fn an_idle_hour_hides_no_lock() {
    let of = |ms, runs_ms: f64| {
        let time = |doing, call: &str, ms: f64| ThreadTime {
            doing,
            call: call.to_owned(),
            ns: ms * 1e6,
            ..ThreadTime::default()
        };
        let locks = vec![lock("m", &[cause(State::Computing, 3, ms, 400.0)], &[])];
        let times = vec![time(Doing::Running, "", runs_ms), time(Doing::Sleeping, "epoll_wait", 7.2e6)];
        let processes = vec![Process { pid: 7, to: 3600.0, ..Process::default() }];
        findings(&Profile { seconds: 3600.0, processes, locks, times, ..program() }).verdict
    };
    assert!(of(400.0, 1000.0).starts_with("`f3` (a.c:13) holds `m`"), "{}", of(400.0, 1000.0));
    for (ms, runs_ms) in [(400.0, 20_000.0), (50.0, 100.0)] {
        assert!(of(ms, runs_ms).starts_with("No lock holds this program back"), "{}", of(ms, runs_ms));
    }
}

/// A busy flag with a condition variable, and a semaphore.
#[test]
fn what_may_be_used_as_a_lock_clears_nobody() {
    let site = |stack| Site { stack, count: 3000.0, ns: 1.5e9 };
    let condition = |kind| Condition {
        name: "ready".to_owned(),
        kind,
        waits: 3000.0,
        wait_ns: 1.5e9,
        waiters: vec![site(9)],
        notifiers: vec![site(10)],
        ..Condition::default()
    };
    let with = |kind, around: [u32; 2]| {
        let mut profile = Profile { conditions: vec![condition(kind)], ..program() };
        profile.stacks.extend([vec![1, around[0], 5], vec![2, around[1], 5]]);
        findings(&profile).verdict
    };
    let (by_hand, queue) = (with(WaitKind::Condition, [4, 4]), with(WaitKind::Condition, [3, 4]));
    let words = "notified in `f2` (a.c:12), and both are called by `f4` (a.c:14): it may be a lock that the program has made, or a \
                 queue. If it is a lock, make shorter what `f4` (a.c:14) does between the two. Of the locks that were seen, none";
    assert!(by_hand.starts_with("Threads waited 1.50 s") && by_hand.contains(words), "{by_hand}");
    assert!(queue.starts_with("No lock was waited for"), "{queue}");
    let semaphore = with(WaitKind::Semaphore, [3, 4]);
    let words = "If it is used as a lock, make shorter what threads do while they have it.";
    assert!(
        semaphore.starts_with("Of the locks that were seen, none was") && semaphore.ends_with(words),
        "{semaphore}"
    );
}

/// A critical section of OpenMP, in which a thread spins at first.
#[test]
fn loops_inside_of_openmp_are_called_so() {
    let mut profile = program();
    profile.frames[1].module = "libgomp.so.1".to_owned();
    let time = |doing, ms: f64| ThreadTime { doing, stack: Some(1), ns: ms * 1e6, ..ThreadTime::default() };
    profile.times = vec![time(Doing::Spinning, 500.0), time(Doing::Running, 1500.0)];
    let verdict = findings(&profile).verdict;
    assert!(
        verdict.starts_with("Threads spend 25 % of their CPU time in loops of OpenMP that only wait: "),
        "{verdict}"
    );
    profile.frames[1].module.clear();
    assert!(findings(&profile).verdict.contains("a loop that only waits, as for a spin lock, in `f1` (a.c:11)."));
}

#[test]
fn who_takes_turns_at_waiting_for_work_loses_nothing() {
    let locks = vec![lock("lead", &[blocked(3, "epoll_wait", 3000.0)], &[])];
    let runs = ThreadTime { doing: Doing::Running, ns: 1e9, ..ThreadTime::default() };
    let waits = ThreadTime { doing: Doing::Sleeping, on: Some(WaitObject::Lock(0)), ns: 3e9, ..ThreadTime::default() };
    let verdict = findings(&Profile { locks, times: vec![runs, waits], ..program() }).verdict;
    let words =
        "100 % of the waiting. If it waits for work there, the others have none either: then this costs nothing.";
    assert!(verdict.ends_with(words), "{verdict}");
}
