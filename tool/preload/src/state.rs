//! What a process knows of itself at a look: one word, which says which lock it has, whether it records, and which process
//! it is.
//!
//! A thread that finds that nothing is known yet has the process prepared, see `process`.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Nothing is known yet, or this is a child that has not looked yet.
pub(crate) const FRESH: u32 = 0;
/// The flagship.
pub(crate) const ONDECK: u32 = 1;
/// The one in `OTHER`.
pub(crate) const ANOTHER: u32 = 2;
/// Somebody prepares.
pub(crate) const BUSY: u32 = 3;
/// The C library's own, recorded only.
pub(crate) const GLIBC: u32 = 4;
/// The same, and its plain mutexes are as `bytes::glibc` knows them.
pub(crate) const GLIBC_KNOWN: u32 = 5;
/// These are the lower bits of a state.
pub(crate) const CHOICES: u32 = 7;
/// Beside them: what is done with the lock is recorded.
pub(crate) const RECORDED: u32 = 8;
/// Beside [`RECORDED`]: each acquisition and each release is told. No operation is usual then.
pub(crate) const ORDER: u32 = 16;
/// Above that forks are counted.
pub(crate) const ONE_FORK: u32 = 32;
/// Somebody asks for a recording, or for its end: the next thread that comes along obeys. No operation is usual then. In a
/// byte of its own, which is written from outside.
pub(crate) const ASKED: u32 = 1 << 24;
/// Where that byte is.
pub(crate) const BYTE_OF_ASKED: usize = 3;

const PAGE: usize = 4096;

/// Alone on its page, which a child gets as zeros.
#[repr(C, align(4096))]
pub(crate) struct WipeOnForkPage {
    pub(crate) state: AtomicU32,
    rest: [u8; PAGE - 4],
}

// Where pages are larger than 4 KiB the kernel refuses, and the handler of a fork does the work.
pub(crate) static STATE: WipeOnForkPage = WipeOnForkPage { state: AtomicU32::new(FRESH), rest: [0; PAGE - 4] };

/// Whether the flagship is the lock, and the process is prepared.
#[inline(always)]
pub(crate) fn is_ondeck() -> bool {
    is_ondeck_in(state())
}

/// The same in a process of that state.
#[inline(always)]
pub(crate) const fn is_ondeck_in(state: u32) -> bool {
    state & CHOICES == ONDECK
}

/// Whether locks are recorded, in a process of that state.
#[inline(always)]
pub(crate) const fn is_recorded(state: u32) -> bool {
    state & RECORDED != 0
}

/// That of a process that differs in this only.
#[inline(always)]
pub(crate) const fn unrecorded(state: u32) -> u32 {
    state & !RECORDED
}

/// Whether the C library's own mutexes are used, known and recorded, in a process of that state, and not all is told.
pub(crate) const fn records_known(state: u32) -> bool {
    state & (CHOICES | RECORDED | ORDER) == GLIBC_KNOWN | RECORDED
}

/// Whether all is left to the C library, in a process of that state: its own locks, not recorded, and nobody asks.
#[inline(always)]
pub(crate) const fn leaves_all(state: u32) -> bool {
    const EITHER: u32 = GLIBC ^ GLIBC_KNOWN;
    state & (CHOICES | RECORDED | ORDER | ASKED) & !EITHER == GLIBC
}

/// What a thread keeps of the state of a process where the C library's mutexes are known and recorded differs from that
/// state by this. Nothing else that a thread may have kept does: it keeps 0, or the state of a process with the flagship, be it
/// another process. And what differs from a state by it is no state.
pub(crate) const BESIDE: u32 = 6;

/// Another number in each process that forks lead to; 0 before it is prepared.
#[inline(always)]
pub(crate) fn state() -> u32 {
    STATE.state.load(Relaxed)
}

/// The shape of a normal mutex that the process has touched before, if the flagship is the lock and nothing is recorded; else one
/// that no mutex has: a state without the bits of a choice is a generation only there.
#[inline(always)]
pub(crate) const fn usual_shape(state: u32) -> u64 {
    (usual_generation(state) as u64) << 32
}

/// The same of what a condition variable has of a state.
#[inline(always)]
pub(crate) const fn usual_generation(state: u32) -> u32 {
    state.wrapping_sub(ONDECK)
}

/// What a mutex or condition variable has of a state: which process it is, 0 in one that no fork leads to.
#[inline(always)]
pub(crate) const fn generation_of(state: u32) -> u32 {
    state & !(CHOICES | RECORDED | ASKED | ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a thread may know, in whichever process.
    #[test]
    fn only_a_thread_beside_known_mutexes_differs_as_one() {
        let known = |state: u32| match state & CHOICES {
            ONDECK => state,
            GLIBC_KNOWN if records_known(state) => state ^ BESIDE,
            _ => 0,
        };
        let states =
            || [0, ONE_FORK, 5 * ONE_FORK].into_iter().flat_map(|forks| (0..ONE_FORK).map(move |bits| forks | bits));
        let is_state = |state: u32| match state & CHOICES {
            FRESH | BUSY => !is_recorded(state),
            choice => choice <= GLIBC_KNOWN,
        };
        for (of_thread, now) in states().flat_map(|of_thread| states().map(move |now| (of_thread, now))) {
            for known in [0, known(of_thread)].into_iter().filter(|_| is_state(of_thread) && is_state(now)) {
                let is_beside = known != 0 && of_thread == now && records_known(now);
                assert_eq!(known ^ now == BESIDE, is_beside, "{of_thread:#x} {now:#x}");
                let is_ondeck = known != 0 && of_thread == now && is_ondeck_in(now);
                assert_eq!(known ^ now == 0 && now & CHOICES != FRESH, is_ondeck, "{of_thread:#x} {now:#x}");
            }
        }
    }

    #[test]
    fn what_is_recorded_or_asked_or_ours_is_not_left_to_the_c_library() {
        for forks in [0, ONE_FORK, ASKED - ONE_FORK] {
            for bits in (0..ONE_FORK).flat_map(|bits| [bits, bits | ASKED]).filter(|bits| bits & CHOICES <= GLIBC_KNOWN)
            {
                assert_eq!(leaves_all(forks | bits), matches!(bits, GLIBC | GLIBC_KNOWN), "{bits:#x}");
            }
        }
    }

    #[test]
    fn a_mutex_is_usual_only_with_the_flagship_and_unrecorded() {
        for forks in [0, ONE_FORK, 5 * ONE_FORK, ASKED - ONE_FORK] {
            for bits in (0..ONE_FORK).flat_map(|bits| [bits, bits | ASKED]) {
                let state = forks | bits;
                // Any mutex of ours, of this process or of another one.
                let is_possible = usual_shape(state) >> 32 & u64::from(CHOICES | RECORDED | ASKED | ORDER) == 0;
                assert_eq!(is_possible, bits == ONDECK, "{state:#x}");
                assert_eq!(usual_generation(state) == generation_of(state), bits == ONDECK, "{state:#x}");
            }
            assert_eq!(usual_shape(unrecorded(forks | ONDECK | RECORDED)), u64::from(forks) << 32);
        }
    }
}
