//! What tells a file of the program from another one that takes its place. Asked of the kernel before the program starts only:
//! later it would be a system call at a lock.

use crate::layout::Stamp;
use core::ffi::{CStr, c_char};
use ondeck_core::kernel;

pub(crate) const UNKNOWN: Stamp = Stamp { device: 0, number: 0, size: 0, modified_ns: 0 };

/// What the file of that name is; of the program itself, which has none. The kernel's code has a name and no path.
pub(crate) fn of(name: *const c_char) -> Stamp {
    // SAFETY: the loader's string.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let path = if name.is_empty() { c"/proc/self/exe" } else { name };
    if !path.to_bytes().contains(&b'/') {
        return UNKNOWN;
    }
    // SAFETY: zeros are a value of it.
    let mut told: libc::stat = unsafe { core::mem::zeroed() };
    let (here, name, place) = (libc::AT_FDCWD as usize, path.as_ptr() as usize, (&raw mut told) as usize);
    // SAFETY: a string of C, and room for the answer.
    if unsafe { kernel::call(libc::SYS_newfstatat, [here, name, place, 0]) }.is_err() {
        return UNKNOWN;
    }
    let modified_ns = told.st_mtime.wrapping_mul(1_000_000_000).wrapping_add(told.st_mtime_nsec);
    Stamp { device: told.st_dev, number: told.st_ino, size: told.st_size as u64, modified_ns }
}
