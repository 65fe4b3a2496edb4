//! Windows and macOS: threads have the CPU in turn, those that were woken before the others.
//!
//! A thread that is always behind others is found by the balance set manager of Windows, which looks every second and
//! raises the priority of threads that have been ready for about four (Windows Internals): here such a thread is the
//! next one, and has its turn undisturbed.

use super::Engine;
use crate::machine::Policy;

/// How often the system looks for threads that have waited for too long.
const LOOK_PS: u64 = 1_000_000_000_000;

impl Engine {
    /// Who of the queue, which is not `but`, is next: who has starved, who was woken, who came first.
    pub(super) fn next_in_turn(&self, cpu: u32, but: Option<u32>, starved_ps: u64) -> Option<u32> {
        let waiting = || self.cpus[cpu as usize].queue.iter().copied().filter(|thread| Some(*thread) != but);
        let starved = waiting().filter(|&thread| self.has_starved(thread, starved_ps));
        let starved = starved.min_by_key(|&thread| self.threads[thread as usize].off_since);
        let boosted = || waiting().find(|&thread| self.threads[thread as usize].is_boosted);
        starved.or_else(boosted).or_else(|| waiting().next())
    }

    /// Whether the thread had been ready for so long when the system looked the last time.
    fn has_starved(&self, thread: u32, starved_ps: u64) -> bool {
        let looked_at = self.now - self.now % LOOK_PS;
        starved_ps > 0 && self.threads[thread as usize].off_since + starved_ps <= looked_at
    }

    /// A thread that has starved and is about to run keeps the CPU against those that are woken.
    pub(super) fn boost_starved(&mut self, thread: u32) {
        if let Policy::Quantum { starved_ps, .. } = self.machine.os.policy
            && self.has_starved(thread, starved_ps)
        {
            self.threads[thread as usize].is_boosted = true;
        }
    }
}
