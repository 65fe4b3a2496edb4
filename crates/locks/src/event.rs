//! An event that resets itself: whoever waits for it takes it away, so that one `set` lets one thread go on.
//!
//! Two sets before a wait are one. Which of several sleepers goes on is not promised: one that arrives at the right
//! moment may go before one that was woken, which then sleeps again.
//!
//! What happened before `set` happens before the `wait` that takes it. The locks here need that: a woken waiter must see
//! the lock as its waker left it, or it would find an old owner inside and sleep for good.

use core::sync::atomic::Ordering::{Acquire, Release};
use ondeck_platform::{Atomic, Platform, StaticPlatform, Waited};

const UNSET: u32 = 0;
const SET: u32 = 1;

/// The event.
#[repr(transparent)]
pub(crate) struct Event<P: Platform>(P::U32);

impl<P: StaticPlatform> Event<P> {
    /// Not set, for statics.
    pub(crate) const INIT: Self = Event(P::U32_ZERO);
}

impl<P: Platform> Event<P> {
    /// Not set.
    pub(crate) fn new() -> Self {
        Event(P::U32::new(UNSET))
    }

    /// Lets one thread go on: one that sleeps, or else the next to wait.
    pub(crate) fn set(&self) {
        // If it was set, whoever set it has sent a wake or will, and nobody has taken it yet.
        if self.0.swap(SET, Release) == UNSET {
            P::wake(&self.0, 1);
        }
    }

    /// Sleeps until the event is set, and takes it; false if `deadline_ns` on the monotonic clock came first.
    pub(crate) fn wait(&self, deadline_ns: Option<u64>) -> bool {
        // Ended by a set, or by the deadline. After that one more look: a wake may have been meant for us.
        loop {
            if self.take() {
                return true;
            }
            if P::wait_on(&self.0, UNSET, deadline_ns) == Waited::TimedOut {
                return self.take();
            }
        }
    }

    fn take(&self) -> bool {
        self.0.swap(UNSET, Acquire) == SET
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_platform::Hardware;

    #[test]
    fn one_set_is_for_one_wait() {
        let event = Event::<Hardware>::new();
        let soon = || Some(Hardware::now_ns() + 1_000_000);
        assert!(!event.wait(soon()));
        event.set();
        event.set();
        assert!(event.wait(None));
        assert!(!event.wait(soon()), "two sets before a wait are one");
    }

    #[test]
    fn a_sleeper_goes_on() {
        let event = Event::<Hardware>::INIT;
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| event.wait(None));
            event.set();
            assert!(sleeper.join().unwrap());
        });
        assert!(!event.take());
    }
}
