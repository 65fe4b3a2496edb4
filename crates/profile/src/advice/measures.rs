//! What advice is judged by: figures that follow from those of a lock, and the thresholds.

use crate::{Bar, Lock, Profile};
use ondeck_lab::predict::{KEPT, Seen};
use std::collections::BTreeMap;

/// Part of the time that a lock's threads could run, below which waiting for it does not matter: if all of it went away,
/// the program would gain less than two of its runs differ by.
pub(super) const QUIET: f64 = 0.01;

/// Samples below which nothing is said of lengths: the mean of twenty lengths that vary as much as they are long is off by
/// a fifth, and that of fewer says nothing.
pub(super) const SAMPLES: f64 = 20.0;

/// Sections of at least so many ns are long. In the simulator, with as many threads as cores that want nothing but the
/// lock, ours is acquired 1.1 to 1.3 times as often as glibc's with sections of 30 us, 1.03 times with 100 us, and as often
/// with 300 us: a better lock does not help any more, only a shorter section.
pub(super) const LONG_NS: f64 = 100e3;

/// The part of a whole that is most of it.
pub(super) const MOST: f64 = 0.5;

/// Most threads that are simulated: twice the cores of the largest machine. A program that starts a thread for each task
/// has shown more, but not at once.
const MOST_THREADS: u32 = 128;

/// The lock with which each hold is charged by itself. With ours, a charge is for several short ones now and then.
const EXACT: &str = "glibc";

/// What follows from a lock's figures.
pub(super) struct Measures<'a> {
    pub(super) lock: &'a Lock,
    /// How long its process was seen, in ns.
    pub(super) life_ns: f64,
    /// Cores that could run the program.
    pub(super) cores: u32,
    /// Threads that use it at once, as far as they can be simulated.
    pub(super) threads: u32,
    /// One of so many acquisitions was looked at.
    pub(super) rate: u32,
    /// The mean hold without the longest hundredth: whose holder loses its core is not held up by its section.
    pub(super) section_ns: Option<f64>,
    /// Holds that threads waited for lasted so long at least, on average.
    waited_for_ns: Option<f64>,
}

impl Measures<'_> {
    pub(super) fn of<'a>(lock: &'a Lock, profile: &Profile) -> Measures<'a> {
        Measures {
            lock,
            life_ns: life_ns(profile, lock.process),
            cores: profile.cores.max(1),
            threads: threads(lock),
            rate: profile.rate.max(1),
            section_ns: section_ns(lock),
            waited_for_ns: if profile.lock == EXACT { waited_for_ns(lock) } else { None },
        }
    }

    /// Acquisitions that were looked at.
    pub(super) fn samples(&self) -> f64 {
        self.lock.acquisitions / f64::from(self.rate)
    }

    /// How much of the time that its threads could run was spent waiting: more of them than cores cannot run, so that
    /// many idle threads do not make the waiting of a few look small. Above 1 where threads wait that could not have run.
    pub(super) fn share(&self) -> f64 {
        let runnable_ns = f64::from(self.threads.min(self.cores)) * self.life_ns;
        if self.lock.wait_ns > 0.0 { self.lock.wait_ns / runnable_ns } else { 0.0 }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.share() < QUIET
    }

    /// Whether there are samples enough of how long it is held.
    pub(super) fn is_known(&self) -> bool {
        self.samples() >= SAMPLES && self.section_ns.is_some()
    }

    /// Whether sections are short, which is when a better lock can help.
    pub(super) fn is_short(&self) -> bool {
        self.section_ns.is_some_and(|ns| ns < LONG_NS)
    }

    /// Whether the holds that threads waited for were long, whatever the others were. These were recorded, each of them, also
    /// where no sample was taken.
    pub(super) fn waits_for_long(&self) -> bool {
        self.waited_for_ns.is_some_and(|ns| ns >= LONG_NS)
    }

    /// What 99 of 100 holds do not exceed.
    pub(super) fn most_holds_ns(&self) -> Option<f64> {
        self.lock.hold_histogram.quantile(KEPT)
    }

    /// See the field; 0 where it is not known.
    pub(super) fn waited_for_ns(&self) -> f64 {
        self.waited_for_ns.unwrap_or_default()
    }

    /// The part of the waiting in which it was free.
    pub(super) fn free(&self) -> f64 {
        if self.lock.wait_ns > 0.0 { self.lock.handing_on_ns / self.lock.wait_ns } else { 0.0 }
    }

    pub(super) fn is_mostly_free(&self) -> bool {
        self.free() >= MOST
    }

    pub(super) fn shares_cores(&self) -> bool {
        self.threads > self.cores
    }

    /// Threads that waited at a time, on average.
    pub(super) fn waiting(&self) -> f64 {
        self.lock.wait_ns / self.life_ns
    }

    /// Acquisitions a second.
    pub(super) fn per_s(&self) -> f64 {
        self.lock.acquisitions / self.life_ns * 1e9
    }

    /// What the simulator is to find the sections of; `None` without any, and without time.
    pub(super) fn seen(&self) -> Option<Seen> {
        let Lock { acquisitions, waits, wait_ns, .. } = *self.lock;
        let section_ns = self.section_ns?;
        let turn_ns = f64::from(self.threads) * self.life_ns / acquisitions;
        let (waited, wait_ns) = (waits / acquisitions, wait_ns / acquisitions);
        // One very long hold that was looked at by chance stands for so many that all time would be inside.
        let outside_ns = (turn_ns - section_ns - wait_ns).max(0.0);
        let seen = Seen { section_ns, waited, wait_ns, outside_ns, turn_ns };
        (acquisitions > 0.0 && self.life_ns > 0.0).then_some(seen)
    }
}

/// The waiting for all locks of a program, and the time in which its threads could have run.
pub(super) struct Program {
    /// Threads of its processes that use a lock, as far as one lock has shown them.
    pub(super) threads: u32,
    wait_ns: f64,
    runnable_ns: f64,
    life_ns: f64,
}

impl Program {
    /// Processes without a lock count for nothing: a shell that waits for its child would make the child's waiting look
    /// small.
    pub(super) fn of(profile: &Profile) -> Program {
        let mut of_processes: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for lock in &profile.locks {
            let (wait_ns, most) = of_processes.entry(lock.process).or_default();
            *wait_ns += lock.wait_ns;
            *most = threads(lock).max(*most);
        }
        let mut program = Program { threads: 0, wait_ns: 0.0, runnable_ns: 0.0, life_ns: 0.0 };
        for (process, (wait_ns, threads)) in of_processes {
            let life_ns = life_ns(profile, process);
            program.wait_ns += wait_ns;
            program.runnable_ns += f64::from(threads.min(profile.cores.max(1))) * life_ns;
            program.threads += threads;
            program.life_ns = program.life_ns.max(life_ns);
        }
        program
    }

    /// As [`Measures::share`], of all locks.
    pub(super) fn share(&self) -> f64 {
        if self.wait_ns > 0.0 { self.wait_ns / self.runnable_ns } else { 0.0 }
    }

    /// Threads that waited at a time, on average.
    pub(super) fn waiting(&self) -> f64 {
        if self.wait_ns > 0.0 { self.wait_ns / self.life_ns } else { 0.0 }
    }
}

/// How long a process was seen, in ns.
fn life_ns(profile: &Profile, process: u32) -> f64 {
    let process = profile.processes.get(process as usize);
    let seconds = process.map(|process| process.to - process.from).filter(|seconds| *seconds > 0.0);
    seconds.unwrap_or(profile.seconds) * 1e9
}

/// Threads that use a lock at once. Threads that no sample has shown may have been seen waiting. While the lock is free,
/// all of them may be.
fn threads(lock: &Lock) -> u32 {
    lock.threads.max(lock.most_waiting).clamp(1, MOST_THREADS)
}

/// The mean hold without the longest hundredth. The histogram says how much smaller that is than with it; the mean itself
/// comes from sums, which know single holds.
fn section_ns(lock: &Lock) -> Option<f64> {
    let mean = lock.mean_hold_ns()?;
    let bars = &lock.hold_histogram.0;
    let total: f64 = bars.iter().map(|bar| bar.count).sum();
    let mut left = KEPT * total;
    let (mut count, mut sum, mut all) = (0.0, 0.0, 0.0);
    for bar in bars {
        let kept = bar.count.min(left);
        left -= kept;
        count += kept;
        sum += kept * middle(bar);
        all += held(bar);
    }
    // Without bars the mean is all that is known.
    Some(if all > 0.0 && count > 0.0 { mean * (sum / count) / (all / total) } else { mean })
}

/// See [`Measures::waited_for_ns`]: a hold is charged for each of its instants as often as threads wait then.
fn waited_for_ns(lock: &Lock) -> Option<f64> {
    let (count, ns) = lock.holders.iter().fold((0.0, 0.0), |(count, ns), site| (count + site.count, ns + site.ns));
    (count > 0.0).then(|| ns / count / f64::from(lock.most_waiting.max(1)))
}

/// About how long the durations of a bar are together.
fn held(bar: &Bar) -> f64 {
    bar.count * middle(bar)
}

/// About how long the durations of a bar are. The last one may have no end.
fn middle(bar: &Bar) -> f64 {
    let to = if bar.from > 0 { bar.to.min(bar.from.saturating_mul(2)) } else { bar.to };
    (bar.from as f64 + to as f64) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_without_an_end_has_a_middle() {
        assert_eq!(middle(&Bar { from: 1024, to: u64::MAX, count: 1.0 }), 1536.0);
        assert_eq!(middle(&Bar { from: 0, to: 64, count: 1.0 }), 32.0);
        assert!(middle(&Bar { from: u64::MAX - 1, to: u64::MAX, count: 1.0 }).is_finite());
    }
}
