//! The mutex that its holder may acquire again.

use crate::RawMutex;
use lock_api::{GetThreadId, RawMutex as _};
use std::num::NonZeroUsize;

/// The way in which [`ReentrantMutex`] tells threads apart.
pub struct RawThreadId;

// SAFETY: two threads that live at the same time have the byte at different places, and a thread's does not move. It has
// no destructor, so it is there in other destructors of the thread too.
unsafe impl GetThreadId for RawThreadId {
    const INIT: Self = RawThreadId;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| std::ptr::NonNull::from(here).addr())
    }
}

/// A [`Mutex`](crate::Mutex) that its holder may acquire again. Its guards give shared access only, so data that
/// changes lives in a cell.
///
/// # Example
/// ```
/// use parking_lot::ReentrantMutex;
/// use std::cell::Cell;
///
/// let depth = ReentrantMutex::new(Cell::new(0));
/// let outer = depth.lock();
/// depth.lock().set(1);
/// assert_eq!(outer.get(), 1);
/// ```
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;

/// Access to the data of a [`ReentrantMutex`].
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// Access to a part of the data of a [`ReentrantMutex`].
pub type MappedReentrantMutexGuard<'a, T> = lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// Makes a reentrant mutex around `val`, for constants.
pub const fn const_reentrant_mutex<T>(val: T) -> ReentrantMutex<T> {
    ReentrantMutex::const_new(RawMutex::INIT, RawThreadId::INIT, val)
}
