//! The run that is recorded.

use crate::profile::{Profile, VERSION};

pub(crate) const SNAPSHOT: &str =
    "a snapshot: it has what happened since the one before. Its timelines begin with the run";

/// What is known of the run beside its recordings.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it was started, in ns since 1970.
    pub started_realtime_ns: u64,
    /// The same instant by the monotonic clock.
    pub started_ns: u64,
    /// Cores that could run it.
    pub cores: u32,
}

impl Run {
    /// A profile of the time between two instants, which has nothing in it yet.
    pub(crate) fn profile(&self, from_ns: u64, to_ns: u64) -> Profile {
        Profile {
            version: VERSION,
            command: self.command.clone(),
            started_at: self.started_realtime_ns as f64 / 1e9,
            seconds: to_ns.saturating_sub(from_ns) as f64 / 1e9,
            cores: self.cores,
            ..Profile::default()
        }
    }
}
