//! What else the machine does while we measure. It is waited out while there is time for that, and told otherwise.
//!
//! Who uses our cores shows in the system's books ([`Load`]). Who uses the other half of a core that runs two threads,
//! or makes it clock lower, does not, least of all in a virtual machine. Whatever we measure then takes up to twice as
//! long, for a tenth of a second here and a second there. What shows it is how long a fixed amount of work takes
//! ([`Pace`]). So a measurement waits until that is as short as it usually can be, and measures again what did not end
//! so.
//!
//! The pace is asked for before and after, so a neighbour that came and went in between is not noticed. Nothing is chosen by
//! its outcome: the work of which the pace is asked is not the one that is measured.

use crate::busy_loops::BusyLoops;
use crate::execution::{Execution, Hardware};
use ondeck_core::Platform;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

/// If a unit of work takes so many times as long as it can, the machine is slow.
pub(crate) const SLOW: f64 = 1.15;
/// Part of the machine that others may use, or of the measurements that may be at another pace, before it is worth a warning.
const ACCEPTED: f64 = 0.05;
/// The system counts CPU time in steps of 10 ms, so shorter spans than this say nothing.
pub(crate) const SPAN_NS: u64 = 2_000_000_000;
/// The same for what is left at the end of a run, which had better be judged roughly than not at all.
pub(crate) const LAST_SPAN_NS: u64 = 500_000_000;

/// Compares what the machine did with what we did.
pub(crate) struct Load<'a> {
    since: Option<UsageSnapshot>,
    /// What is ours too.
    loops: &'a BusyLoops,
}

/// The books of both at one moment.
#[derive(Clone, Copy)]
struct UsageSnapshot {
    at_ns: u64,
    machine: MachineTime,
    ours_ns: u64,
}

impl UsageSnapshot {
    fn read(loops: &BusyLoops) -> Option<Self> {
        let ours_ns = Hardware::usage().cpu_ns + loops.cpu_ns();
        Some(UsageSnapshot { machine: machine_time()?, at_ns: Hardware::now_ns(), ours_ns })
    }

    /// What happened since `earlier` on a machine with `cores`, if it is worth telling.
    fn complaint(&self, earlier: &UsageSnapshot, cores: f64) -> Option<String> {
        let span_ns = (self.at_ns - earlier.at_ns) as f64;
        let ours = self.ours_ns - earlier.ours_ns;
        let busy = self.machine.busy_ns - earlier.machine.busy_ns;
        let others = busy.saturating_sub(ours) as f64 / span_ns;
        let stolen = (self.machine.stolen_ns - earlier.machine.stolen_ns) as f64 / span_ns;
        (others + stolen > ACCEPTED * cores).then(|| {
            format!(
                "for {:.1} s, other programs used {others:.2} of {cores} CPUs, and the hypervisor took {stolen:.2}: \
                 figures of that time are too low. Stop other programs, or run more rounds.",
                span_ns / 1e9
            )
        })
    }
}

impl<'a> Load<'a> {
    pub(crate) fn new(loops: &'a BusyLoops) -> Self {
        Load { since: UsageSnapshot::read(loops), loops }
    }

    /// A warning, if so much time has passed since the last one could be given, and others were busy in it.
    pub(crate) fn judge(&mut self, span_ns: u64) -> Option<String> {
        let earlier = self.since?;
        if Hardware::now_ns() - earlier.at_ns < span_ns {
            return None;
        }
        let now = UsageSnapshot::read(self.loops)?;
        self.since = Some(now);
        // SAFETY: asks for a number; no memory.
        let cores = u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1).max(1);
        now.complaint(&earlier, f64::from(cores))
    }
}

/// What the whole machine has done since it was started.
#[derive(Clone, Copy, Debug, Default)]
struct MachineTime {
    /// CPU time that went into anything at all, our own process included.
    busy_ns: u64,
    /// CPU time that the hypervisor gave to other machines although we could have used it.
    stolen_ns: u64,
}

/// What the machine has done; `None` where it cannot be known.
fn machine_time() -> Option<MachineTime> {
    // SAFETY: asks for a number; no memory.
    let ticks_per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&n| n > 0)?;
    parse_machine_time(&std::fs::read_to_string("/proc/stat").ok()?, 1_000_000_000 / ticks_per_s)
}

/// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn parse_machine_time(stat: &str, tick_ns: u64) -> Option<MachineTime> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let field = |index: usize| fields.get(index).copied();
    let busy = field(0)? + field(1)? + field(2)? + field(5)? + field(6)?;
    Some(MachineTime { busy_ns: busy * tick_ns, stolen_ns: field(7)? * tick_ns })
}

/// Units of work per probe of the pace, about 40 us, and probes of which the fastest counts: long enough for the clock,
/// short enough to fit between two interrupts.
const PROBE_UNITS: u32 = 100_000;
const PROBES: u32 = 4;

/// Nanoseconds that a unit of work takes now, on this core.
fn pace() -> f64 {
    let probe = || {
        let start = Hardware::ticks();
        Hardware::spend(PROBE_UNITS);
        Hardware::ticks().saturating_sub(start)
    };
    let fastest = (0..PROBES).map(|_| probe()).min().unwrap_or(0);
    fastest as f64 * Hardware::ns_per_tick() / f64::from(PROBE_UNITS)
}

/// CPUs that are asked, at most, from all over the machine.
const MOST_CPUS: usize = 16;
/// Of so many CPUs one may be slow. Of many, hardly ever all are fast.
const ONE_MAY_BE_SLOW_OF: usize = 8;
/// How long a CPU is asked until it is fast: one that was idle has to clock up.
const CLOCK_UP_NS: u64 = 2_000_000;
/// Between two looks.
const LOOK_AGAIN_NS: u64 = 2_000_000;
/// How long is looked at the beginning, to know how fast the CPUs can be.
pub(crate) const FIRST_LOOKS_NS: u64 = 500_000_000;
/// The fastest looks are not how fast a CPU usually can be, as it may clock higher for a moment: one in so many, and not more
/// than so many, or else a CPU that was slow for long would seem to be fast.
const ONE_IS_CHANCE_OF: usize = 10;
const MOST_CHANCES: usize = 20;
/// A pace that does not come for so long is not waited for.
const LONGEST_WAIT_NS: u64 = 5_000_000_000;

/// Asks a CPU, by its place, until a unit of work takes no longer than so many nanoseconds; what it takes, if the CPU can be
/// asked.
type Ask<'a> = Box<dyn FnMut(usize, f64) -> Option<f64> + 'a>;

/// Lets something be measured while the CPUs are as fast as they usually can be, as long as it has time to wait for that.
pub(crate) struct Pace<'a> {
    /// What was seen of each CPU that is asked, sorted. They differ where cores do.
    seen: Vec<Vec<f64>>,
    /// Nanoseconds that may still be spent on waiting, and on measuring again.
    left_ns: u64,
    /// The longest that a unit took when something was measured in vain.
    worst_ns: f64,
    ask: Ask<'a>,
    /// How many measurements there were, and how many of them found the machine at another pace.
    measured: usize,
    off_pace: usize,
    /// Waiting ends when this is true.
    stop: &'a AtomicBool,
}

/// What was measured, and whether the machine had the pace before and after.
pub(crate) struct PacedSample<T> {
    pub(crate) value: T,
    pub(crate) is_at_pace: bool,
}

impl<'a> Pace<'a> {
    /// Looks for `looks_ns` how fast the CPUs can be. It may wait for `left_ns`, or for what `ONDECK_PATIENCE_S` says if that
    /// is less.
    pub(crate) fn new(looks_ns: u64, left_ns: u64, stop: &'a AtomicBool) -> Self {
        let cores = cpus_to_ask();
        let seen = vec![Vec::new(); cores.len()];
        let ask: Ask = Box::new(move |place, until_ns| pace_on(cores[place], until_ns));
        let left_ns = left_ns.min(most_patience_ns());
        let mut pace = Pace { seen, left_ns, worst_ns: 0.0, ask, measured: 0, off_pace: 0, stop };
        let until_ns = Hardware::now_ns() + looks_ns;
        while Hardware::now_ns() < until_ns && !stop.load(Relaxed) {
            pace.look(|_| 0.0);
        }
        pace
    }

    /// Asks no CPU and waits for nothing, where loops beside the measurement are what makes CPUs slow.
    pub(crate) fn unasked(stop: &'a AtomicBool) -> Self {
        Pace { seen: Vec::new(), ..Pace::new(0, 0, stop) }
    }

    /// A complaint if the pace changed during the run.
    pub(crate) fn changed(&self) -> Option<String> {
        let usual_ns = self.seen.iter().filter_map(|seen| usual(seen)).reduce(f64::min)?;
        (self.off_pace as f64 > ACCEPTED * self.measured as f64).then(|| {
            format!(
                "the machine's own pace changed: in {} of {} measurements, a unit of work took up to {:.2} ns, and \
                 {usual_ns:.2} ns usually. They were repeated while there was time for it. The cause may be a busy neighbour on the same core, or the clock \
                 frequency. Trust ratios within a round more than single figures, and run more rounds.",
                self.off_pace, self.measured, self.worst_ns
            )
        })
    }

    /// Waits for the pace and measures, and does both again if the pace was lost meanwhile, until the time is over. `measure`
    /// is called once at least. What it gave last is given, and the first failure ends it.
    pub(crate) fn measure<T, E>(&mut self, mut measure: impl FnMut() -> Result<T, E>) -> Result<PacedSample<T>, E> {
        loop {
            let was_at_pace = self.wait();
            let began_ns = Hardware::now_ns();
            let value = measure()?;
            let is_at_pace = was_at_pace && self.is_at_pace();
            if is_at_pace || !was_at_pace || self.left_ns == 0 || self.stop.load(Relaxed) {
                self.measured += 1;
                self.off_pace += usize::from(!is_at_pace);
                return Ok(PacedSample { value, is_at_pace });
            }
            self.left_ns = self.left_ns.saturating_sub(Hardware::now_ns() - began_ns);
        }
    }

    /// Until the CPUs have the pace; false if the time is over before.
    fn wait(&mut self) -> bool {
        if self.is_at_pace() {
            return true;
        }
        let began_ns = Hardware::now_ns();
        let until_ns = began_ns + self.left_ns.min(LONGEST_WAIT_NS);
        let mut is_there = false;
        while !is_there && Hardware::now_ns() < until_ns && !self.stop.load(Relaxed) {
            Hardware::sleep_ns(LOOK_AGAIN_NS);
            is_there = self.is_at_pace();
        }
        self.left_ns = self.left_ns.saturating_sub(Hardware::now_ns() - began_ns);
        is_there
    }

    fn is_at_pace(&mut self) -> bool {
        let now = self.look(|seen| usual(seen).unwrap_or(0.0) * SLOW);
        let slow = now.iter().zip(&self.seen).filter(|(now, seen)| is_slow(**now, seen)).count();
        let is_at_pace = slow <= self.seen.len() / ONE_MAY_BE_SLOW_OF;
        if !is_at_pace {
            self.worst_ns = now.into_iter().flatten().fold(self.worst_ns, f64::max);
        }
        is_at_pace
    }

    /// Asks each CPU until it is as fast as `enough` says of what was seen of it.
    fn look(&mut self, enough: impl Fn(&[f64]) -> f64) -> Vec<Option<f64>> {
        let mut now = Vec::with_capacity(self.seen.len());
        for (place, seen) in self.seen.iter_mut().enumerate() {
            let ns = (self.ask)(place, enough(seen)).filter(|ns| *ns > 0.0);
            if let Some(ns) = ns {
                seen.insert(seen.partition_point(|earlier| *earlier < ns), ns);
            }
            now.push(ns);
        }
        now
    }
}

/// What a user of a machine that is never quiet allows.
fn most_patience_ns() -> u64 {
    let seconds = std::env::var("ONDECK_PATIENCE_S").ok().and_then(|text| text.parse::<u64>().ok());
    seconds.map_or(u64::MAX, |seconds| seconds.saturating_mul(1_000_000_000))
}

/// How fast the CPU usually can be of which so much was seen, sorted.
fn usual(seen: &[f64]) -> Option<f64> {
    seen.get((seen.len() / ONE_IS_CHANCE_OF).min(MOST_CHANCES)).copied()
}

fn is_slow(now: Option<f64>, seen: &[f64]) -> bool {
    now.zip(usual(seen)).is_some_and(|(now, usual)| now > usual * SLOW)
}

/// As many as may run at once, from all over those that we may use.
fn cpus_to_ask() -> Vec<u32> {
    let cores = Hardware::cores();
    let asked = cores.len().min(crate::execution::cpus() as usize).min(MOST_CPUS);
    (0..asked).map(|place| cores[place * cores.len() / asked]).collect()
}

/// What a unit of work takes on a CPU, that is asked until it takes no more than `enough_ns` or has had time to clock up.
fn pace_on(core: u32, enough_ns: f64) -> Option<f64> {
    let (go, start) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    // It starts when it is on its core. If it cannot be brought there, `go` is dropped, and it ends.
    let body = move || {
        if start.recv().is_ok() {
            let until_ns = Hardware::now_ns() + CLOCK_UP_NS;
            let mut least_ns = pace();
            while least_ns > enough_ns && Hardware::now_ns() < until_ns {
                least_ns = least_ns.min(pace());
            }
            let _ = answer.send(least_ns);
        }
    };
    let thread = Hardware::start_thread(Some(core), Box::new(body)).ok()?;
    let _ = go.send(());
    Hardware::join(thread);
    answers.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn a_changing_pace_is_told() {
        let mut pace = pace(0, &[1.0, 1.0, 1.0, 2.0, 1.0]);
        assert_eq!((measure(&mut pace), pace.changed()), ((1, true), None));
        assert_eq!(measure(&mut pace), (1, false));
        let text = pace.changed().unwrap();
        assert!(text.contains("in 1 of 2 measurements, a unit of work took up to 2.00 ns, and 1.00 ns"), "{text}");
    }

    fn books(at_s: u64, busy_s: f64, stolen_s: f64, ours_s: f64) -> UsageSnapshot {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        UsageSnapshot {
            at_ns: at_s * 1_000_000_000,
            machine: MachineTime { busy_ns: ns(busy_s), stolen_ns: ns(stolen_s) },
            ours_ns: ns(ours_s),
        }
    }

    #[test]
    fn our_own_load_is_no_noise() {
        assert_eq!(books(10, 20.0, 0.0, 20.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0), None);
        assert_eq!(books(10, 20.5, 0.4, 20.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0), None);
    }

    #[test]
    fn load_of_others_and_steal_are() {
        let text = books(10, 20.0, 0.0, 15.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0).unwrap();
        assert!(text.contains("other programs used 0.50 of 2 CPUs"), "{text}");
        assert!(books(10, 10.0, 1.5, 10.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0).is_some());
    }

    #[test]
    fn reads_the_books_of_the_machine() {
        let stat = "cpu  10 1 5 1000 7 2 3 4 0 0\ncpu0 10 1 5 1000 7 2 3 4 0 0\n";
        let time = parse_machine_time(stat, 10).unwrap();
        assert_eq!((time.busy_ns, time.stolen_ns), (210, 40));
        assert!(parse_machine_time("intr 5", 10).is_none());
    }

    const LONG_NS: u64 = 60_000_000_000;
    static GO_ON: AtomicBool = AtomicBool::new(false);
    static STOP: AtomicBool = AtomicBool::new(true);

    /// A machine with one CPU that usually takes 1 ns. It has these paces one look after the other, and the last one from
    /// then on.
    fn pace(left_ns: u64, paces: &[f64]) -> Pace<'_> {
        let mut looks = paces.iter();
        let mut last = f64::NAN;
        let ask = move |_, _| {
            last = looks.next().copied().unwrap_or(last);
            Some(last)
        };
        Pace {
            seen: vec![vec![1.0; 50]],
            left_ns,
            worst_ns: 0.0,
            ask: Box::new(ask),
            measured: 0,
            off_pace: 0,
            stop: &GO_ON,
        }
    }

    /// How often is measured, and whether the last time was at the pace.
    fn measure(pace: &mut Pace) -> (u32, bool) {
        let mut times = 0;
        let taken = pace.measure(|| {
            times += 1;
            Ok::<u32, Infallible>(times)
        });
        let Ok(PacedSample { value, is_at_pace }) = taken;
        assert_eq!(value, times, "the last one counts");
        (times, is_at_pace)
    }

    #[test]
    fn it_waits_for_the_pace_and_measures_again_if_that_is_lost() {
        assert_eq!(measure(&mut pace(LONG_NS, &[1.0, 1.0])), (1, true));
        assert_eq!(measure(&mut pace(LONG_NS, &[2.0, 2.0, 1.0, 1.1])), (1, true));
        assert_eq!(measure(&mut pace(LONG_NS, &[1.0, 2.0, 2.0, 1.0, 1.0])), (2, true));
        assert_eq!(measure(&mut pace(LONG_NS, &[1.1, 0.9])), (1, true), "faster than usual is fast");
    }

    #[test]
    fn without_time_it_measures_once() {
        assert_eq!(measure(&mut pace(0, &[2.0])), (1, false));
        assert_eq!(measure(&mut pace(0, &[2.0, 1.0])), (1, false), "it was slow before");
        assert_eq!(measure(&mut pace(0, &[1.0, 2.0])), (1, false), "it was slow after");
        assert_eq!(measure(&mut pace(0, &[1.0, 1.0])), (1, true));
    }

    #[test]
    fn time_runs_out() {
        let mut never = pace(3 * LOOK_AGAIN_NS, &[2.0]);
        let began_ns = Hardware::now_ns();
        assert_eq!(measure(&mut never), (1, false));
        assert!(Hardware::now_ns() - began_ns >= 3 * LOOK_AGAIN_NS);
        assert_eq!((never.left_ns, never.worst_ns), (0, 2.0));
        // What is measured in vain takes of it.
        let mut lost = pace(2 * LOOK_AGAIN_NS, &[1.0, 2.0, 1.0, 2.0]);
        let mut times = 0;
        let taken = lost.measure(|| {
            times += 1;
            Hardware::sleep_ns(2 * LOOK_AGAIN_NS);
            Ok::<(), Infallible>(())
        });
        assert!(!taken.unwrap().is_at_pace && lost.left_ns == 0 && times == 2);
        // What is measured at once takes nothing.
        let mut quiet = pace(7, &[1.0]);
        assert_eq!((measure(&mut quiet), quiet.left_ns), ((1, true), 7));
    }

    #[test]
    fn what_does_not_come_is_not_waited_for_again() {
        let mut never = pace(LONG_NS, &[2.0]);
        assert_eq!(measure(&mut never), (1, false));
        assert!((LONG_NS / 2..=LONG_NS - LONGEST_WAIT_NS).contains(&never.left_ns), "{}", never.left_ns);
    }

    #[test]
    fn a_signal_ends_the_waiting() {
        assert_eq!(measure(&mut Pace { stop: &STOP, ..pace(LONG_NS, &[2.0]) }), (1, false));
        assert_eq!(measure(&mut Pace { stop: &STOP, ..pace(LONG_NS, &[1.0, 2.0]) }), (1, false));
    }

    #[test]
    fn a_failure_ends_it() {
        let mut times = 0;
        let taken = pace(LONG_NS, &[1.0, 2.0]).measure(|| {
            times += 1;
            Err::<(), u32>(7)
        });
        assert!(matches!(taken, Err(7)) && times == 1);
    }

    #[test]
    fn what_is_usual_is_learned_of_each_cpu() {
        assert_eq!(usual(&[]), None);
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!([usual(&long[..50]), usual(&long)], [Some(5.0), Some(20.0)]);
        let mut pace = Pace { seen: vec![vec![1.0; 20], vec![3.0; 20]], ..pace(0, &[]) };
        pace.ask = Box::new(|place, _| Some([1.0, 3.0][place]));
        assert!(pace.is_at_pace(), "two kinds of cores");
        pace.ask = Box::new(|place, _| Some([1.0, 2.0][place]));
        let found = (0..2).map(|_| pace.is_at_pace()).collect::<Vec<bool>>();
        pace.ask = Box::new(|place, _| Some([1.0, 3.0][place]));
        assert_eq!((found, pace.is_at_pace()), (vec![true; 2], true), "two fast looks are chance");
        pace.ask = Box::new(|place, _| Some([1.0, 2.0][place]));
        pace.is_at_pace();
        pace.ask = Box::new(|place, _| Some([1.0, 3.0][place]));
        assert!(!pace.is_at_pace(), "three of 25 are not");
    }

    #[test]
    fn cpus_that_cannot_be_asked_or_are_few_do_not_count() {
        let with = |answers: &'static [Option<f64>]| {
            let ask: Ask = Box::new(move |place, _| answers[place]);
            Pace { seen: vec![vec![1.0; 20]; answers.len()], ask, ..pace(0, &[]) }.is_at_pace()
        };
        assert!(with(&[None, Some(1.0)]) && with(&[]));
        assert!(!with(&[Some(2.0), Some(1.0)]));
        const ONE_OF_8: [Option<f64>; 8] =
            [Some(2.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0)];
        const TWO_OF_8: [Option<f64>; 8] =
            [Some(2.0), Some(2.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0)];
        assert!(with(&ONE_OF_8) && !with(&TWO_OF_8));
        // A clock that was set back says nothing.
        let mut back = pace(0, &[0.0, 0.0, 0.0, 0.0, 1.0]);
        back.seen = vec![vec![1.0; 20]];
        assert!((0..5).all(|_| back.is_at_pace()));
    }

    #[test]
    fn every_machine_has_a_pace() {
        let pace = Pace::new(FIRST_LOOKS_NS, 0, &GO_ON);
        assert_eq!(pace.seen.len(), cpus_to_ask().len());
        assert!(pace.seen.iter().all(|seen| usual(seen).is_none_or(|ns| ns.is_finite() && ns > 0.0)));
        assert!(pace.seen.iter().any(|seen| !seen.is_empty()) || cpus_to_ask().is_empty());
        assert!(pace_on(Hardware::cores()[0], 0.0).is_some());
    }
}
