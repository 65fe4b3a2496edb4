//! ondeck's locks for C and C++: the functions of `include/ondeck.h`, which documents them. `include/ondeck.hpp` is the
//! interface for C++.
//!
//! Nobody uses this crate from Rust. In C the types to start with are `ondeck_mutex_t`, `ondeck_cond_t`,
//! `ondeck_rwlock_t` and `ondeck_monitor_t`.
//!
//! The objects are the raw locks themselves. C sees words of their size, and an object of zeros is a free one.
//!
//! Misuse is checked where a few instructions are enough. If pthread has an answer for it, the caller gets EPERM or
//! EINVAL. Otherwise the process ends with a message, because to continue would corrupt the caller's data.
//!
//! A panic that reaches C ends the process, with its message. This happens if a monitor finds no memory, or if a
//! monitor or a reader-writer lock cannot count any further.

// Clocks and error numbers are those of POSIX; the headers are for nothing else.
#![cfg(unix)]

mod clock;
mod condvar;
mod monitor;
mod mutex;
mod rwlock;
mod stats;

// The operations of the crate `ondeck`, compiled once more: its feature `record` would be on for all that is built with this.
ondeck_core::where_recordable! {
    {
        #[path = "../../ondeck/src/recorded.rs"]
        mod recorded;
    }
    else {
        #[path = "../../ondeck/src/unrecorded.rs"]
        mod recorded;
    }
}

ondeck_core::where_recordable! {
    {
        /// The lock at that address is gone, with its name.
        fn destroyed(address: u64) {
            ondeck_record::destroyed(address, None);
        }
    }
    else {
        fn destroyed(_: u64) {}
    }
}

use std::ffi::{CStr, c_char, c_void};

/// What the functions answer when all went well, as those of pthread.
const OK: std::ffi::c_int = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero in it"),
};

/// The version of the library, as `1.2.3`.
#[unsafe(no_mangle)]
extern "C" fn ondeck_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Behind `ondeck_name`, for the locks of this library.
///
/// # Safety
/// - `name` is null or a string of C.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_set_own_name(lock: *const c_void, name: *const c_char) {
    if !lock.is_null() && !name.is_null() {
        // SAFETY: the caller's.
        let name = unsafe { CStr::from_ptr(name) };
        recorded::name(lock as u64, 1, name.to_bytes());
    }
}

/// Ends the process after `message`, which ends its line. Allocates nothing: the caller may be an allocator.
#[cold]
#[inline(never)]
fn misused(message: &str) -> ! {
    // SAFETY: the bytes are borrowed for as long as the call takes. Whether they arrive changes nothing.
    unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len()) };
    std::process::abort()
}
