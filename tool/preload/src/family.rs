//! Any other lock of the family in the place of the flagship: for comparisons, not for speed.

#[cfg(feature = "lab")]
mod named;

#[cfg(feature = "lab")]
pub(crate) use named::choose;

use crate::platform::PreloadPlatform;
use ondeck_core::Platform;

/// Bytes of a mutex that a lock may have: those that the C library uses for robust mutexes only, which are not ours.
pub(crate) const ROOM: usize = 16;

/// The operations of a lock that lies at an address.
pub(crate) struct Operations {
    acquire: unsafe fn(*const u8),
    try_acquire: unsafe fn(*const u8) -> bool,
    release: unsafe fn(*const u8),
}

impl Operations {
    /// # Safety
    /// A lock of this kind, or zeros, is at `lock`.
    pub(crate) unsafe fn acquire(&self, lock: *const u8) {
        // SAFETY: as the caller says.
        unsafe { (self.acquire)(lock) };
    }

    /// # Safety
    /// As for [`acquire`](Self::acquire).
    pub(crate) unsafe fn try_acquire(&self, lock: *const u8) -> bool {
        // SAFETY: as the caller says.
        unsafe { (self.try_acquire)(lock) }
    }

    /// By looking now and then: most of the family cannot give up a place in a queue.
    ///
    /// # Safety
    /// As for [`acquire`](Self::acquire).
    pub(crate) unsafe fn try_acquire_until(&self, lock: *const u8, deadline_ns: u64) -> bool {
        const SHORTEST_NS: u32 = 20_000;
        const LONGEST_NS: u32 = 1_000_000;
        let mut gap_ns = SHORTEST_NS;
        // Ended by the deadline, if not before.
        loop {
            // SAFETY: as the caller says.
            if unsafe { self.try_acquire(lock) } {
                return true;
            }
            let left_ns = deadline_ns.saturating_sub(PreloadPlatform::now_ns());
            if left_ns == 0 {
                return false;
            }
            PreloadPlatform::nap_ns(gap_ns.min(u32::try_from(left_ns).unwrap_or(LONGEST_NS)));
            gap_ns = (gap_ns * 2).min(LONGEST_NS);
        }
    }

    /// # Safety
    /// As for [`acquire`](Self::acquire), and the calling thread holds the lock.
    pub(crate) unsafe fn release(&self, lock: *const u8) {
        // SAFETY: as the caller says.
        unsafe { (self.release)(lock) };
    }
}

/// There is no other lock to choose.
#[cfg(not(feature = "lab"))]
pub(crate) fn choose(_: &core::ffi::CStr) -> Result<&'static Operations, &'static str> {
    Err("this library was built without the locks of others")
}
