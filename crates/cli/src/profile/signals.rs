//! Signals to us while a program runs.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// What a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Write a snapshot.
    Snapshot,
    /// The program is meant.
    PassOn(i32),
}

pub(super) struct Orders(SignalsInfo<WithOrigin>);

impl Orders {
    /// From here on no signal of these ends us: what the program has told is still to be written.
    pub(super) fn listen() -> io::Result<Self> {
        SignalsInfo::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]).map(Orders)
    }

    /// The same if no program of ours is meant by any: whether a snapshot is wanted, and whether an end is.
    pub(super) fn snapshot_and_end(&mut self) -> (bool, bool) {
        self.0.pending().fold((false, false), |(snapshot, end), origin| {
            let is_snapshot = matches!(origin.signal, SIGUSR1 | SIGUSR2);
            (snapshot | is_snapshot, end | !is_snapshot)
        })
    }

    /// Those that have come since the last call. What a terminal sends, it sends to the program as well.
    pub(super) fn pending(&mut self) -> Vec<Order> {
        let meant = self.0.pending().filter_map(|origin| match (origin.signal, origin.cause) {
            (SIGUSR2, _) => Some(Order::Snapshot),
            (_, Cause::Kernel) => None,
            (signal, _) => Some(Order::PassOn(signal)),
        });
        meant.collect()
    }
}

/// From here on one of these signals ends us, as it does who does not listen.
pub(crate) fn end_at_once() -> Result<(), Exit> {
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register_conditional_default(number, Arc::new(AtomicBool::new(true)))
            .map_err(|error| Exit::Failed(format!("cannot listen to signals: {error}")))?;
    }
    Ok(())
}

/// Holds the last signal that wants an end, 0 before.
pub(crate) fn listen() -> io::Result<Arc<AtomicUsize>> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register_usize(number, signal.clone(), number.unsigned_abs() as usize)?;
    }
    Ok(signal)
}
