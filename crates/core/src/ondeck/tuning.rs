//! The constants of the flagship, and the policies that choose among them.

use super::dugout::MOST_SKIPS;
use super::quiet::PATIENCE_NS;

/// The times that decide when a waiter looks, polls, asks and sleeps. Nanoseconds, where the name says no other unit.
///
/// `docs/experiments.md` says what decided each default, with a figure and a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// How long an arrival looks at a taken lock before it sits down or goes to sleep; also half the longest gap between two
    /// looks of an occupant at a lock that is not hot. It is less than a sleep and a wake cost.
    pub look_ns: u32,
    /// How often an arrival that finds no seat yields its core, and looks again, before it goes to sleep. Not at a hot lock.
    pub yields: u32,
    /// The first gap between two looks of an occupant at a lock that is not hot, and twice that of an arrival; it doubles.
    pub poll_first_ns: u32,
    /// The longest gap between two looks of an occupant at a hot lock, and four times the first. A look takes the line
    /// away from the holder.
    pub poll_max_ns: u32,
    /// The gap between two looks once the lock has been asked for.
    pub poll_asked_ns: u32,
    /// A lock that is released more often than once in this time is hot whatever an audit says.
    pub hot_period_ns: u32,
    /// A lock that is released less often than once in this time is not hot. An audit that sees it ends.
    pub hot_most_ns: u32,
    /// The same where all threads run on one memory node (`Platform::memory_nodes`), if it is less.
    pub hot_most_near_ns: u32,
    /// Arrivals in the first 64th of each such time audit the lock. 0: nobody does, and a lock counts as hot only
    /// while somebody waits.
    pub audit_every_ns: u32,
    /// How long an occupant waits before it asks, while nobody sleeps.
    pub patience_ns: u32,
    /// How often a sleeper is called while somebody waits awake.
    pub rotate_ns: u32,
    /// An occupant that sees no release for so long sleeps until the next one. For the last three fifths of this time it
    /// yields its core between two looks, as the holder may need it.
    pub nap_after_ns: u32,
}

impl Tuning {
    /// The first gap between two looks at a hot lock.
    pub(super) fn poll_first_hot_ns(&self) -> u32 {
        self.poll_max_ns / 4
    }

    /// How long a hot lock must stay free before an occupant takes it without asking: two looks see it so.
    pub(super) fn idle_ns(&self) -> u32 {
        self.poll_asked_ns.saturating_mul(5) / 2
    }

    /// No release for so long: the holder may be waiting for the core of an occupant, which yields it.
    pub(super) fn quiet_ns(&self) -> u32 {
        self.nap_after_ns / 5 * 2
    }

    /// The longest gap between two polls on deck of a lock that is not hot: never longer than of one that is, which the
    /// bound on waiting counts with.
    pub(super) fn poll_cool_max_ns(&self) -> u32 {
        self.look_ns.saturating_mul(2).max(self.poll_first_ns).min(self.poll_max_ns)
    }

    /// The longest wait among `n_waiters` that all want the lock for good, as the head of the file promises it: `hold_ns`
    /// is the longest hold, and `run_ns` the time in which the system runs a thread that may run.
    pub const fn longest_wait_ns(&self, n_waiters: u32, hold_ns: u64, run_ns: u64) -> u64 {
        /// The two seats.
        const SEATS: u64 = 2;
        /// Gaps, holds, and threads that must run, for one rotation: one seat goes to bat, then the other.
        const GAPS: u64 = 2;
        const HOLDS: u64 = 4;
        let arrival =
            self.look_ns as u64 + PATIENCE_NS as u64 + self.nap_after_ns as u64 + (self.yields as u64 + 1) * run_ns;
        let each = GAPS * self.poll_max_ns as u64 + HOLDS * (hold_ns + run_ns);
        match n_waiters.saturating_sub(1) as u64 {
            0 => arrival + self.patience_ns as u64 + each,
            older => arrival + (older + SEATS + MOST_SKIPS as u64) * (self.rotate_ns as u64 + each),
        }
    }
}

/// The default constants: about the throughput of one thread, and waits of milliseconds under contention.
pub const BALANCED: Tuning = Tuning {
    look_ns: 500,
    yields: 8,
    poll_first_ns: 40,
    poll_max_ns: 16_000,
    poll_asked_ns: 120,
    hot_period_ns: 100,
    hot_most_ns: 2_000,
    hot_most_near_ns: 300,
    audit_every_ns: 32_000,
    patience_ns: 75_000,
    rotate_ns: 150_000,
    nap_after_ns: 50_000,
};

/// Constants with shorter turns and denser polls. Each release passes the lock, unless sections follow each other
/// within about 100 ns. A waiting thread costs the holder more.
pub const LOW_LATENCY: Tuning = Tuning {
    yields: 6,
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
///
/// # Safety
/// The lock calls [`tuning`](Policy::tuning) in the midst of acquiring and releasing. So it never unwinds, and never uses the
/// lock that calls it.
pub unsafe trait Policy: Send + Sync + 'static {
    /// The constants.
    fn tuning() -> &'static Tuning;
}

/// The policy with the constants [`BALANCED`]. `docs/rust.md` compares it with [`LowLatency`].
#[derive(Clone, Copy, Debug)]
pub struct Balanced;

/// The policy with the constants [`LOW_LATENCY`]. `docs/rust.md` compares it with [`Balanced`].
#[derive(Clone, Copy, Debug)]
pub struct LowLatency;

// SAFETY: a reference to a constant.
unsafe impl Policy for Balanced {
    #[inline(always)]
    fn tuning() -> &'static Tuning {
        &BALANCED
    }
}

// SAFETY: a reference to a constant.
unsafe impl Policy for LowLatency {
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
        let tuning = Tuning { look_ns: 7, nap_after_ns: 11, yields: 4, ..tuning };
        assert_eq!(tuning.longest_wait_ns(1, 20, 3), 5_033 + 1_292);
        assert_eq!(tuning.longest_wait_ns(2, 20, 3), 5_033 + 11 * 5_292);
        assert_eq!(tuning.longest_wait_ns(15, 20, 3), 5_033 + 24 * 5_292);
    }
}
