//! What the time in the kernel is: about as long as the machine says, and not the same each time.

use super::{Engine, OBSERVER};

impl Engine {
    /// The running thread enters the kernel.
    pub(crate) fn enter_kernel(&mut self) {
        if self.current != OBSERVER {
            self.spend_kernel(self.machine.os.syscall_ps.into());
        }
    }

    /// What a thread's part of a system call takes this time.
    pub(super) fn about_in_kernel(&mut self, thread: u32, ps: u64) -> u64 {
        let jitter = self.machine.os.kernel_jitter;
        self.threads[thread as usize].kernel.about(ps, jitter)
    }

    /// The running thread is in the kernel for about so long.
    #[inline]
    pub(crate) fn spend_kernel(&mut self, ps: u64) {
        let ps = self.about_in_kernel(self.current, ps);
        let thread = &mut self.threads[self.current as usize];
        thread.clock += ps;
        thread.ahead.ends();
    }

    /// How long an idle CPU takes to run a woken thread: longer the longer it was idle.
    pub(super) fn wake_latency(&mut self, thread: u32, cpu: u32, at: u64) -> u64 {
        let os = &self.machine.os;
        let idle = at.saturating_sub(self.cpus[cpu as usize].idle_since);
        let doublings = (idle / u64::from(os.idle_ps.max(1)) + 1).ilog2();
        let deeper = (u64::from(doublings) * u64::from(os.wake_deeper_ps)).min(os.wake_deepest_ps.into());
        let latency = u64::from(os.wake_latency_ps) + deeper;
        self.threads[thread as usize].kernel.about(latency, os.wake_jitter)
    }
}
