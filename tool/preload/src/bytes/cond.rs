//! The 48 bytes of a `pthread_cond_t`.
//!
//! # Whose are the bytes
//!
//! | bytes | in one of a single process | in a shared one |
//! |---|---|---|
//! | 0-15 | the list of waiters and its lock | 0-3: counts notifications |
//! | 16-19 | how many threads are in a wait and may touch it | the same |
//! | 20-23 | which process has touched it last, see `process` | not used |
//! | 36-39 | bit 0: shared; bit 1: timed waits go by the monotonic clock, as in the C library | the same |

use super::mutex::PreloadPolicy;
use crate::platform::PreloadPlatform;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use libc::clockid_t;
use ondeck_core::ondeck::RawCondvar;

/// A `pthread_cond_t`.
#[repr(C)]
pub(crate) struct Cond {
    pub(crate) waiters: RawCondvar<PreloadPlatform, PreloadPolicy>,
    pub(crate) n_inside: AtomicU32,
    pub(crate) generation: AtomicU32,
    _unused: [u32; 3],
    pub(crate) flags: AtomicU32,
    _rest: u64,
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());
const _: () = assert!(core::mem::offset_of!(Cond, flags) == 36);

pub(crate) const SHARED: u32 = 1;
pub(crate) const MONOTONIC: u32 = 2;

impl Cond {
    pub(crate) fn is_shared(&self) -> bool {
        self.flags.load(Relaxed) & SHARED != 0
    }

    /// The clock that `pthread_cond_timedwait` goes by.
    pub(crate) fn clock(&self) -> clockid_t {
        if self.flags.load(Relaxed) & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
    }

    pub(crate) fn clear(&self) {
        let words = (&raw const self.waiters).cast::<[AtomicU64; 2]>();
        // SAFETY: the list is two words of eight bytes that may hold zero.
        for word in unsafe { &*words } {
            word.store(0, Relaxed);
        }
        self.n_inside.store(0, Relaxed);
    }
}
