//! Filters of system calls (seccomp) that the program sets. One may end the process for a call that nobody expects of a mutex,
//! `membarrier`. So before that no mutex relies on it any more.
//!
//! Programs reach the kernel's call by one of two functions. One that makes it without the C library has to allow `membarrier`.
//! A thread may be cancelled within them, at any instruction if it asks for that. So both are `C-unwind`: a function that is not has a
//! guard against unwinding, which ends the process for an instruction that calls nothing.

use crate::real;
use core::ffi::{c_int, c_long, c_ulong};
use ondeck_core::Hardware;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        Hardware::forgo_sequences();
    }
    // SAFETY: as the kernel says. What the caller has left out, the kernel does not look at.
    unsafe { real::prctl(option, a, b, c, d) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == libc::SYS_seccomp || number == libc::SYS_prctl && a == c_long::from(libc::PR_SET_SECCOMP) {
        Hardware::forgo_sequences();
    }
    // SAFETY: as in `prctl`.
    unsafe { real::syscall()(number, a, b, c, d, e, f) }
}
