//! C11: the same objects under other names, with answers of their own.
//!
//! All of them are as in C11, for callers that keep what that asks for; that is the one condition of safety.
#![allow(clippy::missing_safety_doc, reason = "the head of the file has it, for all of them")]

use super::{
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_signal, pthread_cond_timedwait,
    pthread_cond_wait, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_timedlock,
    pthread_mutex_trylock, pthread_mutex_unlock,
};
use crate::Answer;
use core::ffi::c_int;
use libc::{EBUSY, ETIMEDOUT, pthread_cond_t, pthread_mutex_t, timespec};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

/// The type of a mutex that its owner may lock again, a bit; the number of that kind, too.
const RECURSIVE: c_int = 1;
/// All types: plain and timed ones, recursive or not.
const TYPES: core::ops::RangeInclusive<c_int> = 0..=3;

fn c11(answer: Answer) -> c_int {
    match answer {
        0 => SUCCESS,
        EBUSY => BUSY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    if !TYPES.contains(&kind) {
        return ERROR;
    }
    // The C library's attributes, as in `pthread_mutex_init`.
    let attributes = kind & RECURSIVE;
    // SAFETY: as C says; the two types are one in the C library.
    c11(unsafe { pthread_mutex_init(mutex, (&raw const attributes).cast()) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_destroy(mutex: *mut pthread_mutex_t) {
    // SAFETY: as C says.
    unsafe { pthread_mutex_destroy(mutex) };
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_mutex_lock(mutex) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_mutex_trylock(mutex) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_timedlock(mutex: *mut pthread_mutex_t, at: *const timespec) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_mutex_timedlock(mutex, at) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_mutex_unlock(mutex) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_init(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_cond_init(condition, core::ptr::null()) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_destroy(condition: *mut pthread_cond_t) {
    // SAFETY: as C says.
    unsafe { pthread_cond_destroy(condition) };
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_signal(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_cond_signal(condition) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_broadcast(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_cond_broadcast(condition) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_cond_wait(condition, mutex) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn cnd_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: as C says.
    c11(unsafe { pthread_cond_timedwait(condition, mutex, at) })
}
