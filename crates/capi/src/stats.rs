//! Statistics of this library's mutexes, for the metrics of the program.

use crate::OK;
use std::ffi::{c_char, c_int};

#[unsafe(no_mangle)]
extern "C" fn ondeck_stats_start() -> c_int {
    if ondeck_record::stats::start() { OK } else { libc::ENOTSUP }
}

/// # Safety
/// - `buffer` is room for `length` bytes, or `length` is 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_stats_prometheus(buffer: *mut c_char, length: usize) -> c_int {
    let mut text = String::new();
    // Text takes what is written.
    let _ = ondeck_record::stats::snapshot().prometheus(&mut text);
    let Ok(answer) = c_int::try_from(text.len()) else { return -1 };
    if length > 0 && !buffer.is_null() {
        let n = text.len().min(length - 1);
        // SAFETY: shorter than the buffer.
        unsafe { buffer.copy_from_nonoverlapping(text.as_ptr().cast(), n) };
        // SAFETY: as above.
        let end = unsafe { buffer.add(n) };
        // SAFETY: as above.
        unsafe { end.write(0) };
    }
    answer
}
