//! Each kind of sentence, and where one begins and another ends.

use super::*;
use crate::{Bar, Condition, Ended, Frame, Histogram, Lock, LockKind, Process, Site, VERSION, WaitKind};

/// A lock that nobody has used.
pub(super) fn nothing() -> Lock {
    Lock { name: "lock".into(), address: 0x1000, threads: 1, ..Lock::default() }
}

/// A run of so many seconds with one lock.
pub(super) fn profile_of(lock: Lock, cores: u32, seconds: f64) -> Profile {
    let frame = |function: &str, file: &str, line| Frame {
        function: function.into(),
        module: "server".into(),
        file: file.into(),
        line,
        is_named: true,
        ..Frame::default()
    };
    let process =
        Process { pid: 7, parent: 1, program: "server".into(), from: 0.5, to: 0.5 + seconds, ended: Ended::Exit };
    Profile {
        version: VERSION,
        command: vec!["server".into()],
        seconds: seconds + 1.0,
        cores,
        lock: "glibc".into(),
        rate: 10,
        processes: vec![process],
        frames: vec![
            frame("pthread_mutex_unlock", "", 0),
            frame("Cache::put(int)", "/src/lib/cache.cc", 88),
            frame("Cache::get(int)", "/src/lib/cache.cc", 41),
            frame("Cache::put(int)", "/src/lib/cache.cc", 99),
        ],
        stacks: vec![vec![0, 1], vec![0, 2], vec![0, 3], vec![]],
        locks: vec![lock],
        ..Profile::default()
    }
}

fn bars(bars: &[(u64, u64, f64)]) -> Histogram {
    Histogram(bars.iter().map(|&(from, to, count)| Bar { from, to, count }).collect())
}

/// Held for 200 ns at a time and waited for one second in ten by each of four threads.
pub(super) fn contended() -> Lock {
    let site = |stack, count, ns| Site { stack, count, ns };
    Lock {
        acquisitions: 1e6,
        waits: 4e5,
        wait_ns: 4e9,
        hold_ns: 2e8,
        hold_histogram: bars(&[(128, 256, 1e6)]),
        handing_on_ns: 1e9,
        most_waiting: 3,
        threads: 4,
        holders: vec![site(0, 1e5, 1.2e9), site(1, 1e5, 0.8e9), site(2, 1e5, 1e9)],
        takers: vec![site(0, 3e5, 6e7), site(1, 7e5, 14e7)],
        ..nothing()
    }
}

/// A run of ten seconds with this lock on four cores.
pub(super) fn profile(change: impl FnOnce(&mut Lock)) -> Profile {
    let mut lock = contended();
    change(&mut lock);
    profile_of(lock, 4, 10.0)
}

fn predicted(measured_per_s: f64, rates: [(f64, f64); 3]) -> Prediction {
    let names = [("mesh-cores-4", 4), ("graviton3-cores-16", 16), ("graviton3", 64)];
    let on = |at: usize| OnMachine {
        machine: names[at].0.into(),
        cores: names[at].1,
        threads: names[at].1,
        glibc_per_s: rates[at].0,
        ondeck_per_s: rates[at].1,
        is_bistable: false,
        guesses: (20 + at as u32, 40),
    };
    Prediction {
        section_ns: 150.0,
        outside_ns: 2000.0,
        measured_per_s,
        measured_waits: 0.4,
        simulated_waits: 0.5,
        machines: [on(0), on(1), on(2)],
    }
}

fn told(profile: &Profile, prediction: Option<Prediction>) -> (Kind, String) {
    let mut all = advice(profile, &[prediction]);
    assert_eq!(all.len(), 1);
    let Advice { subject, kind, text } = all.remove(0);
    assert_eq!(subject, Subject::Lock(0));
    (kind, text)
}

fn kind(profile: &Profile) -> Kind {
    told(profile, None).0
}

#[test]
fn little_waiting_does_not_matter() {
    let (kind, text) = told(&profile(|lock| lock.wait_ns = 0.2e9), None);
    assert_eq!(kind, Kind::Quiet);
    assert_eq!(
        text,
        "Hardly contended: threads waited 200 ms for it. That is 0.5 % of the time that its 4 threads could run on 4 cores, \
         and less than two runs differ by. Leave it as it is."
    );
    // 1 % of four threads for ten seconds.
    assert_eq!(self::kind(&profile(|lock| lock.wait_ns = 0.399e9)), Kind::Quiet);
    assert_ne!(self::kind(&profile(|lock| lock.wait_ns = 0.401e9)), Kind::Quiet);
    // A hundred threads that are idle beside four do not make it less.
    assert_ne!(self::kind(&profile(|lock| (lock.wait_ns, lock.threads) = (0.401e9, 104))), Kind::Quiet);
    assert_eq!(self::kind(&profile_of(nothing(), 4, 10.0)), Kind::Quiet);
    assert_eq!(self::kind(&profile_of(nothing(), 0, 0.0)), Kind::Quiet);
}

#[test]
fn few_samples_say_how_to_get_more() {
    let few = |acquisitions| profile(|lock| lock.acquisitions = acquisitions);
    let (kind, text) = told(&few(190.0), None);
    assert_eq!(kind, Kind::Unknown);
    assert_eq!(
        text,
        "Too few samples: threads waited 4.00 s for it, but only 19 of its 190 acquisitions were recorded, and 20 are \
         needed. Record more of them:\nondeck profile --rate 3 -- server"
    );
    let mut ours = few(190.0);
    ours.lock = "ondeck".into();
    let (_, text) = told(&ours, None);
    assert!(text.ends_with("\nondeck profile --lock ondeck --rate 3 -- server"), "{text}");
    assert_ne!(self::kind(&few(200.0)), Kind::Unknown);
    let mut all = few(19.0);
    all.rate = 1;
    let (kind, text) = told(&all, None);
    assert_eq!(kind, Kind::Unknown);
    assert!(text.ends_with("but it was acquired only 19 times, and 20 are needed. Record a longer run."), "{text}");
    let (kind, text) = told(&profile(|lock| lock.takers.clear()), None);
    assert_eq!(kind, Kind::Unknown);
    assert!(text.contains("how long it was held is not known for any of its 1.00 M acquisitions"), "{text}");
}

#[test]
fn our_lock_helps_here_or_with_more_cores_or_not() {
    let here = predicted(1e5, [(1e5, 2.34e5), (1e5, 2e5), (1e5, 1.5e5)]);
    let (kind, text) = told(&profile(|_| ()), Some(here));
    assert_eq!(kind, Kind::Helped);
    assert_eq!(
        text,
        "`ondeck run` would help: it is held for only 200 ns at a time (mean of the shortest 99 %), but 40 % of 1.00 M \
         acquisitions wait. On average 0.40 threads wait. Simulated, threads acquire ondeck's lock 2.34 times as often as \
         glibc's on 4 cores as here (mesh-cores-4, 4 threads). On 16 cores it is 2.00 times (graviton3-cores-16, 16 \
         threads), on 64 cores 1.50 times (graviton3, 64 threads). 63 of the 120 figures of these models are guesses. Try it \
         and measure:\nondeck run -- server"
    );
    let mut crowded = predicted(1e5, [(1e5, 2.34e5), (1e5, 2e5), (1e5, 1.5e5)]);
    crowded.machines[0].threads = 5;
    let (_, text) = told(&profile(|_| ()), Some(crowded));
    assert!(
        text.contains(
            "as here (mesh-cores-4, 5 threads!). On 16 cores it is 2.00 times (graviton3-cores-16, 16 threads)"
        )
    );
    assert!(text.contains("(graviton3, 64 threads). 63 of the 120 figures of these models are guesses. ! more threads than simulated CPUs: "), "{text}");
    let mut disagreeing = predicted(1e5, [(1e5, 2.34e5), (1e5, 2e5), (1e5, 1.5e5)]);
    disagreeing.machines[2].is_bistable = true;
    let (_, text) = told(&profile(|_| ()), Some(disagreeing));
    assert!(text.contains("(graviton3, 64 threads?). 63 of"), "{text}");
    assert!(text.contains("guesses. ? bistable: the seeds fall into two groups"), "{text}");
    let (kind, text) = told(&profile(|_| ()), Some(predicted(1e5, [(1e5, 1.09e5), (1e5, 1.11e5), (1e5, 0.9e5)])));
    assert_eq!(kind, Kind::HelpedOnMore);
    assert!(text.starts_with("`ondeck run` would help with more cores, not with these: it is held"), "{text}");
    assert!(text.ends_with("On such a machine, try it and measure:\nondeck run -- server"), "{text}");
    let (kind, text) = told(&profile(|_| ()), Some(predicted(1e5, [(1e5, 1.09e5), (1e5, 1e5), (1e5, 0.9e5)])));
    assert_eq!(kind, Kind::NotHelped);
    assert!(text.starts_with("`ondeck run` would not help: it is held for only 200 ns"), "{text}");
    assert!(text.contains("1.09 times as often as glibc's on 4 cores as here (mesh-cores-4, 4 threads)."), "{text}");
    assert!(text.contains("On 16 cores it is 1.00 times"), "{text}");
    assert!(
        text.ends_with("Acquire it less often: `Cache::get` (cache.cc:41) makes 70 % of the acquisitions."),
        "{text}"
    );
}

#[test]
fn nothing_is_concluded_from_a_simulation_that_is_not_like_the_run() {
    let (kind, text) = told(&profile(|_| ()), None);
    assert_eq!(kind, Kind::NotPredicted);
    assert!(text.starts_with("`ondeck run` may help: it is held for only 200 ns"), "{text}");
    assert!(text.ends_with("No simulation says how much. Measure it:\nondeck profile --try -- server"), "{text}");
    let unlike = |glibc_per_s| predicted(1e5, [(glibc_per_s, 9e5), (1e5, 2e5), (1e5, 2e5)]);
    let (kind, text) = told(&profile(|_| ()), Some(unlike(3e5)));
    assert_eq!(kind, Kind::NotPredicted);
    let expected =
        "The simulation cannot tell, because it differs from this run. Measure it:\nondeck profile --try -- server";
    assert!(text.contains(expected), "{text}");
    assert_eq!(told(&profile(|_| ()), Some(unlike(1.24e5))).0, Kind::Helped);
    assert_eq!(told(&profile(|_| ()), Some(unlike(1.26e5))).0, Kind::NotPredicted);
    assert_eq!(told(&profile(|_| ()), Some(unlike(0.74e5))).0, Kind::NotPredicted);
    let waits = |simulated_waits| Some(Prediction { simulated_waits, ..unlike(1e5) });
    assert_eq!(told(&profile(|_| ()), waits(0.64)).0, Kind::Helped);
    assert_eq!(told(&profile(|_| ()), waits(0.66)).0, Kind::NotPredicted);
}

#[test]
fn a_convoy_of_short_sections_is_named() {
    let (kind, text) = told(&profile(|lock| lock.handing_on_ns = 3e9), None);
    assert_eq!(kind, Kind::NotPredicted);
    let expected = "Also, for 75 % of the waiting time (3.00 s of 4.00 s) the lock was free, but the thread that was woken \
                    for it was not running yet.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn too_few_cores_are_named() {
    let crowded = |lock: &mut Lock| (lock.handing_on_ns, lock.threads) = (2.4e9, 8);
    let (kind, text) = told(&profile(crowded), None);
    assert_eq!(kind, Kind::Late);
    assert_eq!(
        text,
        "Too few cores: for 60 % of the waiting time (2.40 s of 4.00 s) the lock was free, but the thread that was woken for \
         it was not running yet. 8 threads share 4 cores. Use fewer threads or more cores. Or measure whether \
         ondeck's locks help:\nondeck profile --try -- server"
    );
    let rates = [(1e5, 2e5), (1e5, 2e5), (1e5, 2e5)];
    let (_, text) = told(&profile(crowded), Some(predicted(1e5, rates)));
    assert!(text.contains("more cores. Simulated, threads acquire ondeck's lock 2.00 times"), "{text}");
    let (_, text) = told(&profile(crowded), Some(predicted(9e5, rates)));
    assert!(!text.contains("Simulated"), "{text}");
    assert_eq!(self::kind(&profile(|lock| (lock.handing_on_ns, lock.threads) = (1.9e9, 8))), Kind::NotPredicted);
    // Long sections, and cores for all.
    let (kind, text) = told(&profile(|lock| (lock.handing_on_ns, lock.takers[0].ns) = (2.4e9, 1e12)), None);
    assert_eq!(kind, Kind::Late);
    assert!(text.starts_with("Late wake-ups: for 60 %"), "{text}");
    assert!(text.ends_with(
        "Its 4 threads have 4 cores. Other programs or a limit on CPU time may have taken the cores: look for both."
    ));
}

#[test]
fn long_sections_name_their_holder() {
    let held =
        |mean_ns: f64| move |lock: &mut Lock| lock.takers = vec![Site { stack: 0, count: 1e6, ns: mean_ns * 1e6 }];
    let (kind, text) = told(&profile(held(2.3e6)), None);
    assert_eq!(kind, Kind::Long);
    // Both places in the function are its own; the one with more is told.
    assert_eq!(
        text,
        "Long sections: it is held for 2.30 ms at a time (mean of the shortest 99 %). `Cache::put` (cache.cc:88) held it during \
         55 % of the 4.00 s that threads waited. Take work out of this section."
    );
    assert_eq!(self::kind(&profile(held(99e3))), Kind::NotPredicted);
    assert_eq!(self::kind(&profile(held(101e3))), Kind::Long);
    let spread = |lock: &mut Lock| {
        held(2.3e6)(lock);
        lock.holders[2].ns = 0.1e9;
    };
    let (_, text) = told(&profile(spread), None);
    let expected =
        "`Cache::put` (cache.cc:88) held it during the largest part, 32 % of the 4.00 s that threads waited.";
    assert!(text.contains(expected), "{text}");
    let unknown = |lock: &mut Lock| {
        held(2.3e6)(lock);
        lock.holders = vec![Site { stack: 3, count: 1.0, ns: 3e9 }];
    };
    let (_, text) = told(&profile(unknown), None);
    assert!(text.ends_with("Which function held it while threads waited 4.00 s is not known."), "{text}");
}

/// So many holds that threads waited for, with all of the waiting charged to them.
fn waited_for(count: f64) -> impl Fn(&mut Lock) {
    move |lock| lock.holders = vec![Site { stack: 0, count, ns: 3e9 }]
}

#[test]
fn sections_that_are_sometimes_long_are_told_from_long_ones() {
    let waited_for = |count, threads| {
        profile(|lock| {
            waited_for(count)(lock);
            lock.threads = threads;
        })
    };
    let (kind, text) = told(&waited_for(1000.0, 4), None);
    assert_eq!(kind, Kind::SometimesLong);
    // Three threads waited at most, for 3 s in 1000 holds.
    assert_eq!(
        text,
        "A few long sections: 99 of 100 holds last at most 255 ns, but holds that threads waited for lasted at least 1.00 ms \
         (mean). `Cache::put` (cache.cc:88) held it during 75 % of the 4.00 s that threads waited. Look for a rare, slow path \
         there. Or holders lost their cores to other programs."
    );
    let (_, text) = told(&waited_for(1000.0, 8), None);
    assert!(text.ends_with("there. Or holders lost their cores: 8 threads share 4 cores."), "{text}");
    assert_eq!(self::kind(&waited_for(9_900.0, 4)), Kind::SometimesLong);
    assert_eq!(self::kind(&waited_for(10_100.0, 4)), Kind::NotPredicted);
    // Charges of our lock are not of single holds.
    let mut ours = waited_for(1000.0, 4);
    ours.lock = "ondeck".into();
    assert_eq!(self::kind(&ours), Kind::Answered);
}

/// Each wait for a long hold was recorded, though no acquisition was looked at.
#[test]
fn what_was_waited_for_tells_where_samples_do_not() {
    let seldom = |lock: &mut Lock| {
        (lock.acquisitions, lock.waits, lock.takers) = (60.0, 40.0, Vec::new());
        waited_for(50.0)(lock);
    };
    let (kind, text) = told(&profile(seldom), None);
    assert_eq!(kind, Kind::Long);
    assert_eq!(
        text,
        "Long sections: holds that threads waited for lasted at least 20.0 ms (mean). `Cache::put` (cache.cc:88) held it during \
         75 % of the 4.00 s that threads waited. Take work out of this section."
    );
    let late = |lock: &mut Lock| {
        seldom(lock);
        (lock.handing_on_ns, lock.threads) = (3e9, 8);
    };
    assert_eq!(self::kind(&profile(late)), Kind::Late);
}

#[test]
fn our_lock_is_not_advised_where_it_answers() {
    let mut profile = profile(|_| ());
    profile.lock = "ondeck".into();
    let (kind, text) = told(&profile, Some(predicted(1e5, [(1e5, 2e5); 3])));
    assert_eq!(kind, Kind::Answered);
    profile.locks[0].handing_on_ns = 3e9;
    profile.locks[0].threads = 8;
    let crowded = told(&profile, None);
    assert!(crowded.0 == Kind::Late && !crowded.1.contains("--try"), "{}", crowded.1);
    assert!(text.starts_with("ondeck is in place already: it is held for only 200 ns at a time"), "{text}");
    assert_eq!(predict(&profile.locks[0], &profile, None), None);
}

/// There is no lock of ours for readers and writers, and none that could stand in for one that spins.
#[test]
fn our_lock_is_not_advised_where_it_cannot_answer() {
    for cores in [4, 1] {
        for (handing_on_ns, section_ns) in [(0.0, 1.0), (3e9, 1.0), (0.0, 1e7)] {
            let mut profile = profile(|lock| (lock.kind, lock.handing_on_ns) = (LockKind::RwLock, handing_on_ns));
            profile.cores = cores;
            profile.locks[0].takers.iter_mut().for_each(|site| site.ns *= section_ns);
            for kind in [LockKind::RwLock, LockKind::Spin] {
                profile.locks[0].kind = kind;
                assert!(predictions(&profile, 3, None).iter().all(Option::is_none), "{kind:?}");
                let (told, text) = told(&profile, Some(predicted(1e5, [(1e5, 2e5); 3])));
                assert!(!matches!(told, Kind::Helped | Kind::HelpedOnMore | Kind::NotPredicted), "{told:?}");
                assert!(!text.contains("--try") && !text.contains("ondeck run --"), "{text}");
                let verdict = verdict(&profile, &advice(&profile, &[]));
                assert!(verdict.command.is_none() && !verdict.text.contains("mutex will help"), "{verdict:?}");
            }
        }
    }
    let (kind, text) = told(&profile(|lock| lock.kind = LockKind::RwLock), None);
    assert_eq!(kind, Kind::OtherKind);
    assert!(text.starts_with("`ondeck run` does not change locks for readers and writers: it is held"), "{text}");
    let (kind, text) = told(&profile(|lock| lock.kind = LockKind::Spin), None);
    assert_eq!(kind, Kind::OtherKind);
    assert!(text.starts_with("Threads spun for 4.00 s in "), "{text}");
}

#[test]
fn nothing_is_simulated_where_it_says_nothing() {
    let is_simulated = |profile: &Profile| predictions(profile, 3, None).iter().any(Option::is_some);
    assert!(!is_simulated(&profile(|lock| lock.wait_ns = 0.1e9)));
    assert!(!is_simulated(&profile(|lock| lock.acquisitions = 100.0)));
    assert!(!is_simulated(&profile(|lock| lock.takers[0].ns = 1e12)));
    assert!(!is_simulated(&profile_of(nothing(), 0, 0.0)));
    // One acquisition of each thread in half a second.
    assert!(!is_simulated(&profile(
        |lock| (lock.acquisitions, lock.waits, lock.takers[1].count) = (200.0, 80.0, 8.5e5)
    )));
    let mut frozen = profile(|_| ());
    (frozen.processes, frozen.seconds) = (Vec::new(), 0.0);
    assert!(!is_simulated(&frozen));
}

#[test]
fn waiting_on_conditions_is_perhaps_idle() {
    let condition = |name: &str, wait_ns| Condition { name: name.into(), waits: 10.0, wait_ns, ..Condition::default() };
    let mut profile = profile(|_| ());
    profile.conditions = vec![condition("small", 1e9), condition("large", 3.1e9)];
    let all = advice(&profile, &[]);
    assert_eq!((all[1].subject, all[1].kind), (Subject::Condition(1), Kind::Idle));
    assert_eq!(
        all[1].text,
        "threads waited 4.10 s on 2 condition variables, 76 % of it here, and 4.00 s for locks. They may have had \
         nothing to do. A better lock does not change that."
    );
    // Threads wait for each other's end in almost every program.
    profile.conditions.push(Condition { kind: WaitKind::Join, ..condition("join", 99e9) });
    assert_eq!(advice(&profile, &[])[1].subject, Subject::Condition(1));
    profile.conditions[0].wait_ns = 0.5e9;
    assert_eq!(advice(&profile, &[]).len(), 1);
}

#[test]
fn every_lock_has_its_own_sentence() {
    let mut profile = profile(|_| ());
    profile.locks.push(nothing());
    let all = advice(&profile, &[None]);
    assert_eq!(all.iter().map(|advice| advice.kind).collect::<Vec<Kind>>(), [Kind::NotPredicted, Kind::Quiet]);
    let text = serde_json::to_string(&all[1]).unwrap();
    assert!(text.starts_with(r#"{"subject":{"lock":1},"kind":"quiet","text":"Hardly contended"#), "{text}");
    assert!(advice(&crate::made_up::silent(), &[]).is_empty());
}

/// Names and figures of a file from elsewhere. This kind of advice has no command, so it is one line.
#[test]
fn nonsense_is_told_in_one_line() {
    let mut profile = profile(|lock| {
        (lock.wait_ns, lock.waits, lock.handing_on_ns, lock.process) = (1e300, 1e300, -1.0, 99);
        lock.holders[0].ns = f64::MAX;
        lock.holders[0].stack = 12345;
    });
    for frame in &mut profile.frames {
        frame.function = "x\ny\u{1b}[31m".repeat(1000);
        frame.file = "a\nb".into();
    }
    for advice in advice(&profile, &[]) {
        assert!(!advice.text.contains(['\n', '\u{1b}']) && advice.text.len() < 2000, "{}", advice.text);
    }
}

/// The kernel tells who woke a thread, and nothing of holds.
#[test]
fn who_woke_the_waiters_is_told_where_nothing_else_is() {
    let woken = |lock: &mut Lock| {
        (lock.holders, lock.takers) = (Vec::new(), Vec::new());
        lock.wakers = vec![Site { stack: 0, count: 1e5, ns: 3e9 }, Site { stack: 1, count: 1e5, ns: 1e9 }];
    };
    let (kind, text) = told(&profile(woken), None);
    assert_eq!(kind, Kind::Woken);
    assert_eq!(
        text,
        "Threads waited 4.00 s for it. `Cache::put` (cache.cc:88) ended 75 % of that. How long it was held was not recorded. \
         Make its sections shorter, or lock it less often."
    );
    let known = |lock: &mut Lock| lock.wakers = vec![Site { stack: 0, count: 1e5, ns: 3e9 }];
    assert_eq!(self::kind(&profile(known)), Kind::NotPredicted);
}
