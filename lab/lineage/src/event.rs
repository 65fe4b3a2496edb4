//! An event that resets itself, and is handed to the thread that has waited for it longest.
//!
//! Each `set` lets one thread go on: the oldest sleeper, or, if nobody sleeps, the next to wait. Two sets while nobody
//! waits are one. Nobody can take an event that was set for a sleeper: it is never to be seen as set while somebody
//! sleeps. The monitors here rest on that. A thread that comes back to a lock it has just left, and has to wait, would
//! otherwise take the event that it set for another, be inside again before the other is up, and so for ever.
//!
//! # Lineage
//! The auto-reset event under CoreCLR's monitors, which the wait subsystem (`CLREvent` over the PAL on Unix) or the kernel
//! (on Windows) gives to a waiter in the moment in which it is set. There a lock of the whole process guards it; here a
//! latch of its own.
//!
//! # Latch
//! The thread that has it does a few loads and stores, never waits for anybody, and wakes nobody before it has let go.
//! Others look again after a yield, for its holder may have lost its core.
//!
//! # Orderings
//! - V1 unlatch -> latch: the state of the event and the room of the sleepers. With it, or with the permit of the node,
//!   what happened before a `set` happens before the end of the `wait` that takes it. The locks need that: a woken waiter
//!   must see the lock as its waker left it, or it would find an old holder inside and sleep for good.
//!
//! # Life of a node
//! It is in the room until a set pops it or its thread takes it out at the deadline, and lives until its thread has the
//! permit or has taken it out. So a setter may give the permit after it has let go of the latch.
//!
//! Unsafe: 4 blocks, all to use the room with the latch or a node without its permit.

use crate::wait_room::{WaitNode, WaitRoom};
use core::sync::atomic::Ordering::{Acquire, Release};
use ondeck_core::{Atomic, Platform, StaticPlatform};

const UNSET: u32 = 0;
const SET: u32 = 1;
const LATCHED: u32 = 2;

/// The event.
pub(crate) struct Event<P: Platform> {
    /// SET or not, and LATCHED or not. Under the latch only its holder writes here, but for LATCHED over LATCHED.
    word: P::U32,
    /// Empty while SET.
    sleepers: WaitRoom<P>,
}

impl<P: StaticPlatform> Event<P> {
    /// Not set, for statics.
    pub(crate) const INIT: Self = Event { word: P::U32_ZERO, sleepers: WaitRoom::INIT };
}

impl<P: Platform> Event<P> {
    /// Not set.
    pub(crate) fn new() -> Self {
        Event { word: P::U32::new(UNSET), sleepers: WaitRoom::new() }
    }

    /// Lets one thread go on: the one that has waited longest, or else the next to wait.
    pub(crate) fn set(&self) {
        self.latch();
        // SAFETY: the latch guards the room, and is ours.
        let oldest = unsafe { self.sleepers.pop_oldest() };
        self.unlatch(if oldest.is_some() { UNSET } else { SET });
        if let Some(popped) = oldest {
            // SAFETY: popped above, so its thread waits for this permit whatever its deadline is.
            unsafe { popped.unpark() };
        }
    }

    /// Sleeps until the event is set for us, and takes it; false if `deadline_ns` on the monotonic clock came first.
    pub(crate) fn wait(&self, deadline_ns: Option<u64>) -> bool {
        let node = WaitNode::new();
        if self.latch() == SET {
            self.unlatch(UNSET);
            return true;
        }
        // SAFETY: the latch guards the room, and is ours. The node stays here until it is popped and has its permit, or
        // has been removed.
        unsafe { self.sleepers.enqueue(&node) };
        self.unlatch(UNSET);
        node.park(deadline_ns) || !self.gives_up(&node) && node.park(None)
    }

    /// Past the deadline. False if the event has been given to the node already, and its permit is on its way.
    #[cold]
    fn gives_up(&self, node: &WaitNode<P>) -> bool {
        let state = self.latch();
        // SAFETY: the latch guards the room, and is ours; the node was enqueued there.
        let is_queued = unsafe { self.sleepers.remove(node) };
        self.unlatch(state);
        is_queued
    }

    /// Takes the latch and tells whether the event is set.
    fn latch(&self) -> u32 {
        // Ended by an unlatch, which waits for nobody.
        loop {
            let found = self.word.fetch_or(LATCHED, Acquire); // V1
            if found & LATCHED == 0 {
                return found;
            }
            P::yield_now();
        }
    }

    fn unlatch(&self, state: u32) {
        self.word.store(state, Release); // V1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    fn soon() -> Option<u64> {
        Some(Hardware::now_ns() + 1_000_000)
    }

    #[test]
    fn one_set_is_for_one_wait() {
        let event = Event::<Hardware>::new();
        assert!(!event.wait(soon()));
        event.set();
        event.set();
        assert!(event.wait(None));
        assert!(!event.wait(soon()), "two sets before a wait are one");
    }

    /// The thread that sets the event for a sleeper cannot take it itself, though the sleeper is not up yet.
    #[test]
    fn who_sets_it_for_a_sleeper_does_not_get_it() {
        let event = Event::<Hardware>::INIT;
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| event.wait(None));
            // SAFETY: the latch guards the room.
            while event.latch() == UNSET && unsafe { event.sleepers.is_empty() } {
                event.unlatch(UNSET);
                Hardware::yield_now();
            }
            event.unlatch(UNSET);
            event.set();
            assert!(!event.wait(soon()));
            assert!(sleeper.join().unwrap());
        });
    }
}
