//! Any other lock of the family in the place of the flagship: for comparisons, not for speed.

use crate::platform::PreloadPlatform;
use core::ffi::CStr;
use core::ptr;
use ondeck_core::Platform;
use ondeck_lineage::{LockVisitor, RawLock, with_lock};

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

/// The lock called `name`, or why it cannot be a program's mutex.
pub(crate) fn choose(name: &CStr) -> Result<&'static Operations, &'static str> {
    let name = name.to_str().unwrap_or_default();
    with_lock::<PreloadPlatform, _>(name, OperationsVisitor).unwrap_or(Err("there is no lock of this name"))
}

struct OperationsVisitor;

impl LockVisitor for OperationsVisitor {
    type Output = Result<&'static Operations, &'static str>;

    fn visit<L: RawLock>(self) -> Self::Output {
        match L::ENTRY.refusal_as_posix_mutex() {
            Some(reason) => Err(reason),
            None if !is_zero_when_free::<L>() => Err("its free form is not zero, as that of a static mutex is"),
            None => Ok(&Form::<L>::OPERATIONS),
        }
    }
}

/// Whether a lock may lie in memory that nobody has initialised but with zeros.
fn is_zero_when_free<L: RawLock>() -> bool {
    if size_of::<L>() > ROOM || align_of::<L>() > align_of::<u64>() {
        return false;
    }
    let mut bytes = [0_u8; ROOM];
    let lock = core::mem::ManuallyDrop::new(L::new());
    // SAFETY: the lock is alive and has that size, which is not more than the room for it.
    unsafe { ptr::copy_nonoverlapping((&raw const lock).cast::<u8>(), bytes.as_mut_ptr(), size_of::<L>()) };
    bytes == [0; ROOM]
}

struct Form<L>(core::marker::PhantomData<L>);

impl<L: RawLock> Form<L> {
    const OPERATIONS: Operations =
        Operations { acquire: Self::acquire, try_acquire: Self::try_acquire, release: Self::release };

    unsafe fn acquire(lock: *const u8) {
        // SAFETY: as the caller of the operation says.
        unsafe { &*lock.cast::<L>() }.acquire();
    }

    unsafe fn try_acquire(lock: *const u8) -> bool {
        // SAFETY: as above.
        unsafe { &*lock.cast::<L>() }.try_acquire()
    }

    unsafe fn release(lock: *const u8) {
        // SAFETY: as above.
        let lock = unsafe { &*lock.cast::<L>() };
        // SAFETY: as above, the calling thread holds it.
        unsafe { lock.release() };
    }
}
