//! Notices that somebody else uses the machine while we measure.

use crate::world::{MachineTime, Usage, World};
use std::marker::PhantomData;

/// Part of the machine that others may use before it is worth a warning.
const ACCEPTED: f64 = 0.05;
/// The system counts CPU time in steps of 10 ms, so shorter spans than this say nothing.
const SPAN_NS: u64 = 2_000_000_000;
/// The same for what is left at the end of a run, which had better be judged roughly than not at all.
const LAST_SPAN_NS: u64 = 500_000_000;

/// Compares what the machine did with what we did.
pub(crate) struct Noise<W> {
    since: Option<Books>,
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
                "for {:.1} s, others used {others:.2} of {cores} CPUs and the hypervisor took {stolen:.2}: \
                 figures of that time are too low; stop what else is running, or repeat with more rounds",
                span_ns / 1e9
            )
        })
    }
}

impl<W: World> Noise<W> {
    pub(crate) fn new() -> Self {
        Noise { since: Books::read::<W>(), world: PhantomData }
    }

    /// A warning, if enough time has passed to judge and there was noise in it.
    pub(crate) fn heard(&mut self) -> Option<String> {
        self.judge(SPAN_NS)
    }

    /// The same at the end of a run, for what is left.
    pub(crate) fn heard_last(&mut self) -> Option<String> {
        self.judge(LAST_SPAN_NS)
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(text.contains("others used 0.50 of 2 CPUs"), "{text}");
        assert!(books(10, 10.0, 1.5, 10.0).complaint(&books(0, 0.0, 0.0, 0.0), 2.0).is_some());
    }
}
