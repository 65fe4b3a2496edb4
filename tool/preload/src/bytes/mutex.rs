//! The 40 bytes of a `pthread_mutex_t`: whose is a mutex, and whose are which bytes.
//!
//! # Whose is a mutex
//! Its kind says so, which the C library writes when it is initialised, or which is in the static initializer. Ours are
//! those of one process without a protocol: normal, recursive, errorcheck, adaptive. The C library keeps the robust ones,
//! those that inherit or protect priorities, and those that processes share.
//!
//! # Whose are the bytes
//!
//! | bytes | the C library's name | in a mutex of ours |
//! |---|---|---|
//! | 0-3 | `__lock` | 0. Anything else: the C library has locked it behind our back |
//! | 4-7 | `__count` | how often a recursive mutex is locked beyond the first time |
//! | 8-11 | `__owner` | the kernel's number of the thread that has it, as debuggers know it; 0 while it is free |
//! | 12-15 | `__nusers` | how many threads wait on condition variables with it |
//! | 16-19 | `__kind` | as there |
//! | 20-23 | `__spins`, `__elision` | which process has touched it last, see `process`; 0 if no fork leads to that |
//! | 24-31 | `__list`, of robust mutexes only | the lock; another one than the flagship has all 16 bytes. In mutexes that stay the C library's: where the call returned to that locked it |
//! | 32-39 | the other half of that | the recorder's marks, also in mutexes that stay the C library's |
//!
//! Zeros are a free mutex, so the static initializers need no first use.

use crate::platform::PreloadPlatform;
use crate::thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use ondeck_core::RawOndeck;
use ondeck_core::ondeck::{BALANCED, Policy, Tuning};
use ondeck_record::Marks;

pub(crate) type Raw = RawOndeck<PreloadPlatform, PreloadPolicy>;

/// The constants for programs that were not written with this lock in mind. Their holders are often not running: they
/// yield, sleep or are preempted inside. So who waits looks for a shorter time and naps sooner, and no arrival yields, since
/// what it would make room for is mostly another arrival. X16 in docs/experiments.md has the figures.
#[derive(Debug)]
pub(crate) struct PreloadPolicy;

// SAFETY: a reference to a constant.
unsafe impl Policy for PreloadPolicy {
    fn tuning() -> &'static Tuning {
        const TUNING: Tuning = Tuning { yields: 0, look_ns: 200, nap_after_ns: 30_000, ..BALANCED };
        &TUNING
    }
}

/// A `pthread_mutex_t`.
#[repr(C)]
pub(crate) struct Mutex {
    pub(crate) glibc_word: AtomicU32,
    pub(crate) count: AtomicU32,
    pub(crate) owner: AtomicU32,
    pub(crate) n_waiting: AtomicU32,
    /// The kind, and above it the process.
    pub(crate) shape: AtomicU64,
    pub(crate) raw: Raw,
    pub(crate) marks: Marks,
}

// On some processors the C library has room behind it.
const _: () = assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>());
const _: () = assert!(core::mem::offset_of!(Mutex, raw) + crate::family::ROOM == size_of::<Mutex>());
// A profiler finds the mutex by the lock on which a thread sleeps.
const _: () = assert!(core::mem::offset_of!(Mutex, raw) as u64 == ondeck_record::layout::LOCK_IN_MUTEX);

/// What a mutex of ours does when its owner locks it again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It waits for ever; anybody may unlock it. Adaptive ones too.
    Normal,
    /// It counts.
    Recursive,
    /// It refuses.
    ErrorCheck,
}

impl Kind {
    /// `None` if one of that kind is the C library's.
    #[inline(always)]
    pub(crate) const fn of(kind: u32) -> Option<Self> {
        match kind & WHOSE {
            NORMAL | ADAPTIVE => Some(Kind::Normal),
            RECURSIVE => Some(Kind::Recursive),
            ERRORCHECK => Some(Kind::ErrorCheck),
            _ => None,
        }
    }
}

pub(crate) const NORMAL: u32 = 0;
pub(crate) const RECURSIVE: u32 = 1;
pub(crate) const ERRORCHECK: u32 = 2;
pub(crate) const ADAPTIVE: u32 = 3;
/// The part of the kind that says whose a mutex is: type, robustness, protocol, and whether processes share it. What lies
/// above is about lock elision.
pub(crate) const WHOSE: u32 = 0xff;
/// The part of that which says what the owner may do.
pub(crate) const TYPE: u32 = 3;
pub(crate) const DESTROYED: u32 = u32::MAX;

pub(crate) const fn shape(kind: u32, generation: u32) -> u64 {
    (generation as u64) << 32 | kind as u64
}

impl Mutex {
    /// Nobody has it, and nobody waits.
    pub(crate) fn forget(&self) {
        for word in [&self.count, &self.owner, &self.n_waiting] {
            word.store(0, Relaxed);
        }
        self.clear();
    }

    /// Writes zeros over the lock.
    pub(crate) fn clear(&self) {
        let words = (&raw const self.raw).cast::<[AtomicU64; 2]>();
        // SAFETY: the lock and the marks are two words of eight bytes that may hold zero.
        for word in unsafe { &*words } {
            word.store(0, Relaxed);
        }
    }

    pub(crate) fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == thread::id()
    }

    /// Stale at once.
    #[inline(always)]
    pub(crate) fn looks_taken(&self) -> bool {
        self.raw.is_taken()
    }

    pub(crate) fn address(&self) -> u64 {
        (&raw const *self) as u64
    }

    pub(crate) fn place(&self) -> *const u8 {
        (&raw const self.raw).cast()
    }

    /// Counts one more that waits on a condition variable, so that the mutex is not destroyed. Of a mutex that is the C
    /// library's too, which keeps its own count of users there; by the owner.
    pub(crate) fn expect_waiter(&self) {
        self.n_waiting.fetch_add(1, Relaxed);
    }

    /// Counts one less.
    pub(crate) fn forget_waiter(&self) {
        self.n_waiting.fetch_sub(1, Relaxed);
    }
}
