use crate::choice::{self, NotifyArg};
use clap::Args;

/// The parameters of the workload `pool`.
#[derive(Debug, Default, Args)]
pub(crate) struct PoolArgs {
    /// Workload pool: jobs that are posted in a row [default: 4]
    ///
    /// A poster puts jobs into a queue, under a mutex, and notifies one worker for each. --threads is the number of
    /// workers, which wait for jobs with a condition variable. The rows `dispatch` are about the time from the start of
    /// a burst until a worker has the job, and the rows `burst` about the time until the last job of a burst is done.
    ///
    /// It needs a lock with a condition variable: ondeck, std, parking-lot, parking-lot-012, pthread or
    /// pthread-adaptive. It does not run in `ondeck sim`.
    #[arg(long, value_name = "N", value_parser = choice::burst, allow_negative_numbers = true)]
    pub(crate) burst: Option<u32>,

    /// Workload pool: microseconds of work in a job [default: 5]
    #[arg(long, value_name = "US", value_parser = choice::work_us, allow_negative_numbers = true)]
    pub(crate) work: Option<u32>,

    /// Workload pool: microseconds from the start of a burst to the start of the next [default: 200]
    #[arg(long, value_name = "US", value_parser = choice::gap_us, allow_negative_numbers = true)]
    pub(crate) gap: Option<u32>,

    /// Workload pool: whether a worker is notified under the mutex or after it [default: after]
    #[arg(long, value_enum)]
    pub(crate) notify: Option<NotifyArg>,
}

impl PoolArgs {
    /// Whether one of them is there.
    pub(crate) fn is_given(&self) -> bool {
        self.burst.or(self.work).or(self.gap).is_some() || self.notify.is_some()
    }
}
