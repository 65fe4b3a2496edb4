//! What the writer and the reader of these files agree on.

use crate::profile::Noise;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names and units of a sample's values.
pub(super) const SAMPLE_TYPES: [(&str, &str); 8] = [
    ("contentions", "count"),
    ("delay", "nanoseconds"),
    ("held_contentions", "count"),
    ("held_delay", "nanoseconds"),
    ("acquisitions", "count"),
    ("hold_time", "nanoseconds"),
    ("cond_waits", "count"),
    ("cond_delay", "nanoseconds"),
];
/// Places of the counts in a sample's values; a time follows each.
pub(super) const WAITED: usize = 0;
pub(super) const HELD: usize = 2;
pub(super) const TAKEN: usize = 4;
pub(super) const CONDITION: usize = 6;
/// Keys of labels.
pub(super) const LOCK: &str = "lock";
pub(super) const CONDITION_NAME: &str = "condition";
pub(super) const PROCESS: &str = "process";
pub(super) const CAUSE: &str = "cause";
pub(super) const CALL: &str = "call";
pub(super) const OTHER: &str = "other";
/// Begins the comment that is for programs. pprof shows none that begins with the first character.
pub(super) const FOR_PROGRAMS: &str = "#ondeck-profile ";

/// What no sample can hold.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) version: u64,
    pub(super) command: Vec<String>,
    pub(super) cores: u32,
    pub(super) lock: String,
    pub(super) rate: u32,
    pub(super) locks: Vec<LockFacts>,
}

/// The same of a lock.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockFacts {
    pub(super) process: String,
    pub(super) name: String,
    /// Functions where it comes from, the innermost first.
    pub(super) origin: Vec<String>,
    pub(super) longest_ns: u64,
    /// The sum of the squares of its waits.
    pub(super) squares: f64,
    /// Files of earlier versions have none.
    pub(super) noise: Option<Noise>,
    /// See [`noise`](Self::noise).
    pub(super) sampling: Option<Noise>,
    /// How much waiting has which cause, in ns. Files of earlier versions have none.
    #[serde(default)]
    pub(super) causes: BTreeMap<String, f64>,
}
