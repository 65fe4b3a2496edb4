//! The constants of the flagship, and the policies that choose among them.

/// The times that decide when a waiter looks, polls, asks and sleeps. Nanoseconds, where the name says no other unit.
///
/// `results/experiments.md` has the measurement behind each default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// How long an arrival looks at a taken lock before it claims the deck or retires to the dugout.
    pub look_ns: u32,
    /// First gap between two looks of an arrival; it doubles.
    pub look_gap_ns: u32,
    /// An arrival that sees more releases than this go by stops looking: the lock is being captured.
    pub look_releases: u32,
    /// First gap between two polls on deck; it doubles.
    pub poll_first_ns: u32,
    /// First gap between two polls on deck of a lock that is known to be hot; it doubles.
    pub poll_first_hot_ns: u32,
    /// Longest gap between two polls on deck. A poll takes the line away from the holder.
    pub poll_max_ns: u32,
    /// Gap between two polls once the lock has been asked for.
    pub poll_asked_ns: u32,
    /// A lock that is released more often than once in this time is hot: passing it around costs more than it gives.
    pub hot_period_ns: u32,
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
    /// How many of the oldest sleepers are considered when one is wanted that last ran on, or off, a certain core.
    pub prefer_core_among: u32,
}

/// The default: the throughput of one thread, waits of milliseconds under contention.
pub const BALANCED: Tuning = Tuning {
    look_ns: 500,
    look_gap_ns: 20,
    look_releases: 3,
    poll_first_ns: 40,
    poll_first_hot_ns: 4_000,
    poll_max_ns: 16_000,
    poll_asked_ns: 120,
    hot_period_ns: 100,
    idle_ns: 300,
    patience_ns: 75_000,
    rotate_ns: 150_000,
    quiet_ns: 20_000,
    nap_after_ns: 50_000,
    revoke_ns: 50_000,
    prefer_core_among: 16,
};

/// Longer turns: for work that only ever waits for its own threads.
pub const THROUGHPUT: Tuning = Tuning { patience_ns: 500_000, rotate_ns: 2_000_000, ..BALANCED };

/// Shorter turns and denser polls: a waiting thread costs the holder more.
pub const LOW_LATENCY: Tuning =
    Tuning { poll_first_hot_ns: 500, poll_max_ns: 2_000, patience_ns: 15_000, rotate_ns: 100_000, ..BALANCED };

/// Which [`Tuning`] a lock uses.
///
/// A type rather than a field, so that the lock stays 8 bytes; a function rather than a constant, so that an
/// experiment can sweep.
pub trait Policy: Send + Sync + 'static {
    /// The constants.
    fn tuning() -> &'static Tuning;
}

/// The policy of [`BALANCED`].
#[derive(Clone, Copy, Debug)]
pub struct Balanced;

/// The policy of [`THROUGHPUT`].
#[derive(Clone, Copy, Debug)]
pub struct Throughput;

/// The policy of [`LOW_LATENCY`].
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
