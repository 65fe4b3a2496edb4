//! The fields that a machine file may have, and what each accepts. `docs/machines.md` tells what they mean.

/// A field of a section.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) accepts: Accepts,
}

/// What a field accepts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accepts {
    /// A figure with its mark: a time in nanoseconds.
    Ns(Range),
    /// A figure with its mark: a time in milliseconds.
    Ms(Range),
    /// A figure with its mark: a ratio or a probability.
    Ratio(Range),
    /// A figure with its mark: a whole number.
    Number(Range),
    /// A figure with its mark: true or false.
    Switch,
    /// A whole number; the section's mark is its mark.
    Count(Range),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A list of texts.
    Texts,
    /// A section of its own.
    Section,
}

/// From where to where, both accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: f64,
    pub(super) most: f64,
}

const fn field(name: &'static str, accepts: Accepts) -> Field {
    Field { name, accepts }
}

const fn range(least: f64, most: f64) -> Range {
    Range { least, most }
}

/// What fits the 32 bits of picoseconds that the engine has.
const MOST_NS: f64 = 4_000_000.0;
/// A time that may be nothing.
const NS: Accepts = Accepts::Ns(range(0.0, MOST_NS));
/// A time that must be something: what loops would otherwise turn for ever without the clock moving.
const TICKING_NS: Accepts = Accepts::Ns(range(0.001, MOST_NS));
const MS: Accepts = Accepts::Ms(range(0.001, 10_000.0));
const SHARE: Accepts = Accepts::Ratio(range(0.0, 1.0));
const RATIO: Accepts = Accepts::Ratio(range(0.0, 100.0));
const JITTER: Accepts = Accepts::Ratio(range(0.0, 0.9));
const SLOWDOWN: Accepts = Accepts::Ratio(range(1.0, 10.0));

/// Most of anything that is counted in the topology.
pub(super) const MOST_PARTS: f64 = super::MAX_CORES as f64;
/// Most hardware threads of a core.
const MOST_THREADS: f64 = 8.0;

/// Where a figure comes from.
pub(super) const ORIGINS: &[&str] = &["measured", "sibling", "sourced", "recalled", "derived", "fitted", "guess"];

/// The fields of a figure.
pub(super) const FIGURE: &[&str] = &["value", "origin", "from", "low", "high"];

/// What stands at the top of a file.
pub(super) const FILE: &[Field] = &[
    field("machine", Accepts::Section),
    field("topology", Accepts::Section),
    field("kind", Accepts::Section),
    field("distance", Accepts::Section),
    field("memory", Accepts::Section),
    field("os", Accepts::Section),
    field("calibration", Accepts::Section),
];

/// `[machine]`
pub(super) const MACHINE: &[Field] = &[
    field("name", Accepts::Text),
    field("about", Accepts::Text),
    field("inherits", Accepts::Text),
    field("line_bytes", Accepts::Number(range(16.0, 1024.0))),
];

/// `[topology]`
pub(super) const TOPOLOGY: &[Field] = &[
    field("origin", Accepts::Word(ORIGINS)),
    field("from", Accepts::Text),
    field("kinds", Accepts::Texts),
    field("sockets", Accepts::Count(range(1.0, MOST_PARTS))),
    field("hops", Accepts::Texts),
    field("fill", Accepts::Word(&["spread", "pack"])),
    field("together", Accepts::Count(range(1.0, MOST_PARTS))),
    field("near", Accepts::Word(&["cluster", "socket"])),
    field("scalable", Accepts::Flag),
];

/// `[kind.NAME]`
pub(super) const KIND: &[Field] = &[
    field("clusters", Accepts::Count(range(1.0, MOST_PARTS))),
    field("cores", Accepts::Count(range(1.0, MOST_PARTS))),
    field("threads", Accepts::Count(range(1.0, MOST_THREADS))),
    field("hit_ns", TICKING_NS),
    field("rmw_ns", TICKING_NS),
    field("store_ns", TICKING_NS),
    field("sibling_ns", NS),
    field("barrier_ns", TICKING_NS),
    field("pause_ns", TICKING_NS),
    field("pause_jitter", JITTER),
    field("work_ns", TICKING_NS),
    field("fib_call_ns", TICKING_NS),
    field("ticks_ns", TICKING_NS),
    field("clock_ns", TICKING_NS),
    field("yield_ns", TICKING_NS),
    field("smt_slowdown", SLOWDOWN),
    field("smt_pausing", SLOWDOWN),
    field("derate", SLOWDOWN),
];

/// `[distance.A-B]`
pub(super) const DISTANCE: &[Field] = &[
    field("cluster_ns", TICKING_NS),
    field("socket_ns", TICKING_NS),
    field("hop_1_ns", TICKING_NS),
    field("hop_2_ns", TICKING_NS),
    field("hop_3_ns", TICKING_NS),
];

/// `[memory]`
pub(super) const MEMORY: &[Field] = &[
    field("read_owned", RATIO),
    field("read_shared_ns", NS),
    field("llc", RATIO),
    field("write", RATIO),
    field("upgrade", RATIO),
    field("per_sharer_ns", NS),
    field("write_again", SHARE),
    field("ahead_ns", NS),
    field("way_jitter", JITTER),
    field("store_buffer", Accepts::Number(range(1.0, 1024.0))),
    field("far_round_trip_ns", TICKING_NS),
    field("far_busy_ns", NS),
];

/// `[os]`
pub(super) const OS: &[Field] = &[
    field("fair", Accepts::Section),
    field("eevdf", Accepts::Section),
    field("quantum", Accepts::Section),
    field("syscall_ns", NS),
    field("wake_none_ns", NS),
    field("wake_call_ns", NS),
    field("sleep_ns", NS),
    field("resume_ns", NS),
    field("bucket_ns", NS),
    field("buckets", Accepts::Number(range(1.0, 16_777_216.0))),
    field("wake_latency_ns", NS),
    field("wake_jitter", JITTER),
    field("kernel_jitter", JITTER),
    field("wake_deeper_ns", NS),
    field("idle_ns", TICKING_NS),
    field("wake_deepest_ns", NS),
    field("switch_ns", NS),
    field("move_on_wake", SHARE),
    field("wake_affine", Accepts::Switch),
    field("wake_fastest", Accepts::Switch),
    field("yield_sleeps", Accepts::Switch),
    field("cache_hot_ms", Accepts::Ms(range(0.0, 10_000.0))),
    field("balance_ms", MS),
    field("newidle", SHARE),
];

/// `[os.fair]`
pub(super) const FAIR: &[Field] = &[
    field("latency_ms", MS),
    field("slice_ms", MS),
    field("wakeup_granularity_ms", Accepts::Ms(range(0.0, 10_000.0))),
];

/// `[os.eevdf]`
pub(super) const EEVDF: &[Field] = &[
    field("slice_ms", MS),
    field("tick_ms", MS),
    field("delays_dequeue", Accepts::Switch),
    field("yield_forfeits", Accepts::Switch),
];

/// `[os.quantum]`
pub(super) const QUANTUM: &[Field] =
    &[field("quantum_ms", MS), field("boost", Accepts::Switch), field("starved_ms", Accepts::Ms(range(0.0, 60_000.0)))];

impl std::fmt::Display for Accepts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Accepts::Ns(range) => write!(f, "{} to {} (nanoseconds)", range.least, range.most),
            Accepts::Ms(range) => write!(f, "{} to {} (milliseconds)", range.least, range.most),
            Accepts::Ratio(range) => write!(f, "{} to {}", range.least, range.most),
            Accepts::Number(range) | Accepts::Count(range) => {
                write!(f, "a whole number from {} to {}", range.least, range.most)
            }
            Accepts::Switch | Accepts::Flag => f.write_str("true or false"),
            Accepts::Word(words) => f.write_str(&words.join(", ")),
            Accepts::Text => f.write_str("a text, not empty"),
            Accepts::Texts => f.write_str("a list of texts, not empty"),
            Accepts::Section => f.write_str("a section"),
        }
    }
}
