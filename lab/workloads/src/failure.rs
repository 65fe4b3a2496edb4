//! Why a run ended early, in one line that names the lock.

use std::fmt;

/// Why a run gave no result, or stopped giving results.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The plan asks for something that does not exist or makes no sense; the text says what is accepted.
    Plan(String),
    /// A point of it has failed.
    Point {
        /// The workload, with its parameters.
        workload: String,
        /// The lock.
        lock: String,
        /// How many threads there were, or were wanted.
        threads: u32,
        /// How.
        fault: Fault,
    },
}

/// How the measurement of a point has failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The system would not start so many threads.
    CannotStart {
        /// How many were started.
        started: u32,
        /// What the system said.
        reason: String,
    },
    /// The lock let two threads in at once.
    LostUpdate {
        /// Updates that the threads made.
        expected: u64,
        /// Updates that were left of them.
        seen: u64,
    },
    /// Nobody moved for too long. The threads still exist and cannot be ended; the process should.
    Stuck {
        /// For how long nothing moved.
        seconds: f64,
        /// What was seen.
        detail: String,
    },
    /// The simulation could not go on.
    Simulation(ondeck_sim::Failure),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (workload, lock, threads, fault) = match self {
            Failure::Plan(what) => return f.write_str(what),
            Failure::Point { workload, lock, threads, fault } => (workload, lock, threads, fault),
        };
        match fault {
            Fault::CannotStart { started, reason } => {
                write!(f, "{workload} with {lock}: only {started} of {threads} threads could be started: {reason}")
            }
            Fault::LostUpdate { expected, seen } => write!(
                f,
                "{lock} lost updates in {workload} at {threads} threads: {expected} were made, {seen} are there; \
                 two threads were inside at once"
            ),
            Fault::Stuck { seconds, detail } => write!(
                f,
                "{lock} is stuck in {workload} at {threads} threads: no progress for {seconds:.1} s; {detail}"
            ),
            Fault::Simulation(failure) => write!(f, "{workload} with {lock} at {threads} threads: {failure}"),
        }
    }
}

impl std::error::Error for Failure {}
