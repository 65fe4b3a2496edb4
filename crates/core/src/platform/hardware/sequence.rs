//! Two steps in one go: a look and a store that the kernel does not let be apart for long.
//!
//! Linux ends a *restartable sequence* of a thread that loses its core, gets a signal, or is told to by `membarrier`. So
//! a thread can release a lock without a locked instruction, and others can still make sure that it has seen what they ask.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod x86_64_linux;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) use x86_64_linux::counters;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(super) use x86_64_linux::{EXIST, can_expel, expel, forgo, stay_loud, store};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
mod nowhere {
    use core::sync::atomic::AtomicU64;

    pub(in super::super) const EXIST: bool = false;

    pub(in super::super) fn can_expel() -> bool {
        false
    }

    pub(in super::super) unsafe fn store(_word: &AtomicU64, _expected: u64, _new: u64) -> bool {
        false
    }

    pub(in super::super) fn expel() -> bool {
        false
    }

    pub(in super::super) fn forgo() {}

    pub(in super::super) fn stay_loud() {}
}
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
pub(super) use nowhere::{EXIST, can_expel, expel, forgo, stay_loud, store};
