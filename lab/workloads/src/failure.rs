//! Why a run ended early, in one line that names the lock.

use std::fmt;

/// Why a run gave no result, or stopped giving results.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The plan asks for something that does not exist or makes no sense; the text says what is accepted.
    Plan(String),
    /// The system would not start so many threads.
    CannotStart {
        /// The workload, with its parameters.
        workload: String,
        /// The lock.
        lock: String,
        /// How many threads were wanted.
        threads: u32,
        /// How many were started.
        started: u32,
        /// What the system said.
        reason: String,
    },
    /// The lock let two threads in at once.
    LostUpdate {
        /// The workload, with its parameters.
        workload: String,
        /// The lock.
        lock: String,
        /// How many threads there were.
        threads: u32,
        /// Updates that the threads made.
        expected: u64,
        /// Updates that were left of them.
        seen: u64,
    },
    /// Nobody moved for too long. The threads still exist and cannot be ended; the process should.
    Stuck {
        /// The workload, with its parameters.
        workload: String,
        /// The lock.
        lock: String,
        /// How many threads there were.
        threads: u32,
        /// For how long nothing moved.
        seconds: f64,
        /// What was seen.
        detail: String,
    },
    /// The simulation could not go on.
    Simulation {
        /// The workload, with its parameters.
        workload: String,
        /// The lock.
        lock: String,
        /// How many threads there were.
        threads: u32,
        /// Why not.
        failure: ondeck_sim::Failure,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Plan(what) => f.write_str(what),
            Failure::CannotStart { workload, lock, threads, started, reason } => {
                write!(f, "{workload} with {lock}: only {started} of {threads} threads could be started: {reason}")
            }
            Failure::LostUpdate { workload, lock, threads, expected, seen } => write!(
                f,
                "{lock} lost updates in {workload} at {threads} threads: {expected} were made, {seen} are there; \
                 two threads were inside at once"
            ),
            Failure::Stuck { workload, lock, threads, seconds, detail } => {
                write!(
                    f,
                    "{lock} is stuck in {workload} at {threads} threads: no progress for {seconds:.1} s; {detail}"
                )
            }
            Failure::Simulation { workload, lock, threads, failure } => {
                write!(f, "{workload} with {lock} at {threads} threads: {failure}")
            }
        }
    }
}

impl std::error::Error for Failure {}
