//! The sections of a machine file, and their fields. `docs/machines.md` tells what they mean.

use super::figure::{
    Buckets, Jitter, Line, LineBytes, LongMs, Ms, Ns, Origin, Parts, Ratio, Share, Slowdown, Stores, Switch, Threads,
    TickingMs, TickingNs,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// A section, all of whose fields are known.
macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields, expecting = "a section")]
        #[allow(dead_code, reason = "some fields only have to be right")]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        impl $name {
            /// The names of its fields.
            #[cfg(test)]
            pub(super) const FIELDS: &[&str] = &[$(stringify!($field)),*];
        }
    )*};
}

sections! {
    /// A whole file, with all that it inherits.
    File {
        machine: About,
        topology: Layout,
        kind: BTreeMap<String, Kind>,
        distance: Option<BTreeMap<String, Distance>>,
        memory: Memory,
        os: Os,
    }

    /// `[machine]`
    About {
        name: Line,
        about: Line,
        inherits: Option<IgnoredAny>,
        line_bytes: LineBytes,
    }

    /// `[topology]`
    Layout {
        origin: Origin,
        from: Line,
        kinds: Vec<Line>,
        sockets: Parts,
        hops: Option<Vec<Line>>,
        fill: Fill,
        together: Option<Parts>,
        near: Near,
        scalable: Option<bool>,
    }

    /// `[kind.NAME]`
    Kind {
        clusters: Parts,
        cores: Parts,
        threads: Threads,
        hit_ns: TickingNs,
        rmw_ns: TickingNs,
        store_ns: TickingNs,
        sibling_ns: Option<Ns>,
        barrier_ns: TickingNs,
        pause_ns: TickingNs,
        pause_jitter: Jitter,
        work_ns: TickingNs,
        fib_call_ns: TickingNs,
        ticks_ns: TickingNs,
        clock_ns: TickingNs,
        yield_ns: TickingNs,
        smt_slowdown: Slowdown,
        smt_pausing: Slowdown,
        derate: Slowdown,
    }

    /// `[distance.A-B]`
    Distance {
        cluster_ns: Option<TickingNs>,
        socket_ns: Option<TickingNs>,
        hop_1_ns: Option<TickingNs>,
        hop_2_ns: Option<TickingNs>,
        hop_3_ns: Option<TickingNs>,
    }

    /// `[memory]`
    Memory {
        read_owned: Ratio,
        read_shared_ns: Ns,
        llc: Ratio,
        write: Ratio,
        upgrade: Ratio,
        per_sharer_ns: Ns,
        write_again: Share,
        ahead_ns: Option<Ns>,
        way_jitter: Jitter,
        store_buffer: Stores,
        far_round_trip_ns: Option<TickingNs>,
        far_busy_ns: Option<Ns>,
    }

    /// `[os]`
    Os {
        fair: Option<Fair>,
        eevdf: Option<Eevdf>,
        quantum: Option<Quantum>,
        syscall_ns: Ns,
        wake_none_ns: Ns,
        wake_call_ns: Ns,
        sleep_ns: Ns,
        resume_ns: Ns,
        bucket_ns: Ns,
        buckets: Buckets,
        wake_latency_ns: Ns,
        wake_jitter: Option<Jitter>,
        kernel_jitter: Option<Jitter>,
        wake_deeper_ns: Ns,
        idle_ns: TickingNs,
        wake_deepest_ns: Ns,
        switch_ns: Ns,
        move_on_wake: Share,
        wake_affine: Switch,
        wake_fastest: Switch,
        yield_sleeps: Switch,
        cache_hot_ms: Ms,
        balance_ms: TickingMs,
        newidle: Option<Share>,
    }

    /// `[os.fair]`
    Fair {
        latency_ms: TickingMs,
        slice_ms: TickingMs,
        wakeup_granularity_ms: Ms,
    }

    /// `[os.eevdf]`
    Eevdf {
        slice_ms: TickingMs,
        tick_ms: Option<TickingMs>,
        delays_dequeue: Option<Switch>,
        yield_forfeits: Option<Switch>,
    }

    /// `[os.quantum]`
    Quantum {
        quantum_ms: TickingMs,
        boost: Switch,
        starved_ms: LongMs,
    }
}

/// In which order CPUs are filled.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fill {
    Spread,
    Pack,
}

/// What is near for the scheduler.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Near {
    Cluster,
    Socket,
}
