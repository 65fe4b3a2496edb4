//! Where the time of the threads has gone.

use std::ops::Sub;

/// Time of all threads by what it was spent on, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBreakdown {
    /// Work, loads and stores that found their line, reading clocks.
    pub work_ps: u64,
    /// Lines on their way between cores.
    pub transfer_ps: u64,
    /// Waiting for lines that were busy with somebody else's request.
    pub queue_ps: u64,
    /// Pauses.
    pub pause_ps: u64,
    /// System calls, and switching threads.
    pub kernel_ps: u64,
    /// Ready to run, without a CPU.
    pub ready_ps: u64,
    /// From a wake until the woken thread runs, where a CPU was free.
    pub waking_ps: u64,
    /// Asleep.
    pub asleep_ps: u64,
}

impl Sub for TimeBreakdown {
    type Output = TimeBreakdown;

    fn sub(self, earlier: TimeBreakdown) -> TimeBreakdown {
        TimeBreakdown {
            work_ps: self.work_ps - earlier.work_ps,
            transfer_ps: self.transfer_ps - earlier.transfer_ps,
            queue_ps: self.queue_ps - earlier.queue_ps,
            pause_ps: self.pause_ps - earlier.pause_ps,
            kernel_ps: self.kernel_ps - earlier.kernel_ps,
            ready_ps: self.ready_ps - earlier.ready_ps,
            waking_ps: self.waking_ps - earlier.waking_ps,
            asleep_ps: self.asleep_ps - earlier.asleep_ps,
        }
    }
}
