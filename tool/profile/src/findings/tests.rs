//! Profiles whose truth is known, and what is said of them.

mod unseen;

use super::*;
use crate::kinds::NOTIFIES;
use crate::made_up;
use crate::profile::{
    Bar, Cause, Condition, Frame, Histogram, Lock, LockKind, LockOrder, OrderStep, Process, Site, State, Stuck,
    WaitKind, WaitObject,
};
use crate::runtimes::Programs;

/// A program on two cores that ran for two seconds, with a function for each stack: `f0` at a.c:10 and so on.
fn program() -> Profile {
    let frame = |n: u32| Frame {
        function: format!("f{n}"),
        file: "src/a.c".to_owned(),
        line: 10 + n,
        is_named: true,
        ..Frame::default()
    };
    Profile {
        seconds: 2.0,
        cores: 2,
        lock: "glibc".to_owned(),
        command: vec!["./a".to_owned(), "b c".to_owned()],
        processes: vec![Process { pid: 7, to: 2.0, ..Process::default() }],
        frames: (0..9).map(frame).collect(),
        stacks: (0..9).map(|n| vec![n]).collect(),
        ..Profile::default()
    }
}

/// A lock with these causes, wanted by four threads; functions with a sample of a usual hold.
fn lock(name: &str, causes: &[Cause], usual: &[(u32, f64)]) -> Lock {
    let wait_ns = causes.iter().map(|cause| cause.ns).sum();
    let taker = |(stack, ns): &(u32, f64)| Site { stack: *stack, count: 1000.0, ns: 1000.0 * ns };
    let held = usual.first().map_or(150, |(_, ns)| *ns as u64);
    Lock {
        name: name.to_owned(),
        waits: 100.0,
        wait_ns,
        acquisitions: 1e5,
        threads: 4,
        most_waiting: 3,
        takers: usual.iter().map(taker).collect(),
        hold_histogram: Histogram(vec![Bar { from: held, to: held, count: 1000.0 }]),
        causes: causes.to_vec(),
        ..Lock::default()
    }
}

/// So many ms of waiting for holds of that stack, each of so many us.
fn cause(state: State, stack: u32, ms: f64, each_us: f64) -> Cause {
    Cause { state, stack: Some(stack), ns: ms * 1e6, count: 100.0, each_ns: each_us * 1e3, ..Cause::default() }
}

fn without(state: State, ms: f64) -> Cause {
    Cause { stack: None, ..cause(state, 0, ms, 1.0) }
}

fn blocked(stack: u32, call: &str, ms: f64) -> Cause {
    Cause { call: call.to_owned(), ..cause(State::Blocked, stack, ms, 4000.0) }
}

fn waits(stack: u32, other: WaitObject, ms: f64) -> Cause {
    Cause { other: Some(other), ..cause(State::OtherLock, stack, ms, 5000.0) }
}

#[track_caller]
fn said(locks: Vec<Lock>, expected: &str) {
    assert_eq!(findings(&Profile { locks, ..program() }).verdict, expected);
}

#[test]
fn a_rare_long_hold_is_named_by_the_waiting_that_it_causes() {
    let passing = Cause { count: 1e6, ..without(State::Passing, 170.0) };
    said(
        vec![lock("m", &[passing, cause(State::Computing, 1, 830.0, 3000.0)], &[(0, 150.0)])],
        "`f1` (a.c:11) holds `m` for 3.00 ms at a time: 83 % of the waiting. Make it shorter.",
    );
}

#[test]
fn a_long_hold_that_loses_its_core_is_still_too_long() {
    let causes = [cause(State::Computing, 1, 400.0, 900.0), cause(State::NoCore, 1, 600.0, 1900.0)];
    said(
        vec![lock("m", &causes, &[(1, 400_000.0)])],
        "`f1` (a.c:11) holds `m` for 1.50 ms at a time: 100 % of the waiting, 60 % of that without a core (4 threads share 2 \
         cores). Make it shorter.",
    );
    // Also beside many others: what it computes is long.
    let causes = [cause(State::Computing, 1, 400.0, 4000.0), cause(State::NoCore, 1, 1600.0, 4000.0)];
    said(
        vec![lock("m", &causes, &[(1, 400_000.0)])],
        "`f1` (a.c:11) holds `m` for 4.00 ms at a time: 100 % of the waiting, 80 % of that without a core (4 threads share 2 \
         cores). Make it shorter, or use fewer threads.",
    );
}

#[test]
fn short_sections_without_a_core_need_cores() {
    let causes = [
        cause(State::Computing, 1, 100.0, 300.0),
        cause(State::NoCore, 1, 500.0, 300.0),
        without(State::Free, 200.0),
        without(State::Passing, 200.0),
    ];
    let holders = vec![Site { stack: 1, count: 1e4, ns: 600e6 }];
    let crowd = Lock { holders, ..lock("m", &causes, &[(1, 200.0)]) };
    let fitting = Lock { threads: 2, most_waiting: 1, ..crowd.clone() };
    said(
        vec![crowd],
        "Holders of `m` lose their core, or the next has none yet: 80 % of the waiting. 4 threads share 2 cores. Use fewer \
         threads, or more cores.",
    );
    said(
        vec![fitting],
        "Holders of `m` lose their core, or the next has none yet: 60 % of the waiting. 2 threads have 2 cores. Look for what \
         else uses the cores: other threads, other programs, or a limit on CPU time.",
    );
}

#[test]
fn a_holder_that_sleeps_is_told_with_its_system_call() {
    said(
        vec![lock("m", &[blocked(2, "fdatasync", 900.0), without(State::Passing, 100.0)], &[(1, 150.0)])],
        "`f2` (a.c:12) holds `m` for 4.00 ms at a time while it is blocked in fdatasync: 90 % of the waiting. Do that outside \
         of the section.",
    );
    said(
        vec![lock("m", &[blocked(2, "", 900.0)], &[])],
        "`f2` (a.c:12) holds `m` for 4.00 ms at a time while it sleeps: 100 % of the waiting. Do that outside of the section.",
    );
}

/// Whether a holder had a core is measured. How often its holds are long does not matter.
#[test]
fn time_decides_whether_a_function_is_long_or_lacks_cores() {
    let of = |ran_ms: f64, kept_ms: f64, holds: f64| {
        let causes = [cause(State::Computing, 1, ran_ms, 1500.0), cause(State::NoCore, 1, kept_ms, 1500.0)];
        let holders = vec![Site { stack: 1, count: holds, ns: 1e6 }];
        Lock { holders, ..lock("m", &causes, &[(1, 150.0)]) }
    };
    let held = "`f1` (a.c:11) holds `m` for 1.50 ms at a time: 100 % of the waiting. Make it shorter.";
    let mostly_without = "`f1` (a.c:11) holds `m` for 1.50 ms at a time: 100 % of the waiting, 90 % of that without a core (4 \
                          threads share 2 cores). Use fewer threads, or more cores.";
    let cores = "Holders of `m` lose their core, or the next has none yet: 100 % of the waiting. 4 threads share 2 cores. Use \
                 fewer threads, or more cores.";
    // Long one time in twenty; and in a million, which is as seldom as a thread loses its core in a usual one.
    said(vec![of(900.0, 100.0, 4000.0)], held);
    said(vec![of(900.0, 100.0, 2e8)], cores);
    // 200 of its holds were long, as it had no core.
    said(vec![of(100.0, 900.0, 2100.0)], cores);
    said(vec![of(100.0, 900.0, 1900.0)], mostly_without);
    // Nobody looked.
    let unseen =
        |threads| Lock { causes: vec![cause(State::Unknown, 1, 1000.0, 1500.0)], threads, ..of(1000.0, 0.0, 2100.0) };
    said(vec![unseen(4)], cores);
    said(vec![Lock { most_waiting: 1, ..unseen(2) }], held);
}

#[test]
fn who_gets_a_lock_late_needs_a_core() {
    let late = [Cause { each_ns: 60e3, ..without(State::Passing, 900.0) }];
    let crowd = lock("m", &late, &[(1, 150.0)]);
    let cores = "Holders of `m` lose their core, or the next has none yet: 100 % of the waiting. 4 threads share 2 cores. Use \
                 fewer threads, or more cores.";
    said(vec![crowd.clone()], cores);
    let fitting = findings(&Profile { locks: vec![Lock { threads: 2, most_waiting: 1, ..crowd }], ..program() });
    assert!(fitting.verdict.starts_with("Sections under `m` are short"), "{}", fitting.verdict);
}

#[test]
fn a_function_that_is_short_but_for_a_rare_long_hold_has_that_hold() {
    let causes = [cause(State::Computing, 1, 700.0, 2000.0), cause(State::NoCore, 1, 100.0, 2000.0)];
    let passing = Cause { count: 1e6, ..without(State::Passing, 200.0) };
    said(
        vec![lock("m", &[&causes[..], &[passing]].concat(), &[(1, 200.0)])],
        "`f1` (a.c:11) holds `m` for 2.00 ms at a time: 80 % of the waiting. Make it shorter.",
    );
}

#[test]
fn a_function_that_runs_and_sleeps_has_one_sentence() {
    let causes =
        [cause(State::Computing, 2, 500.0, 4000.0), blocked(2, "fdatasync", 400.0), without(State::Passing, 100.0)];
    said(
        vec![lock("m", &causes, &[])],
        "`f2` (a.c:12) holds `m` for 4.00 ms at a time: 90 % of the waiting, 44 % of that while it is blocked in fdatasync. Make \
         it shorter, and do the call outside of the section.",
    );
    let seldom = [cause(State::Computing, 2, 900.0, 4000.0), blocked(2, "fdatasync", 100.0)];
    said(
        vec![lock("m", &seldom, &[])],
        "`f2` (a.c:12) holds `m` for 4.00 ms at a time: 90 % of the waiting. Make it shorter.",
    );
    let others = [cause(State::Computing, 1, 500.0, 4000.0), blocked(2, "fdatasync", 400.0)];
    said(
        vec![lock("m", &others, &[])],
        "`f1` (a.c:11) holds `m` for 4.00 ms at a time: 56 % of the waiting. Make it shorter. Also: `f2` (a.c:12) holds `m` for \
         4.00 ms at a time while it is blocked in fdatasync: 44 % of the waiting. Do that outside of the section.",
    );
}

#[test]
fn a_holder_that_sleeps_in_a_notification_may_try_other_locks() {
    let notifies = Cause { awaited: NOTIFIES.to_owned(), ..blocked(2, "futex", 900.0) };
    let locks = vec![lock("m", &[notifies], &[])];
    let found = findings(&Profile { locks: locks.clone(), ..program() });
    assert_eq!(
        found.verdict,
        "`f2` (a.c:12) holds `m` for 4.00 ms at a time while it is blocked in futex, as in a notification: 100 % of the \
         waiting. Notify outside of the section. Measure whether ondeck's locks help:"
    );
    assert!(found.command.is_some());
    let ours = findings(&Profile { locks, lock: "ondeck".to_owned(), ..program() });
    assert!(ours.verdict.ends_with("Notify outside of the section.") && ours.command.is_none(), "{}", ours.verdict);
}

#[test]
fn a_holder_that_sleeps_in_a_futex_call_waits_for_what_its_stack_says() {
    for (awaited, each_ns, expected) in [
        (
            "for a future (`std::future::get`)",
            4e6,
            "waits for a future (`std::future::get`): 100 % of the waiting. Do that",
        ),
        ("", 4e6, "sleeps in futex, for no lock that was recorded: 100 % of the waiting. Do that"),
        ("", 3e5, "is blocked in futex, as in a notification: 100 % of the waiting. Notify"),
    ] {
        let asleep = Cause { awaited: awaited.to_owned(), each_ns, ..blocked(2, "futex", 900.0) };
        let found = findings(&Profile { locks: vec![lock("m", &[asleep], &[])], ..program() });
        assert!(
            found.verdict.contains(&format!(" at a time while it {expected} outside of the section.")),
            "{}",
            found.verdict
        );
    }
}

#[test]
fn a_chain_of_locks_is_followed_to_its_root() {
    let table = lock("table", &[waits(1, WaitObject::Lock(1), 900.0), without(State::Passing, 100.0)], &[(1, 150.0)]);
    let middle = lock("middle", &[waits(2, WaitObject::Lock(2), 300.0)], &[]);
    let root = lock("log", &[blocked(3, "nanosleep", 200.0)], &[]);
    said(
        vec![table.clone(), middle.clone(), root],
        "`f1` (a.c:11) holds `table` while it waits for `middle`, which `f2` (a.c:12) holds while it waits for `log`, which \
         `f3` (a.c:13) holds for 4.00 ms at a time (blocked in nanosleep): 90 % of the waiting for `table`. Begin with `f3` \
         (a.c:13).",
    );
    let circle = lock("middle", &[waits(2, WaitObject::Lock(0), 300.0)], &[]);
    said(
        vec![table, circle],
        "`f1` (a.c:11) holds `table` while it waits for `middle`, which `f2` (a.c:12) holds while it waits for `table`, in a \
         circle: 90 % of the waiting for `table`. Release it before.",
    );
}

#[test]
fn a_holder_may_wait_for_what_is_no_lock() {
    let locks = vec![lock("m", &[waits(1, WaitObject::Condition(0), 900.0)], &[])];
    let conditions = vec![Condition { name: "filled".to_owned(), ..Condition::default() }];
    assert_eq!(
        findings(&Profile { locks, conditions, ..program() }).verdict,
        "`f1` (a.c:11) holds `m` while it waits for the condition variable `filled`: 100 % of the waiting for `m`. Release it \
         before."
    );
}

#[test]
fn short_sections_lead_to_a_trial_where_that_can_help() {
    let hot = lock("m", &[without(State::Passing, 900.0), without(State::Free, 100.0)], &[(4, 120.0)]);
    let of = |profile: &Profile| findings(profile);
    let found = of(&Profile { locks: vec![hot.clone()], ..program() });
    assert_eq!(
        found.verdict,
        "Sections under `m` are short (120 ns), and 4 threads want them: 90 % of the waiting is for passing it on. Measure \
         whether ondeck's locks help:"
    );
    assert_eq!(found.command.as_deref(), Some("ondeck profile --try -- ./a 'b c'"));
    // A server never ends, and `--try` waits for an end.
    let stopped = Profile { locks: vec![hot.clone()], is_stopped: true, ..program() };
    let found = of(&stopped);
    assert!(found.verdict.ends_with(" Start it with ondeck's locks, and compare what it does under the same load:"));
    assert_eq!(found.command.as_deref(), Some("ondeck run -- ./a 'b c'"));
    let sentences = of_lock(&stopped, &Tops::new(&stopped), 0);
    assert!(sentences[0].contains("`ondeck run`") && !sentences[0].contains("--try"), "{sentences:?}");
    let expected = "Sections under `m` are short (120 ns), and 4 threads want them: 90 % of the waiting is for passing it on. \
                    Lock it less often, most in `f4` (a.c:14).";
    let ours = of(&Profile { locks: vec![hot.clone()], lock: "ondeck".to_owned(), ..program() });
    assert_eq!((ours.verdict.as_str(), ours.command), (expected, None));
    let own = Lock { spins: Some(0.0), ..hot.clone() };
    let own = of(&Profile { locks: vec![own], ..program() });
    assert_eq!((own.verdict.as_str(), own.command), (expected, None), "the program has ondeck's lock already");
    let readers = Lock { kind: LockKind::RwLock, ..hot };
    let readers = of(&Profile { locks: vec![readers], ..program() });
    assert_eq!((readers.verdict.as_str(), readers.command), (expected, None));
}

#[test]
fn who_does_little_but_lock_is_told_how_often() {
    let hot = lock("m", &[without(State::Passing, 900.0)], &[(4, 120.0)]);
    let often = |acquisitions, hold_ns| {
        let hot = Lock { acquisitions, hold_ns, members: 1, ..hot.clone() };
        findings(&Profile { locks: vec![hot], lock: "ondeck".to_owned(), ..program() }).verdict
    };
    // Two of its four threads can run at once, for 2 s.
    assert_eq!(
        often(1e7, 1.2e9),
        "Sections under `m` are short (120 ns), and 4 threads want them: 100 % of the waiting is for passing it on. It is taken 5.00 \
         M times a second, with at most 280 ns for all else between. Lock it less often, most in `f4` (a.c:14)."
    );
    assert!(!often(1e5, 0.01e9).contains("is taken"), "they do more than that");
}

/// As in a program that waits for 20 ms in 0.8 s.
#[test]
fn little_waiting_is_no_reason_to_try_other_locks() {
    let of = |ms| findings(&Profile { locks: vec![lock("m", &[without(State::Passing, ms)], &[])], ..program() });
    assert!(
        of(50.0).command.is_none() && of(50.0).verdict.starts_with("Sections under")
            || of(50.0).verdict.contains("briefly")
    );
    assert!(of(400.0).command.is_some());
}

#[test]
fn one_event_is_called_one() {
    let once = Cause { count: 1.0, ..blocked(2, "read", 300.0) };
    said(
        vec![lock("m", &[once], &[])],
        "`f2` (a.c:12) holds `m` once, for 4.00 ms while it is blocked in read: 100 % of the waiting. Do that outside of the \
         section.",
    );
}

#[test]
fn a_lock_with_a_third_of_the_waiting_is_named_too() {
    let [a, b] =
        [("a", 1), ("b", 2)].map(|(name, stack)| lock(name, &[cause(State::Computing, stack, 500.0, 400.0)], &[]));
    let small = lock("c", &[cause(State::Computing, 3, 300.0, 400.0)], &[]);
    said(
        vec![a, b, small],
        "`f1` (a.c:11) holds `a` for 400 us at a time: 100 % of the waiting for it. Make it shorter. Also: `f2` (a.c:12) holds \
         `b` for 400 us at a time: 100 % of the waiting for it. Make it shorter.",
    );
}

#[test]
fn threads_in_a_circle_are_a_deadlock() {
    let locks = ["a", "b"].map(|name| lock(name, &[without(State::OtherLock, 1500.0)], &[])).to_vec();
    let stuck = |thread, lock, stack, holder| Stuck {
        thread,
        on: WaitObject::Lock(lock),
        ns: 1_500_000_000,
        stack: Some(stack),
        holder: Some(holder),
        state: State::OtherLock,
        ..Stuck::default()
    };
    let led_to = stuck(9, 0, 3, 11);
    let profile = Profile { locks, stuck: vec![led_to, stuck(11, 1, 1, 12), stuck(12, 0, 2, 11)], ..program() };
    let found = findings(&profile);
    assert_eq!(
        found.verdict,
        "Deadlock: `f1` (a.c:11) (thread 11) holds `a` and waits for `b` since 1.50 s; `f2` (a.c:12) (thread 12) holds `b` and \
         waits for `a` since 1.50 s."
    );
    assert_eq!(found.stacks[1], ("thread 12 waits for a here".to_owned(), 2));
    let alone = Profile { stuck: vec![stuck(11, 0, 1, 11)], ..profile.clone() };
    assert_eq!(
        findings(&alone).verdict,
        "Deadlock: `f1` (a.c:11) (thread 11) locks `a`, which it holds already, since 1.50 s."
    );
    // A wait that only happens to be in progress at the end is none.
    let mut short = profile.clone();
    short.stuck.iter_mut().for_each(|stuck| stuck.ns = 900_000_000);
    assert!(!findings(&short).verdict.contains("Deadlock"));
}

#[test]
fn a_thread_that_does_not_come_back_is_told_of() {
    let stuck = |thread| Stuck {
        thread,
        ns: 1_900_000_000,
        holder: Some(5),
        state: State::Blocked,
        call: "read".to_owned(),
        ..Stuck::default()
    };
    let locks = vec![lock("m", &[blocked(2, "read", 1900.0)], &[])];
    assert_eq!(
        findings(&Profile { locks, stuck: vec![stuck(7), stuck(8)], ..program() }).verdict,
        "2 threads wait for `m` since 1.90 s: thread 5 has it and is blocked in read, in `f2` (a.c:12)."
    );
}

#[test]
fn a_holder_that_waits_for_what_has_no_holder_is_told_of() {
    let stuck = |thread, on, holder| Stuck {
        thread,
        on,
        ns: 1_900_000_000,
        stack: Some(2),
        holder,
        state: State::OtherLock,
        ..Stuck::default()
    };
    let locks = vec![lock("m", &[without(State::OtherLock, 1900.0)], &[])];
    let conditions = vec![Condition { name: "ready".to_owned(), ..Condition::default() }];
    let idle = stuck(5, WaitObject::Condition(0), None);
    let profile = Profile { locks, conditions, stuck: vec![stuck(7, WaitObject::Lock(0), Some(5)), idle], ..program() };
    assert_eq!(
        findings(&profile).verdict,
        "1 thread waits for `m` since 1.90 s: thread 5 has it and waits for the condition variable `ready`, in `f2` (a.c:12)."
    );
}

/// A notification may have been lost. Threads without work wait as long, so that is no verdict.
#[test]
fn what_most_threads_wait_for_is_told_where_no_lock_matters() {
    let stuck = |thread, condition, ns| Stuck { thread, on: WaitObject::Condition(condition), ns, ..Stuck::default() };
    let condition = |name: &str, notifiers: &[Site]| Condition {
        name: name.to_owned(),
        notifiers: notifiers.to_vec(),
        ..Condition::default()
    };
    let by = Site { stack: 1, count: 3.0, ns: 0.0 };
    let long = 1_900_000_000;
    let mut profile = Profile {
        conditions: vec![condition("work", &[by]), condition("ready", &[])],
        stuck: vec![stuck(5, 0, long), stuck(6, 1, long), stuck(7, 1, long), stuck(8, 0, 900_000_000)],
        ..program()
    };
    let said = |profile: &Profile| findings(profile).verdict;
    assert_eq!(
        said(&profile),
        "No lock was waited for in 2.0 s. 2 threads wait for the condition variable `ready` since 1.90 s. It was not seen \
         to be notified."
    );
    profile.stuck.truncate(1);
    assert_eq!(
        said(&profile),
        "No lock was waited for in 2.0 s. 1 thread waits for the condition variable `work` since 1.90 s. It is notified in \
         `f1` (a.c:11)."
    );
    profile.conditions[0].kind = WaitKind::Join;
    assert_eq!(said(&profile), "No lock was waited for in 2.0 s.");
}

#[test]
fn threads_that_are_woken_for_nothing_are_told_of() {
    let herd = Condition {
        name: "filled".to_owned(),
        kind: WaitKind::Condition,
        waits: 160_000.0,
        again: 150_000.0,
        notifiers: vec![Site { stack: 3, count: 10_000.0, ns: 0.0 }],
        notifications_of_all: 10_000.0,
        ..Condition::default()
    };
    let of = |condition: Condition| findings(&Profile { conditions: vec![condition], ..program() }).verdict;
    assert_eq!(
        of(herd.clone()),
        "About 16 threads are woken for each `notify_all` of `filled` in `f3` (a.c:13), and 94 % of the 160 k go back to \
         sleep at once. Use `notify_one`, or wake as many as there is work for."
    );
    // One at a time; work for all; too seldom to matter.
    for other in [
        Condition { notifications_of_all: 0.0, ..herd.clone() },
        Condition { again: 10_000.0, ..herd.clone() },
        Condition { waits: 160.0, again: 150.0, notifiers: Vec::new(), ..herd },
    ] {
        assert_eq!(of(other), "No lock was waited for in 2.0 s.");
    }
}

/// As in files of earlier versions, and of pprof.
#[test]
fn sites_alone_tell_who_holds_it() {
    let mut old = lock("m", &[], &[]);
    (old.wait_ns, old.handing_on_ns, old.most_waiting) = (1e9, 0.1e9, 2);
    old.holders = vec![Site { stack: 1, count: 1000.0, ns: 0.9e9 }];
    said(vec![old], "`f1` (a.c:11) holds `m` for 450 us at a time: 90 % of the waiting. Make it shorter.");
}

/// Steps whose held locks are these, taken in functions `f0`, `f1` and so on.
fn ordered(locks: &[&str], same_objects: bool) -> Profile {
    let step = |at: usize| OrderStep {
        held: locks[at].to_owned(),
        held_stack: Some(at as u32 + 4),
        taken: locks[(at + 1) % locks.len()].to_owned(),
        taken_stack: Some(at as u32),
    };
    let steps: Vec<OrderStep> = (0..locks.len()).map(step).collect();
    let (first, second) = (steps[0].held.clone(), steps[0].taken.clone());
    let order = LockOrder { first, second, same_objects, count: 1, processes: 1, steps, ..LockOrder::default() };
    Profile { order: vec![order], ..program() }
}

#[test]
fn locks_in_both_orders_are_the_verdict_if_nothing_was_waited_for() {
    let profile = ordered(&["index", "cache"], true);
    let expected = "`cache` is taken while `index` is held, in `f0` (a.c:10), and `index` is taken while `cache` is held, in \
                    `f1` (a.c:11). Two threads that do this at once wait for each other for ever. Take the locks in one order.";
    let found = findings(&profile);
    assert_eq!((found.verdict.as_str(), found.is_nothing), (expected, false));
    let (sentence, stacks) = lock_order::told(&profile).remove(0);
    assert_eq!(sentence, expected);
    let stacks: Vec<(&str, u32)> = stacks.iter().map(|(line, stack)| (line.as_str(), *stack)).collect();
    let lines = ["index is taken here", "and then cache", "cache is taken here", "and then index"];
    assert_eq!(stacks, lines.into_iter().zip([4, 0, 5, 1]).collect::<Vec<_>>());
    // What was waited for comes first.
    let hot = lock("hot", &[cause(State::Computing, 0, 1000.0, 3000.0)], &[]);
    let waited = findings(&Profile { locks: vec![hot], ..profile });
    assert!(waited.verdict.starts_with("`f0` (a.c:10) holds `hot`") && !waited.verdict.contains("index"), "{waited:?}");
}

#[test]
fn circles_of_locks_are_told_as_what_they_are() {
    let circle = lock_order::told(&ordered(&["a", "b", "c"], true)).remove(0).0;
    assert!(circle.starts_with("`b` is taken while `a` is held, in `f0` (a.c:10); `c` is taken while"), "{circle}");
    assert!(
        circle.contains("`a` is taken while `c` is held, in `f2` (a.c:12). Threads that do this at once"),
        "{circle}"
    );
    let kinds = lock_order::told(&ordered(&["a", "b"], false)).remove(0).0;
    assert!(kinds.ends_with("if the same ones never meet, this is no deadlock."), "{kinds}");
    let one_kind = "5 locks made in main (a.c:7)";
    let pair = lock_order::told(&ordered(&[one_kind, one_kind], true)).remove(0).0;
    assert!(
        pair.starts_with(
            "Of 5 locks made in `main (a.c:7)`, one is taken while another one is held, in `f0` (a.c:10), and the same two \
             the other way round, in `f1` (a.c:11). Two threads"
        ),
        "{pair}"
    );
    let many = lock_order::told(&ordered(&[one_kind; 3], true)).remove(0).0;
    assert!(many.contains("is held, in `f0` (a.c:10), and so on in a circle, in `f1`"), "{many}");
    let of_kinds = lock_order::told(&ordered(&[one_kind, "b"], true)).remove(0).0;
    assert!(of_kinds.contains("and one of 5 locks made in `main (a.c:7)` is taken while `b` is held"), "{of_kinds}");
}

#[test]
fn locks_at_the_same_addresses_may_be_others() {
    let mut profile = ordered(&["a", "b"], false);
    profile.order[0].same_addresses = true;
    let sentence = lock_order::told(&profile).remove(0).0;
    let doubt = "Take the locks in one order. These may be later locks at the same addresses: the recorder does not see \
                 when one is freed. If the same ones never meet, this is no deadlock.";
    assert!(sentence.ends_with(doubt), "{sentence}");
}

/// Two static locks that are called the same in their files.
#[test]
fn locks_of_one_name_are_not_of_one_kind() {
    let sentence = lock_order::told(&ordered(&["lock at 0x5000", "lock at 0x6000"], true)).remove(0).0;
    assert!(sentence.starts_with("`lock at 0x6000` is taken while `lock at 0x5000` is held, in `f0`"), "{sentence}");
}

#[test]
fn each_order_has_its_sentence_and_says_in_how_many_processes_it_is() {
    let mut profile = ordered(&["a", "b"], true);
    profile.order[0].processes = 200;
    profile.order.push(profile.order[0].clone());
    let said = lock_order::told(&profile).remove(0).0;
    assert!(said.ends_with("Take the locks in one order. This was seen in 200 processes."), "{said}");
    let list = crate::table(&profile, 10_000);
    assert_eq!(list.matches("`b` is taken while `a` is held").count(), 2, "{list}");
}

/// Its processes have run for longer.
#[test]
fn a_snapshot_is_judged_by_its_own_time() {
    let mut profile = program();
    profile.locks = vec![lock("queue", &[cause(State::Computing, 1, 100.0, 50.0)], &[])];
    profile.processes[0].to = 2000.0;
    assert_eq!(findings(&profile).locks, [0]);
}

/// Of a program with a runtime.
#[test]
fn nobody_is_told_that_no_lock_matters() {
    for (mut profile, share) in [(made_up::calm(), "0 %"), (made_up::silent(), "0 %"), (made_up::small(), "<0.1 %")] {
        profile.frames.push(Frame { function: "runtime.futexsleep".to_owned(), ..Frame::default() });
        profile.notes = Programs::default().notes(&profile);
        let verdict = findings(&profile).verdict;
        assert!(
            verdict.starts_with("Only what whole threads wait for was seen: ") && verdict.contains(share),
            "{verdict}"
        );
        assert!(verdict.contains("goroutines"), "{verdict}");
    }
}
