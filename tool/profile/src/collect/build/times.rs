//! Where the time of a process's threads went.

use super::{Builder, Image, SampleRange};
use crate::collect::thread_times::Spending;
use ondeck_futex::RunningPlace;

impl Builder<'_> {
    /// What the threads of a recording spent their time with.
    pub(super) fn add_times(&mut self, image: &mut Image) {
        let Some(times) = &image.recording.times else { return };
        for (mut time, spending) in times.told(matches!(self.since, SampleRange::Snapshot(_)), image.process) {
            match spending {
                Spending::Recorded(address, _) => time.on = Some(self.addressed(image.process, address)),
                Spending::Sleeping(_, stack) | Spending::RunningAt(RunningPlace { stack, .. }) => {
                    time.stack = self.seen(image, &times.addresses(stack));
                }
                _ => {}
            }
            self.times.push(time);
        }
    }
}
