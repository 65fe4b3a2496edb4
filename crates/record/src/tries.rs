//! Tries to lock a mutex that another thread has. Who tries in a loop waits, and no wait is recorded.

use crate::account::Marks;
use crate::chance;
use crate::layout::event;
use crate::memory::now_ns;
use crate::recording::{Recording, current};
use crate::ring::{Sample, push};
use crate::thread::own;
use crate::walk;

impl Marks {
    /// The calling thread has tried in vain to lock the mutex at that address.
    #[inline]
    pub fn tried(&self, address: u64) {
        let Some(recording) = current() else { return };
        match own().tries.get() {
            left @ 2.. => own().tries.set(left - 1),
            _ => self.tried_with_a_look(recording, address),
        }
    }

    #[cold]
    #[inline(never)]
    fn tried_with_a_look(&self, recording: &Recording, address: u64) {
        /// Who sleeps between two tries makes few of them.
        const MOST: u64 = 100;
        let rate = recording.rate.min(MOST);
        if !chance::count(&own().tries, rate) {
            return;
        }
        if let Some((lock, _)) = self.lock(recording, address) {
            let (stack, weight) = (walk::stack(recording), rate as f64);
            push(recording, Sample { event: event::TRIED, lock, stack, at: now_ns(), ns: 0, weight, lengths: [0; 2] });
        }
    }
}
