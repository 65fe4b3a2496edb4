//! What the scheduler knows of a CPU.

use super::recent_share::RecentShare;
use crate::machine::{Cpu, Machine};

/// What threads have had is counted from here on: far enough from 0 that a lead never has to be cut there.
pub(super) const FIRST_VRUNTIME: u64 = 1 << 60;

/// Why a thread is to lose its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreemptionCause {
    /// It has had its slice: it goes behind all that wait.
    SliceOver,
    /// Another one is to go first: under [`Policy::Quantum`] it is the next after that, with what is left of its slice.
    Preempted,
}

/// A hardware thread, as the scheduler sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuState {
    pub(crate) core: u32,
    pub(crate) kind: u32,
    pub(super) node: u32,
    pub(super) rank: u32,
    /// The other hardware thread of the core.
    pub(super) sibling: Option<u32>,
    /// Who has it.
    pub(crate) running: Option<u32>,
    /// A woken thread is on its way to it.
    pub(super) is_expected: bool,
    /// Who waits for it, in the order in which they came.
    pub(super) queue: Vec<u32>,
    /// Who sleeps, and counts until its debts are paid.
    pub(super) in_debt: Vec<u32>,
    /// Looks of this CPU, idle, that found only threads that had run just before.
    pub(super) n_looks_in_vain: u32,
    /// How busy it was of late.
    pub(super) busy: RecentShare,
    /// The thread that has it is to lose it as soon as its request is answered.
    pub(super) must_switch: Option<PreemptionCause>,
    pub(super) idle_since: u64,
    /// The least that its threads have had, when it was last looked at. Lead and lag are counted from it; whoever comes for
    /// the first time starts with it.
    pub(super) least_vruntime: u64,
    /// The thread that has it does nothing but pause until then.
    pub(super) pausing_until: u64,
}

impl CpuState {
    pub(crate) fn of(machine: &Machine) -> Vec<CpuState> {
        let sibling = |index: usize| {
            let same = |other: &usize| *other != index && machine.cpus[*other].core == machine.cpus[index].core;
            (0..machine.cpus.len()).find(same).map(|other| other as u32)
        };
        let state = |(index, cpu): (usize, &Cpu)| CpuState {
            core: cpu.core,
            kind: cpu.kind,
            node: cpu.node,
            rank: cpu.rank,
            sibling: sibling(index),
            least_vruntime: FIRST_VRUNTIME,
            ..CpuState::default()
        };
        machine.cpus.iter().enumerate().map(state).collect()
    }

    /// Whether others count beside the thread that has it: they wait, or sleep in debt.
    pub(super) fn has_others(&self) -> bool {
        !self.queue.is_empty() || !self.in_debt.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && !self.is_expected && self.queue.is_empty()
    }
}
