//! The comparison itself: it finds nothing in a profile that says just what the program knows, and something in one that is
//! wrong at one place.

use crate::compare::{EXACT, TruthComparison};
use crate::consistent;
use crate::truth::{Holder, KnownLock, Taker, Truth};
use ondeck_profile::{Bar, Condition, Frame, Histogram, Lock, Process, ProcessEnd, Profile, Site, Timeline, VERSION};

fn taker(function: &str, acquisitions: u64, waits: u64, wait_ns: u64, hold_ns: i64) -> Taker {
    Taker {
        function: function.to_owned(),
        line: 7,
        acquisitions,
        taken_back: 0,
        waits,
        wait_ns,
        unsure: 0,
        unsure_ns: 0,
        hold_ns,
    }
}

fn holder(function: &str, charged_ns: u64, holds: u64) -> Holder {
    Holder { function: function.to_owned(), line: 9, charged_ns, holds_least: holds, holds_most: holds }
}

fn known(name: &str, sites: Vec<Taker>, holders: Vec<Holder>) -> KnownLock {
    let (waits, wait_ns) = sites.iter().fold((0, 0), |sum, site| (sum.0 + site.waits, sum.1 + site.wait_ns));
    let charged: u64 = holders.iter().map(|holder| holder.charged_ns).sum();
    KnownLock {
        name: name.to_owned(),
        address: format!("{:#x}", 0x1000 + name.len()),
        waits,
        wait_ns,
        longest_ns: 20_000_000,
        handing_on_ns: wait_ns - charged,
        threads: 3,
        most_waiting: 2,
        waits_from: 1000.15,
        waits_to: 1000.2,
        sites,
        holders,
    }
}

fn truth() -> Truth {
    let ms = 1_000_000;
    let lock = known(
        "hot",
        vec![taker("holds", 3, 0, 0, 60 * ms as i64), taker("waits", 6, 6, 110 * ms, 0)],
        vec![holder("holds", 100 * ms, 3), holder("waits", 0, 0)],
    );
    let condition = known("ready", vec![taker("consumes", 0, 2, 40 * ms, 0)], Vec::new());
    let locks = vec![lock];
    Truth {
        program: "some".to_owned(),
        pid: 77,
        ended: ProcessEnd::Exit,
        locks,
        conditions: vec![condition],
        facts: [].into(),
    }
}

/// Frames of a perfect profile, by name and line.
#[derive(Default)]
struct Stacks(Vec<Frame>);

impl Stacks {
    fn of(&mut self, function: &str, line: u32) -> u32 {
        self.0.push(Frame {
            function: function.to_owned(),
            module: "some".to_owned(),
            file: "some.c".to_owned(),
            line,
            address: 0x100 + self.0.len() as u64,
            is_named: true,
            ..Frame::default()
        });
        self.0.len() as u32 - 1
    }

    fn sites<T>(&mut self, list: &[T], of: impl Fn(&T) -> (&str, u32, u64, f64)) -> Vec<Site> {
        let mut sites = Vec::new();
        for (function, line, count, ns) in list.iter().map(of).filter(|(.., count, _)| *count > 0) {
            sites.push(Site { stack: self.of(function, line), count: count as f64, ns });
        }
        sites
    }
}

fn lock_of(stacks: &mut Stacks, known: &KnownLock) -> Lock {
    let bar = Bar { from: 1 << 24, to: 1 << 25, count: known.waits as f64 };
    Lock {
        name: known.name.clone(),
        address: known.address(),
        acquisitions: known.sum(|taker| taker.acquisitions) as f64,
        waits: known.waits as f64,
        wait_ns: known.wait_ns as f64,
        longest_ns: known.longest_ns,
        wait_histogram: Histogram(vec![bar]),
        hold_ns: known.hold_ns().unwrap_or_default() as f64,
        handing_on_ns: known.handing_on_ns as f64,
        most_waiting: known.most_waiting as u32,
        threads: known.threads as u32,
        waiters: stacks.sites(&known.sites, |site| (&site.function, site.line, site.waits, site.wait_ns as f64)),
        holders: stacks
            .sites(&known.holders, |site| (&site.function, site.line, site.holds_most, site.charged_ns as f64)),
        takers: stacks.sites(&known.sites, |site| (&site.function, site.line, site.acquisitions, site.hold_ns as f64)),
        timeline: Timeline { slice: 0.1, amounts: vec![0.0, known.wait_ns as f64] },
        ..Lock::default()
    }
}

fn perfect(truth: &Truth) -> Profile {
    let mut stacks = Stacks::default();
    let locks = truth.locks.iter().map(|known| lock_of(&mut stacks, known)).collect();
    let conditions = truth.conditions.iter().map(|known| lock_of(&mut stacks, known)).map(|lock| Condition {
        name: lock.name,
        address: lock.address,
        waits: lock.waits,
        wait_ns: lock.wait_ns,
        longest_ns: lock.longest_ns,
        wait_histogram: lock.wait_histogram,
        waiters: lock.waiters,
        ..Condition::default()
    });
    let conditions = conditions.collect();
    Profile {
        version: VERSION,
        command: vec!["/some".to_owned()],
        started_at: 1000.0,
        seconds: 1.0,
        cores: 2,
        lock: "glibc".to_owned(),
        rate: 1,
        processes: vec![Process {
            pid: truth.pid,
            parent: 1,
            program: "/bin/some".to_owned(),
            to: 1.0,
            ended: truth.ended,
            ..Process::default()
        }],
        stacks: (0..stacks.0.len() as u32).map(|frame| vec![frame]).collect(),
        frames: stacks.0,
        locks,
        conditions,
        ..Profile::default()
    }
}

fn faults(profile: &Profile, truth: &Truth) -> Vec<String> {
    let mut faults = consistent::faults(profile);
    faults.extend(TruthComparison::new(profile, truth, EXACT).faults);
    faults
}

#[test]
fn nothing_is_found_in_a_perfect_profile() {
    let truth = truth();
    assert_eq!(truth.faults(), [""; 0]);
    assert_eq!(faults(&perfect(&truth), &truth), [""; 0]);
}

/// One change, and a word of what is said of it.
type Wrong = (fn(&mut Profile), &'static str);

/// Charges to the last who releases, as a simple recorder would.
fn charge_the_last(profile: &mut Profile) {
    let stack = profile.locks[0].takers[1].stack;
    profile.locks[0].holders[0].stack = stack;
}

const WRONGS: [Wrong; 22] = [
    (|profile| profile.version += 1, "version"),
    (|profile| profile.processes[0].pid = 78, "process is missing"),
    (|profile| profile.processes[0].ended = ProcessEnd::Abruptly, "its end"),
    (|profile| profile.locks.clear(), "missing"),
    (|profile| profile.locks[0].name = "cold".to_owned(), "called"),
    (|profile| profile.locks[0].address += 8, "missing"),
    (|profile| profile.locks[0].acquisitions += 1.0, "acquisitions"),
    (|profile| profile.locks[0].waits -= 1.0, "waits"),
    (|profile| profile.locks[0].wait_ns *= 1.2, "waiting"),
    (|profile| profile.locks[0].handing_on_ns += 12e6, "handing on"),
    (|profile| profile.locks[0].hold_ns *= 0.8, "holding"),
    (|profile| profile.locks[0].longest_ns *= 2, "longest"),
    (|profile| profile.locks[0].most_waiting = 1, "most waiting"),
    (|profile| profile.locks[0].threads = 4, "threads"),
    (|profile| profile.locks[0].timeline.amounts.rotate_left(1), "waits from"),
    (|profile| profile.locks[0].timeline.amounts.push(5e6), "over time"),
    (|profile| profile.locks[0].wait_histogram.0.clear(), "bars"),
    (charge_the_last, "charged"),
    (|profile| profile.frames[0].function = "nobody".to_owned(), "nobody who is known"),
    (|profile| profile.frames[0].line = 8, "line 7 expected"),
    (|profile| profile.conditions[0].wait_ns *= 0.5, "condition variable"),
    (|profile| profile.conditions.clear(), "condition variable ready: found 0"),
];

#[test]
fn each_wrong_figure_is_found() {
    let truth = truth();
    for (idx, (make_wrong, word)) in WRONGS.iter().enumerate() {
        let mut profile = perfect(&truth);
        make_wrong(&mut profile);
        let found = faults(&profile, &truth);
        assert!(found.iter().any(|fault| fault.contains(word)), "{idx}, {word}: {found:?}");
    }
}
