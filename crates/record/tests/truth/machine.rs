//! Machines that are not to be had: calls of the C library that are answered here, for all that is linked with these tests.

use libc::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

static REFUSED: AtomicI32 = AtomicI32::new(-1);
static ERROR: AtomicI32 = AtomicI32::new(0);
/// In bytes; more than there can be stands for what there is.
static ROOM: AtomicU64 = AtomicU64::new(u64::MAX);

/// That advice is refused from now on, with that error.
pub(crate) fn refuse(advice: c_int, error: c_int) {
    ERROR.store(error, Relaxed);
    REFUSED.store(advice, Relaxed);
}

/// File systems have room for so many bytes.
pub(crate) fn leave_room(bytes: u64) {
    ROOM.store(bytes, Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(place: *mut c_void, length: usize, advice: c_int) -> c_int {
    if advice == REFUSED.load(Relaxed) {
        // SAFETY: always may be called.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own.
        unsafe { *place = ERROR.load(Relaxed) };
        return -1;
    }
    // SAFETY: as the caller says.
    unsafe { libc::syscall(libc::SYS_madvise, place, length, advice) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstatvfs(file: c_int, answer: *mut libc::statvfs) -> c_int {
    // SAFETY: as the caller says.
    let result = unsafe { libc::fstatvfs64(file, answer.cast()) };
    let room = ROOM.load(Relaxed);
    if result == 0 && room != u64::MAX {
        // SAFETY: filled above; the two forms are one where addresses have 64 bits.
        let answer = unsafe { &mut *answer };
        (answer.f_frsize, answer.f_bavail) = (512, room / 512);
    }
    result
}
