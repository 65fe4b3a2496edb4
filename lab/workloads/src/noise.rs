//! Notices that somebody else uses the machine while we measure.
//!
//! Who uses our cores shows in the system's books. Who uses the other half of a core that runs two threads, or makes it
//! clock lower, does not, least of all in a virtual machine; it shows in how long a fixed amount of work takes.

use crate::world::{MachineTime, Usage, World};
use ondeck_report::noise::{PACE_CHANGED, SLOW, TOO_LOW};
use std::marker::PhantomData;

/// Part of the machine that others may use before it is worth a warning.
const ACCEPTED: f64 = 0.05;
/// The system counts CPU time in steps of 10 ms, so shorter spans than this say nothing.
const SPAN_NS: u64 = 2_000_000_000;
/// The same for what is left at the end of a run, which had better be judged roughly than not at all.
const LAST_SPAN_NS: u64 = 500_000_000;

/// Units of work per probe of the pace, about 40 us, and probes of which the fastest counts: long enough for the clock,
/// short enough to fit between two interrupts.
const PROBE_UNITS: u32 = 100_000;
const PROBES: u32 = 4;

/// Compares what the machine did with what we did, and its pace now with its pace before.
pub(crate) struct Noise<W> {
    since: Option<Books>,
    /// Nanoseconds per unit of work, before the first point and after each.
    paces: Vec<f64>,
    world: PhantomData<W>,
}

/// The books of both at one moment.
#[derive(Clone, Copy)]
struct Books {
    at_ns: u64,
    machine: MachineTime,
    ours: Usage,
}

impl Books {
    fn read<W: World>() -> Option<Self> {
        Some(Books { machine: W::machine_time()?, at_ns: W::now_ns(), ours: W::usage() })
    }

    /// What happened since `earlier` on a machine with `cores`, if it is worth telling.
    fn complaint(&self, earlier: &Books, cores: f64) -> Option<String> {
        let span_ns = (self.at_ns - earlier.at_ns) as f64;
        let ours = self.ours.cpu_ns - earlier.ours.cpu_ns;
        let busy = self.machine.busy_ns - earlier.machine.busy_ns;
        let others = busy.saturating_sub(ours) as f64 / span_ns;
        let stolen = (self.machine.stolen_ns - earlier.machine.stolen_ns) as f64 / span_ns;
        (others + stolen > ACCEPTED * cores).then(|| {
            format!(
                "for {:.1} s, other programs used {others:.2} of {cores} CPUs, and the hypervisor took {stolen:.2}: \
                 {TOO_LOW}. Stop other programs, or run more rounds.",
                span_ns / 1e9
            )
        })
    }
}

impl<W: World> Noise<W> {
    pub(crate) fn new() -> Self {
        Noise { since: Books::read::<W>(), paces: vec![pace::<W>()], world: PhantomData }
    }

    /// To be called after each point: a warning, if enough time has passed to judge and others were busy in it.
    pub(crate) fn after_point(&mut self) -> Option<String> {
        self.paces.push(pace::<W>());
        self.judge(SPAN_NS)
    }

    /// To be called at the end of a run: warnings about what was not judged yet, and about the run as a whole.
    pub(crate) fn at_end(&mut self) -> impl Iterator<Item = String> {
        let load = self.judge(LAST_SPAN_NS);
        load.into_iter().chain(uneven(&self.paces))
    }

    fn judge(&mut self, span_ns: u64) -> Option<String> {
        let earlier = self.since?;
        if W::now_ns() - earlier.at_ns < span_ns {
            return None;
        }
        let now = Books::read::<W>()?;
        self.since = Some(now);
        now.complaint(&earlier, f64::from(W::machine_cores()))
    }
}

/// Nanoseconds that a unit of work takes now, on this core.
pub(crate) fn pace<W: World>() -> f64 {
    let probe = || {
        let start = W::ticks();
        W::spend(PROBE_UNITS);
        W::ticks().saturating_sub(start)
    };
    let fastest = (0..PROBES).map(|_| probe()).min().unwrap_or(0);
    fastest as f64 * W::ns_per_tick() / f64::from(PROBE_UNITS)
}

/// A complaint if the pace changed during the run.
fn uneven(paces: &[f64]) -> Option<String> {
    let best = paces.iter().copied().fold(f64::INFINITY, f64::min);
    let worst = paces.iter().copied().fold(0.0, f64::max);
    let slow = paces.iter().filter(|&&pace| pace > best * SLOW).count();
    (slow as f64 > ACCEPTED * paces.len() as f64).then(|| {
        format!(
            "{PACE_CHANGED}: a unit of work took {best:.2} to {worst:.2} ns, in {slow} of {} probes more than {:.0} % above \
             the best. The cause may be a busy neighbour on the same core, or the clock frequency. Trust ratios within a \
             round more than single figures, and run more rounds.",
            paces.len(),
            (SLOW - 1.0) * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_report::noise::is_noise;

    #[test]
    fn a_changing_pace_is_told() {
        assert_eq!(uneven(&[0.4, 0.42, 0.41, 0.40]), None);
        let text = uneven(&[0.4, 0.42, 0.8, 0.40]).unwrap();
        assert!(text.contains("0.40 to 0.80 ns, in 1 of 4 probes") && is_noise(&text), "{text}");
    }

    fn books(at_s: u64, busy_s: f64, stolen_s: f64, ours_s: f64) -> Books {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Books {
            at_ns: at_s * 1_000_000_000,
            machine: MachineTime { busy_ns: ns(busy_s), stolen_ns: ns(stolen_s) },
            ours: Usage { cpu_ns: ns(ours_s), ctx_switches: 0 },
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
        assert!(text.contains("other programs used 0.50 of 2 CPUs") && is_noise(&text), "{text}");
        assert!(!is_noise("handoff-slow: std cannot tell whether a thread sleeps; the holder waits 100 us instead"));
        assert!(books(10, 10.0, 1.5, 10.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0).is_some());
    }
}
