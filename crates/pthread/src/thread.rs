//! Who the calling thread is, and whether it is the only one.

use crate::process;
use core::cell::Cell;
use core::ffi::c_char;

std::thread_local! {
    /// The kernel's number of this thread, above it the generation of the process that it was asked in: the child of a
    /// fork has another number. Without a destructor, so that there is nothing to register, and it is there to the end.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// The kernel's number of the calling thread, as the C library keeps it in a mutex's owner.
#[inline(always)]
pub(crate) fn id() -> u32 {
    let own = OWN.get();
    if (own >> 32) as u32 == process::generation() { own as u32 } else { ask() }
}

#[cold]
fn ask() -> u32 {
    // SAFETY: always may be called.
    let id = unsafe { libc::gettid() } as u32;
    OWN.set(u64::from(process::generation()) << 32 | u64::from(id));
    id
}

unsafe extern "C" {
    /// Of the C library, since its version 2.32: not 0 while the process has one thread.
    static __libc_single_threaded: c_char;
}

/// Whether the process has no other thread, as the C library knows it. Then nobody can see the difference between an
/// atomic operation and a load and a store.
#[inline(always)]
pub(crate) fn is_alone() -> bool {
    // SAFETY: a byte that is written before the first thread is started, or after the last other one is gone.
    unsafe { __libc_single_threaded != 0 }
}
