//! The run that is recorded.

/// What is known of the run beside its recordings.
#[derive(Clone, Debug)]
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
