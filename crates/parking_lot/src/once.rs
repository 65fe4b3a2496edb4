//! `Once`: that of `std`, and beside it what that one does not tell of its state.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release};

/// The state of a [`Once`].
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OnceState {
    /// No closure has run.
    New,
    /// The last closure has panicked.
    Poisoned,
    /// A thread runs a closure.
    InProgress,
    /// A closure has returned.
    Done,
}

impl OnceState {
    /// Whether the last closure has panicked.
    #[inline]
    pub fn poisoned(self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Whether a closure has returned.
    #[inline]
    pub fn done(self) -> bool {
        matches!(self, OnceState::Done)
    }
}

/// Lets one of the threads that come here run a closure, for which the others wait: `std`'s, in 8 bytes.
///
/// # Example
/// ```
/// use parking_lot::{Once, OnceState};
///
/// static START: Once = Once::new();
///
/// START.call_once(|| println!("at the first time"));
/// START.call_once(|| unreachable!());
/// assert_eq!(START.state(), OnceState::Done);
/// ```
pub struct Once {
    once: std::sync::Once,
    /// Until it is done.
    stage: AtomicU8,
}

const NEW: u8 = 0;
const IN_PROGRESS: u8 = 1;
const POISONED: u8 = 2;

impl Once {
    /// Makes one that no closure has run for.
    #[inline]
    pub const fn new() -> Once {
        Once { once: std::sync::Once::new(), stage: AtomicU8::new(NEW) }
    }

    /// Returns the state. Other threads may change it at any time, unless it is [`Done`](OnceState::Done): then this
    /// thread sees what the closure has done.
    #[inline]
    pub fn state(&self) -> OnceState {
        // First what comes before the other: a closure is in progress until it is done.
        let stage = self.stage.load(Acquire);
        match stage {
            _ if self.once.is_completed() => OnceState::Done,
            NEW => OnceState::New,
            IN_PROGRESS => OnceState::InProgress,
            _ => OnceState::Poisoned,
        }
    }

    /// Runs `f` if no closure has returned. Waits while another thread runs one.
    ///
    /// # Panics
    /// If `f` panics, or the closure before has panicked.
    #[inline]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.once.call_once(|| self.run(f));
    }

    /// As [`call_once`](Once::call_once), also if the closure before has panicked. `f` is told whether it has.
    ///
    /// # Panics
    /// If `f` panics.
    #[inline]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(OnceState),
    {
        self.once.call_once_force(|state| {
            let state = if state.is_poisoned() { OnceState::Poisoned } else { OnceState::New };
            self.run(|| f(state));
        });
    }

    /// Called by one thread at a time.
    fn run(&self, f: impl FnOnce()) {
        struct Poisons<'a>(&'a AtomicU8);
        impl Drop for Poisons<'_> {
            fn drop(&mut self) {
                self.0.store(POISONED, Release);
            }
        }
        self.stage.store(IN_PROGRESS, Release);
        let poisons = Poisons(&self.stage);
        f();
        mem::forget(poisons);
    }
}

impl Default for Once {
    #[inline]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("state", &self.state()).finish()
    }
}
