//! What a run is asked for, and what it gives.

use crate::timeline::Timeline;
use std::fmt;

/// What a run is to be like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Whether a [`Timeline`] is kept.
    pub record: bool,
}

/// What a run has given.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// What the first thread returned.
    pub value: R,
    /// Hash of every operation with its time and thread: the same for the same machine, seed and program.
    pub trace_hash: u64,
    /// How much time has passed in the simulation.
    pub virtual_ps: u64,
    /// Atomic operations that were made.
    pub atomics: u64,
    /// What happened, if it was to be recorded.
    pub timeline: Option<Timeline>,
}

/// Why a run has not ended as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Every thread sleeps, and nothing will wake one: who sleeps where.
    Deadlock(String),
    /// A thread has panicked.
    Panicked(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Deadlock(text) => write!(f, "deadlock: {text}"),
            Failure::Panicked(text) => write!(f, "a simulated thread panicked: {text}"),
        }
    }
}

impl std::error::Error for Failure {}
