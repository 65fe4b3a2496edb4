//! The lock of a name, if it can lie in the bytes of a mutex.

use super::{Operations, ROOM};
use crate::platform::PreloadPlatform;
use core::ffi::CStr;
use core::ptr;
use ondeck_lineage::{LockVisitor, RawLock, with_lock};

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
