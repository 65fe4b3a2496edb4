//! `--warn-after`: which locks threads wait for, said while they do.

use super::run::now_ns;
use ondeck_kit::terminal::{for_user, say, width};
use ondeck_profile::{Collector, long_wait, long_waits};
use std::collections::BTreeSet;
use std::time::Duration;

/// Locks that threads wait for.
#[derive(Debug, Default)]
pub(crate) struct LongWaits {
    /// A wait is told of once it lasts that long.
    limit: Option<Duration>,
    /// Those that have been told of, as long as they last.
    told: BTreeSet<(u32, u64)>,
}

impl LongWaits {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        LongWaits { limit, ..LongWaits::default() }
    }

    /// Whether somebody wants to know.
    pub(crate) fn is_wanted(&self) -> bool {
        self.limit.is_some()
    }

    /// Says what is new since the last call.
    pub(crate) fn tell(&mut self, collector: &mut Collector) {
        let Some(limit) = self.limit else { return };
        let waited_for = collector.waited_for(limit);
        self.told.retain(|lock| waited_for.contains(lock));
        if waited_for.is_subset(&self.told) {
            return;
        }
        // Who has it is looked at now, if it was too early before.
        collector.watch(Duration::from_millis(20), now_ns);
        let profile = collector.profile(now_ns());
        for wait in long_waits(&profile, limit.as_nanos() as u64) {
            if self.told.insert(wait.lock) {
                say(for_user(&long_wait(&profile, &wait, width())).trim_end());
            }
        }
        // One without a name would be asked for again and again.
        self.told.extend(waited_for);
    }
}
