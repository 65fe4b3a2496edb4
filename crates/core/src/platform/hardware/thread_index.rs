//! Small numbers for threads.
//!
//! They are not given back: that would take a destructor per thread, which locks must not register. A process that
//! starts four thousand million threads runs out of them, and is told so.

extern crate std;

use core::cell::Cell;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The last number that was given out; stays at its greatest value.
static LAST: AtomicU32 = AtomicU32::new(0);

std::thread_local! {
    /// Without a destructor, so there is nothing to register, and it is there until the thread's very end: in the
    /// destructors of other thread-local variables and in those of the C library's keys. The child of a fork keeps the number, as the only thread
    /// there that has it.
    static OWN: Cell<Option<NonZeroU32>> = const { Cell::new(None) };
}

/// The calling thread's number; `None` when there are no more.
#[inline]
pub(super) fn get() -> Option<NonZeroU32> {
    OWN.with(|own| own.get().or_else(|| give(own)))
}

#[cold]
fn give(own: &Cell<Option<NonZeroU32>>) -> Option<NonZeroU32> {
    let last = LAST.fetch_update(Relaxed, Relaxed, |last| last.checked_add(1)).ok()?;
    own.set(NonZeroU32::new(last + 1));
    own.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_number_and_shares_it_with_nobody() {
        let ours = get();
        assert_eq!(ours, get());
        let theirs: std::collections::HashSet<_> =
            (0..20).map(|_| std::thread::spawn(|| get().unwrap()).join().unwrap()).collect();
        assert_eq!(theirs.len(), 20);
        assert!(!theirs.contains(&ours.unwrap()));
    }
}
