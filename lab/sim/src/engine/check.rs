//! What must be true of threads and CPUs whenever nothing is in the middle of happening.

use super::Engine;
use super::thread::Phase;

impl Engine {
    /// What is not as it must be: a CPU has at most one thread, a thread is on one CPU or in one queue at most, and both
    /// are counted.
    pub(super) fn inconsistency(&self) -> Option<String> {
        let mut places = vec![0; self.threads.len()];
        for (index, cpu) in self.cpus.iter().enumerate() {
            for &thread in cpu.running.iter().chain(&cpu.queue) {
                places[thread as usize] += 1;
                if self.threads[thread as usize].cpu as usize != index {
                    return Some(format!("thread {thread} does not know that it is at CPU {index}"));
                }
            }
            for &thread in &cpu.in_debt {
                let this = &self.threads[thread as usize];
                let is_here = this.cpu as usize == index && cpu.running.is_some();
                if !is_here || !matches!(this.phase, Phase::Asleep | Phase::Called) {
                    return Some(format!("thread {thread} is {:?}, and in debt at CPU {index}", this.phase));
                }
            }
            if cpu.running.is_none() && !cpu.is_expected && !cpu.queue.is_empty() {
                return Some(format!("CPU {index} idles although somebody waits for it"));
            }
        }
        for (index, thread) in self.threads.iter().enumerate().skip(1) {
            let is_ready = thread.phase == Phase::Ready;
            let is_on = self.is_on_cpu(index as u32);
            let is_off = matches!(thread.phase, Phase::Asleep | Phase::Called | Phase::Wakes | Phase::Gone);
            if places[index] > 1 || (places[index] == 0) != is_off || is_ready == is_on && !is_off {
                return Some(format!("thread {index} is {:?} at {} places", thread.phase, places[index]));
            }
        }
        let busy = self.cpus.iter().filter(|cpu| cpu.running.is_some()).count();
        let ready: usize = self.cpus.iter().map(|cpu| cpu.queue.len()).sum();
        let counted = (self.n_busy as usize, self.n_ready as usize);
        (counted != (busy, ready)).then(|| format!("{counted:?} counted, {:?} there", (busy, ready)))
    }
}
