//! The constants of the flagship, and the policies that choose among them.

use super::dugout::MOST_SKIPS;

/// The times that decide when a waiter looks, polls, asks and sleeps. Nanoseconds, where the name says no other unit.
///
/// `results/experiments.md` has the measurement behind each default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// How long an arrival looks at a taken lock before it claims the deck or retires to the dugout; also half the longest
    /// gap between two polls on deck of a lock that is not hot.
    pub look_ns: u32,
    /// First gap between two looks of an arrival; it doubles.
    pub look_gap_ns: u32,
    /// An arrival that sees more releases than this go by stops looking: the lock is being captured.
    pub look_releases: u32,
    /// How often an arrival that finds no place on deck yields its core, and looks again, before it goes to sleep, while threads
    /// outnumber the cores (`Platform::is_crowded`). Not at a hot lock.
    pub yields: u32,
    /// How often it does so in any case, for being awake. Where a lock changes hands at each release, the one that takes it
    /// leaves the deck empty, and the next release must call a sleeper unless an arrival has sat down by then. Who is awake
    /// comes sooner than who is called.
    pub awake_yields: u32,
    /// First gap between two polls on deck; it doubles.
    pub poll_first_ns: u32,
    /// First gap between two polls on deck of a lock that is known to be hot; it doubles.
    pub poll_first_hot_ns: u32,
    /// Longest gap between two polls on deck of a hot lock. A poll takes the line away from the holder.
    pub poll_max_ns: u32,
    /// Gap between two polls once the lock has been asked for.
    pub poll_asked_ns: u32,
    /// A lock that is released more often than once in this time is hot whatever an audit says: passing it around costs
    /// more than it gives.
    pub hot_period_ns: u32,
    /// A lock that is released less often than once in this time is not hot: what a pass costs is little beside it. An audit
    /// that sees it ends.
    pub hot_most_ns: u32,
    /// The same where all threads run on one memory node (`Platform::memory_nodes`), if it is less.
    pub hot_most_near_ns: u32,
    /// Arrivals in the first 64th of each such time audit the lock. 0: nobody does, and a lock counts as hot only
    /// while somebody waits.
    pub audit_every_ns: u32,
    /// One in so many called sleepers takes a hot lock as soon as it is free, so that audits may call it hot again.
    pub cool_every: u32,
    /// How long a hot lock must stay free before the deck takes it without asking.
    pub idle_ns: u32,
    /// How long the deck waits before it asks, while nobody sleeps.
    pub patience_ns: u32,
    /// How often the dugout rotates while somebody sleeps.
    pub rotate_ns: u32,
    /// No release for so long: the holder may be waiting for the core of the deck, which yields it.
    pub quiet_ns: u32,
    /// No release for so long: the deck naps.
    pub nap_after_ns: u32,
    /// A lock that was passed and not accepted for so long may be taken back.
    pub revoke_ns: u32,
    /// How long a holder stays off the word after a release, if somebody has failed to change the word and asks for room:
    /// long enough for a line to come and go.
    pub room_ns: u32,
    /// How many of the oldest sleepers are considered when one is wanted that last ran on, or off, a certain core.
    pub prefer_core_among: u32,
}

impl Tuning {
    /// The longest gap between two polls on deck of a lock that is not hot: never longer than of one that is, which the
    /// bound on waiting counts with.
    pub(super) fn poll_cool_max_ns(&self) -> u32 {
        self.look_ns.saturating_mul(2).max(self.poll_first_ns).min(self.poll_max_ns)
    }

    /// The longest wait among `n_waiters` that all want the lock for good, as the head of the file promises it: `hold_ns`
    /// is the longest hold, and `run_ns` the time in which the system runs a thread that may run.
    pub const fn longest_wait_ns(&self, n_waiters: u32, hold_ns: u64, run_ns: u64) -> u64 {
        /// The seat itself, and the sleeper that is on its way to it.
        const SEATS: u64 = 2;
        /// Holds, and threads that must run, for one rotation.
        const HOLDS: u64 = 3;
        let n_yields = if self.yields > self.awake_yields { self.yields } else { self.awake_yields };
        let arrival = self.look_ns as u64 + self.revoke_ns as u64 + (n_yields as u64 + 1) * run_ns;
        let each = self.poll_max_ns as u64 + HOLDS * (hold_ns + run_ns);
        match n_waiters.saturating_sub(1) as u64 {
            0 => arrival + self.patience_ns as u64 + each,
            older => arrival + (older + SEATS + MOST_SKIPS as u64) * (self.rotate_ns as u64 + each),
        }
    }
}

/// The default constants: about the throughput of one thread, and waits of milliseconds under contention.
pub const BALANCED: Tuning = Tuning {
    look_ns: 500,
    look_gap_ns: 20,
    look_releases: 3,
    yields: 8,
    awake_yields: 0,
    poll_first_ns: 40,
    poll_first_hot_ns: 4_000,
    poll_max_ns: 16_000,
    poll_asked_ns: 120,
    hot_period_ns: 100,
    hot_most_ns: 2_000,
    hot_most_near_ns: 300,
    audit_every_ns: 32_000,
    cool_every: 16,
    idle_ns: 300,
    patience_ns: 75_000,
    rotate_ns: 150_000,
    quiet_ns: 20_000,
    nap_after_ns: 50_000,
    revoke_ns: 50_000,
    room_ns: 500,
    prefer_core_among: 16,
};

/// Constants with longer turns, for threads that wait only for each other.
pub const THROUGHPUT: Tuning = Tuning { patience_ns: 500_000, rotate_ns: 2_000_000, ..BALANCED };

/// Constants with shorter turns and denser polls. Each release passes the lock, unless sections follow each other
/// within about 100 ns. A waiting thread costs the holder more.
pub const LOW_LATENCY: Tuning = Tuning {
    awake_yields: 6,
    poll_first_hot_ns: 500,
    poll_max_ns: 2_000,
    hot_period_ns: 80,
    hot_most_ns: 120,
    patience_ns: 15_000,
    rotate_ns: 100_000,
    ..BALANCED
};

/// Which [`Tuning`] a lock uses.
///
/// It is a type and not a field, so that the lock keeps its 8 bytes. It has a function and not a constant, so that an
/// experiment can try many values.
pub trait Policy: Send + Sync + 'static {
    /// The constants.
    fn tuning() -> &'static Tuning;
}

/// The policy with the constants [`BALANCED`]. `docs/policies.md` compares the three policies.
#[derive(Clone, Copy, Debug)]
pub struct Balanced;

/// The policy with the constants [`THROUGHPUT`]. `docs/policies.md` compares the three policies.
#[derive(Clone, Copy, Debug)]
pub struct Throughput;

/// The policy with the constants [`LOW_LATENCY`]. `docs/policies.md` compares the three policies.
#[derive(Clone, Copy, Debug)]
pub struct LowLatency;

impl Policy for Balanced {
    #[inline(always)]
    fn tuning() -> &'static Tuning {
        &BALANCED
    }
}

impl Policy for Throughput {
    #[inline(always)]
    fn tuning() -> &'static Tuning {
        &THROUGHPUT
    }
}

impl Policy for LowLatency {
    #[inline(always)]
    fn tuning() -> &'static Tuning {
        &LOW_LATENCY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cool_deck_polls_often_but_not_all_the_time() {
        assert_eq!(BALANCED.poll_cool_max_ns(), 1_000);
        assert_eq!(Tuning { look_ns: 0, ..BALANCED }.poll_cool_max_ns(), 40);
        assert_eq!(Tuning { look_ns: u32::MAX, ..BALANCED }.poll_cool_max_ns(), BALANCED.poll_max_ns);
    }

    #[test]
    fn the_longest_wait_by_hand() {
        let tuning = Tuning { patience_ns: 1_000, rotate_ns: 5_000, poll_max_ns: 100, ..BALANCED };
        let tuning = Tuning { look_ns: 7, revoke_ns: 11, yields: 4, ..tuning };
        assert_eq!(tuning.longest_wait_ns(1, 20, 3), 33 + 1_169);
        assert_eq!(tuning.longest_wait_ns(2, 20, 3), 33 + 11 * 5_169);
        assert_eq!(tuning.longest_wait_ns(15, 20, 3), 33 + 24 * 5_169);
        let tuning = Tuning { awake_yields: 6, ..tuning };
        assert_eq!(tuning.longest_wait_ns(15, 20, 3), 39 + 24 * 5_169);
    }
}
