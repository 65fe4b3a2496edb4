//! Where the time of a process's threads went.

use super::{Builder, Image, SampleRange};
use crate::collect::holders::Activity;
use crate::collect::thread_times::Spending;
use crate::thread_time::{Doing, ThreadTime};

impl Builder<'_> {
    /// What the threads of a recording spent their time with.
    pub(super) fn add_times(&mut self, image: &mut Image) {
        let Some(times) = &image.recording.times else { return };
        let spent = match self.since {
            SampleRange::Start => &times.all,
            SampleRange::Snapshot(_) => &times.recent,
        };
        let process = image.process;
        for (spending, ns) in spent {
            let time = ThreadTime { process, ns: *ns, ..ThreadTime::default() };
            let time = match *spending {
                Spending::Running => ThreadTime { doing: Doing::Running, ..time },
                Spending::NoCore => ThreadTime { doing: Doing::NoCore, ..time },
                Spending::Unseen => ThreadTime { doing: Doing::Unseen, ..time },
                Spending::Recorded(address, _) => {
                    ThreadTime { doing: Doing::Recorded, on: Some(self.addressed(process, address)), ..time }
                }
                Spending::Sleeping(call, stack) => {
                    let call = call.map(|_| Activity::Blocked(call).told().1).unwrap_or_default();
                    let stack = self.seen(image, &times.addresses(stack));
                    ThreadTime { doing: Doing::Sleeping, call, stack, ..time }
                }
            };
            self.times.push(time);
        }
    }
}
