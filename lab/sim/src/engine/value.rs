//! What an operation does to the word in memory, whenever its moment has come.

use super::lines::Access;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Swap,
    /// Writes `b` if the value is `a`.
    CompareExchange,
    Add,
    And,
    Or,
    /// A store whose word is gone: its line is brought all the same.
    Nothing,
    /// An addition whose result nobody takes, so that a thread need not wait for one that is done at the home of its line.
    Count,
}

/// One operation on one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    /// 64 bits, else 32.
    pub(crate) is_wide: bool,
    pub(crate) a: u64,
    pub(crate) b: u64,
}

/// How an operation has begun.
pub(crate) enum OpStart {
    /// It is done; the value from before.
    Done(u64),
    /// It cannot begin yet: the thread switches, and tries again.
    Later,
    /// It is under way: the thread switches, and finds the value from before as its result.
    Asked,
}

impl Op {
    #[inline]
    pub(crate) fn access(&self) -> Access {
        match self.kind {
            Kind::Load => Access::Load,
            Kind::Store | Kind::Nothing => Access::Store,
            Kind::CompareExchange => Access::CompareExchange,
            _ => Access::Rmw,
        }
    }

    /// Does it, and gives the value from before. Only one thread of the system is in a run, so nothing needs ordering.
    ///
    /// # Safety
    /// The word is alive.
    #[inline]
    pub(crate) unsafe fn apply(&self) -> u64 {
        if self.is_wide {
            // SAFETY: the caller says that the word is alive; `is_wide` says that it has 64 bits.
            let word = unsafe { &*(self.address as *const AtomicU64) };
            let before = word.load(Relaxed);
            if let Some(after) = self.after(before) {
                word.store(after, Relaxed);
            }
            before
        } else {
            // SAFETY: the caller says that the word is alive; `is_wide` says that it has 32 bits.
            let word = unsafe { &*(self.address as *const AtomicU32) };
            let before = u64::from(word.load(Relaxed));
            if let Some(after) = self.after(before) {
                word.store(after as u32, Relaxed);
            }
            before
        }
    }

    #[inline]
    fn after(&self, before: u64) -> Option<u64> {
        match self.kind {
            Kind::Load | Kind::Nothing => None,
            Kind::Store | Kind::Swap => Some(self.a),
            Kind::CompareExchange => (before == self.a).then_some(self.b),
            Kind::Add | Kind::Count => Some(before.wrapping_add(self.a)),
            Kind::And => Some(before & self.a),
            Kind::Or => Some(before | self.a),
        }
    }
}

/// The value of a word of 32 or 64 bits.
///
/// # Safety
/// The word is alive.
pub(crate) unsafe fn read(address: u64, is_wide: bool) -> u64 {
    let op = Op { kind: Kind::Load, address, is_wide, a: 0, b: 0 };
    // SAFETY: as the caller says.
    unsafe { op.apply() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(word: &AtomicU32, kind: Kind, a: u32, b: u32) -> (u64, u32) {
        let op = Op { kind, address: std::ptr::from_ref(word) as u64, is_wide: false, a: a.into(), b: b.into() };
        // SAFETY: the reference keeps the word alive.
        let before = unsafe { op.apply() };
        (before, word.load(Relaxed))
    }

    #[test]
    fn operations_do_what_they_say_in_32_bits() {
        let word = AtomicU32::new(6);
        assert_eq!(on(&word, Kind::Load, 0, 0), (6, 6));
        assert_eq!(on(&word, Kind::Add, u32::MAX, 0), (6, 5));
        assert_eq!(on(&word, Kind::Or, 8, 0), (5, 13));
        assert_eq!(on(&word, Kind::And, 9, 0), (13, 9));
        assert_eq!(on(&word, Kind::CompareExchange, 1, 2), (9, 9));
        assert_eq!(on(&word, Kind::CompareExchange, 9, 2), (9, 2));
        assert_eq!(on(&word, Kind::Swap, 7, 0), (2, 7));
        assert_eq!(on(&word, Kind::Store, 1, 0), (7, 1));
    }

    #[test]
    fn a_wide_word_has_64_bits() {
        let word = AtomicU64::new(u64::MAX);
        let address = std::ptr::from_ref(&word) as u64;
        let op = Op { kind: Kind::Add, address, is_wide: true, a: 2, b: 0 };
        // SAFETY: the word is alive.
        assert_eq!((unsafe { op.apply() }, word.load(Relaxed)), (u64::MAX, 1));
        // SAFETY: the word is alive.
        assert_eq!(unsafe { read(address, true) }, 1);
    }
}
