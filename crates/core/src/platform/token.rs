//! One permit of one thread, for algorithms that wake a chosen thread.

use crate::{Atomic, Platform, WaitEnd};
use core::sync::atomic::Ordering::{Acquire, Release};

const ABSENT: u32 = 0;
const PRESENT: u32 = 1;

/// A permit that one thread waits for and another thread gives.
///
/// It works like Go's `semasleep` and `semawakeup`, or like `thread::park` without a handle. A token usually lives on
/// the stack of the thread that waits. `unpark` touches it in one store, and then works by address only. So the waiting
/// thread may take the token away as soon as `park` has returned true.
///
/// ```
/// use ondeck_core::{Hardware, Token};
///
/// let token = Token::<Hardware>::new();
/// std::thread::scope(|threads| {
///     // SAFETY: the token outlives the scope.
///     threads.spawn(|| unsafe { Token::unpark(&token) });
///     assert!(token.park(None));
/// });
/// ```
///
/// # Blocking
/// `park` sleeps. `unpark` does not sleep, but makes a system call.
#[repr(transparent)]
pub struct Token<P: Platform>(P::U32);

impl<P: Platform> Token<P> {
    /// Makes a token without a permit.
    #[inline]
    pub fn new() -> Self {
        Token(P::U32::new(ABSENT))
    }

    /// Sleeps until there is a permit, and takes it. Returns false if `deadline_ns` on the monotonic clock came first.
    ///
    /// If `park` returns true, the thread sees everything that the giver did before [`unpark`](Token::unpark).
    pub fn park(&self, deadline_ns: Option<u64>) -> bool {
        loop {
            if self.0.swap(ABSENT, Acquire) == PRESENT {
                return true;
            }
            if P::wait_on(&self.0, ABSENT, deadline_ns) == WaitEnd::TimedOut {
                return self.0.swap(ABSENT, Acquire) == PRESENT;
            }
        }
    }

    /// Gives the permit. If the token still has a permit, the new one is lost.
    ///
    /// # Safety
    /// `token` is alive when this is called. It may be gone when this returns, or before: after the store that gives
    /// the permit, only its address is used.
    pub unsafe fn unpark(token: *const Self) {
        let word = token.cast::<P::U32>();
        // SAFETY: the caller says that the token is alive until the store below, and `Token` is just its word.
        unsafe { (*word).store(PRESENT, Release) };
        P::wake(word, 1);
    }
}

impl<P: Platform> Default for Token<P> {
    fn default() -> Self {
        Self::new()
    }
}
