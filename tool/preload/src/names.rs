//! What is exported: the names of the C library that a program's calls are bound to instead.
//!
//! Without versions: the linker takes an unversioned definition for a versioned reference. `dlvsym` does not, and so
//! finds the C library's own; see `mutex`, Two masters.
//!
//! # The ways of a lock and an unlock
//! Each is for what the one before is not for, and jumps to the next.
//!
//! | the process | the mutex | lock | unlock |
//! |---|---|---|---|
//! | is not recorded | normal, ours, touched in this process | `lock_in::<false>` | `unlock_usual::<false>` |
//! | is recorded | the same, if nobody waits for it | `lock_in::<true>` | `unlock_usual::<true>` |
//! | any | of another type, else the same | `lock_unusual` | `unlock_unusual` |
//! | has the C library's locks, is not recorded | any | the same, to the C library | the same |
//! | has the C library's locks, known and recorded | normal, if nobody waits for it | `lock_beside_glibc` | `glibc::unlock_idle` |
//! | the same | normal, if others wait and no instant has come; another type, if nobody waits | `lock_with_a_look` | `unlock_with_a_look` |
//! | any | any | `lock_any` | `unlock_any` |
//!
//! All of them are as in POSIX and C11, for callers that keep what those ask for; that is the one condition of safety.
#![allow(clippy::missing_safety_doc, reason = "the head of the file has it, for all of them")]

mod c11;
mod filters;

use crate::bytes::cond::Cond;
use crate::bytes::glibc::wake_as_glibc;
use crate::bytes::mutex::Mutex;
use crate::rwlock::{
    pthread_rwlock_destroy, pthread_rwlock_init, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock,
    pthread_rwlock_trywrlock, pthread_rwlock_unlock, pthread_rwlock_wrlock,
};
use crate::time::Deadline;
use crate::{Answer, cond, glibc, process, real, thread};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use libc::{
    EBUSY, EINVAL, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t,
    pthread_rwlock_t, pthread_rwlockattr_t, timespec,
};

/// # Safety
/// The caller's mutex exists.
#[inline(always)]
unsafe fn ours<'a>(mutex: *const pthread_mutex_t) -> &'a Mutex {
    // SAFETY: as the caller says; all fields may be changed by others, and are atomic.
    unsafe { &*mutex.cast() }
}

/// # Safety
/// The caller's condition variable exists.
#[inline(always)]
unsafe fn cond<'a>(cond: *const pthread_cond_t) -> &'a Cond {
    // SAFETY: as the caller says.
    unsafe { &*cond.cast() }
}

// -- Names ------------------------------------------------------------------------------------------------------------

/// Behind `ondeck_name` of ondeck.h.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ondeck_set_name(lock: *const c_void, name: *const c_char) {
    if !lock.is_null() && !name.is_null() {
        // SAFETY: a string of C, as ondeck.h says.
        let name = unsafe { CStr::from_ptr(name) };
        ondeck_record::name(lock as u64, 1, name.to_bytes());
    }
}

// -- Mutexes ----------------------------------------------------------------------------------------------------------

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    /// The C library's attributes are an int: the type in its lower bits, and in these sharing, robustness and protocol.
    const KEPT_BY_GLIBC: c_uint = 0xf000_0000;
    const TYPE: c_uint = 3;
    // SAFETY: as POSIX says.
    let bits = if attributes.is_null() { 0 } else { unsafe { *attributes.cast::<c_uint>() } };
    if bits & KEPT_BY_GLIBC != 0 || process::is_glibc() {
        // Sets the kind, and zeros in all else.
        // SAFETY: as POSIX says.
        return unsafe { glibc::init(mutex.cast(), attributes) };
    }
    // SAFETY: as POSIX says.
    unsafe { ours(mutex) }.init(bits & TYPE);
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as POSIX says.
    let here = unsafe { ours(mutex) };
    // The C library takes its kind from a mutex that it destroys.
    let marks = here.kind().map_or_else(|| here.glibc_marks(), |_| Some(&here.marks));
    let answer = match here.kind() {
        Some(_) => here.destroy(),
        // SAFETY: as POSIX says.
        None => unsafe { glibc::destroy(mutex.cast()) },
    };
    if answer == 0 {
        ondeck_record::destroyed(mutex as u64, marks);
    }
    answer
}

/// Tells where it returns to, too: that says who has taken the lock, if its last act is a jump to the unlock.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("mov rsi, [rsp]", "jmp {}", sym lock_from);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!("mov x1, x30", "b {}", sym lock_from);
}

/// # Safety
/// As POSIX says; the call returns to the address `from`.
unsafe extern "C-unwind" fn lock_from(mutex: *mut pthread_mutex_t, from: u64) -> c_int {
    let state = process::state();
    if !process::is_recorded(state) {
        // SAFETY: as POSIX says.
        unsafe { lock_in::<false>(mutex, state, from) }
    } else if thread::known_state() ^ state == process::BESIDE {
        // SAFETY: as POSIX says.
        unsafe { lock_beside_glibc(mutex, from) }
    } else {
        // SAFETY: as POSIX says.
        unsafe { lock_in::<true>(mutex, state, from) }
    }
}

/// # Safety
/// As POSIX says.
#[inline(always)]
unsafe fn lock_beside_glibc(mutex: *mut pthread_mutex_t, from: u64) -> c_int {
    // SAFETY: as the caller says.
    match glibc::lock_idle(unsafe { ours(mutex) }, from) {
        Some(true) => 0,
        // SAFETY: as the caller says.
        Some(false) => unsafe { wait_beside_glibc(mutex, from) },
        // SAFETY: as the caller says.
        None => unsafe { lock_with_a_look(mutex, from) },
    }
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn lock_with_a_look(mutex: *mut pthread_mutex_t, from: u64) -> c_int {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    // SAFETY: as the caller says.
    let answer = unsafe { glibc::lock_plain(here, from) };
    // SAFETY: as the caller says.
    let answer = answer.or_else(|| unsafe { glibc::lock_marked(here, from) });
    // SAFETY: as the caller says.
    answer.unwrap_or_else(|| unsafe { lock_any(mutex, from) })
}

/// # Safety
/// As POSIX says, of a plain mutex of the C library's that an attempt has found locked.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn wait_beside_glibc(mutex: *mut pthread_mutex_t, from: u64) -> c_int {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    // SAFETY: as the caller says.
    unsafe { glibc::wait_idle(here, from) }
}

/// # Safety
/// As POSIX says.
#[inline(always)]
unsafe fn lock_in<const IS_RECORDED: bool>(mutex: *mut pthread_mutex_t, state: u32, from: u64) -> c_int {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    match here.usual_id::<IS_RECORDED>(state) {
        Some(id) if here.lock_usual::<IS_RECORDED>(id) => 0,
        // SAFETY: as the caller says.
        Some(_) => unsafe { wait(mutex) },
        // SAFETY: as the caller says.
        None => unsafe { lock_unusual(mutex, from) },
    }
}

// What is not usual has functions of its own, to which the usual ones jump: they need no frame.

/// # Safety
/// As POSIX says, and the mutex is a usual one.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn wait(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as the caller says.
    let answer = unsafe { ours(mutex) }.wait_plain();
    // Who knew that it is always 0 would call this one and return that, which takes a frame, instead of jumping here.
    core::hint::black_box(answer)
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn lock_unusual(mutex: *mut pthread_mutex_t, from: u64) -> c_int {
    if process::leaves_all(process::state()) {
        // SAFETY: as the caller says.
        return unsafe { real::lock_as_is(mutex) };
    }
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    // SAFETY: as the caller says.
    here.lock_touched().unwrap_or_else(|| unsafe { lock_any(mutex, from) })
}

/// # Safety
/// As POSIX says.
#[cold]
#[inline(never)]
unsafe fn lock_any(mutex: *mut pthread_mutex_t, from: u64) -> Answer {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    match here.kind() {
        Some(kind) => here.lock(kind, None),
        // SAFETY: as the caller says.
        None => unsafe { glibc::lock(mutex.cast(), from) },
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    let state = process::state();
    if process::is_recorded(state) {
        // SAFETY: as POSIX says.
        unsafe { try_lock_in::<true>(mutex, state) }
    } else {
        // SAFETY: as POSIX says.
        unsafe { try_lock_in::<false>(mutex, state) }
    }
}

/// # Safety
/// As POSIX says.
#[inline(always)]
unsafe fn try_lock_in<const IS_RECORDED: bool>(mutex: *mut pthread_mutex_t, state: u32) -> c_int {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    match here.usual_id::<IS_RECORDED>(state) {
        // A try in vain writes nothing.
        Some(id) if !here.looks_taken() && here.lock_usual::<IS_RECORDED>(id) => 0,
        Some(_) if !IS_RECORDED => EBUSY,
        // SAFETY: as the caller says.
        _ => unsafe { try_lock_any(mutex) },
    }
}

/// # Safety
/// As POSIX says.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn try_lock_any(mutex: *mut pthread_mutex_t) -> Answer {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    match here.kind() {
        Some(kind) => here.try_lock(kind),
        // SAFETY: as the caller says.
        None => unsafe { glibc::try_lock(mutex.cast()) },
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: as POSIX says.
    let here = unsafe { ours(mutex) };
    match here.kind() {
        // SAFETY: as POSIX says.
        Some(_) => unsafe { lock_until(here, libc::CLOCK_REALTIME, at) },
        // SAFETY: as POSIX says.
        None => unsafe { glibc::lock_until(mutex.cast(), None, at) },
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: as POSIX says.
    let here = unsafe { ours(mutex) };
    match here.kind() {
        Some(_) if !Deadline::is_clock(clock) => EINVAL,
        // SAFETY: as POSIX says.
        Some(_) => unsafe { lock_until(here, clock, at) },
        // SAFETY: as POSIX says.
        None => unsafe { glibc::lock_until(mutex.cast(), Some(clock), at) },
    }
}

/// A time that is none, or not there, is an error only for who must wait.
///
/// # Safety
/// `at` is null or a time, of any content, and the mutex is of ours.
unsafe fn lock_until(mutex: &Mutex, clock: clockid_t, at: *const timespec) -> Answer {
    let Some(kind) = mutex.kind() else { return EINVAL };
    // SAFETY: as the caller says.
    let Some(deadline) = unsafe { at.as_ref() }.and_then(|at| Deadline::new(clock, *at)) else {
        return mutex.lock_at_no_time(kind);
    };
    ondeck_record::gives_up(|| mutex.lock(kind, Some(deadline)))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as POSIX says.
    let here = unsafe { ours(mutex) };
    let state = process::state();
    if !process::is_recorded(state) {
        if here.unlock_usual::<false>(state) {
            return 0;
        }
    } else if process::records_known(state) {
        return match glibc::unlock_idle(here) {
            Some(false) => 0,
            Some(true) => wake_beside_glibc(mutex),
            // SAFETY: as POSIX says.
            None => unsafe { unlock_with_a_look(mutex) },
        };
    } else if here.unlock_usual::<true>(state) {
        return 0;
    }
    // SAFETY: as POSIX says.
    unsafe { unlock_unusual(mutex) }
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn unlock_with_a_look(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    let answer = glibc::unlock_plain(here);
    // SAFETY: as the caller says.
    let answer = answer.or_else(|| unsafe { glibc::unlock_marked(here) });
    // SAFETY: as the caller says.
    answer.unwrap_or_else(|| unsafe { unlock_any(mutex) })
}

#[cold]
#[inline(never)]
extern "C-unwind" fn wake_beside_glibc(mutex: *mut pthread_mutex_t) -> c_int {
    wake_as_glibc(mutex.cast());
    // As in `wait`.
    core::hint::black_box(0)
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn unlock_unusual(mutex: *mut pthread_mutex_t) -> c_int {
    if process::leaves_all(process::state()) {
        // SAFETY: as the caller says.
        return unsafe { real::unlock_as_is(mutex) };
    }
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    // SAFETY: as the caller says.
    here.unlock_touched().unwrap_or_else(|| unsafe { unlock_any(mutex) })
}

/// # Safety
/// As POSIX says.
#[cold]
#[inline(never)]
unsafe fn unlock_any(mutex: *mut pthread_mutex_t) -> Answer {
    // SAFETY: as the caller says.
    let here = unsafe { ours(mutex) };
    match here.kind() {
        Some(kind) => here.unlock(kind),
        // SAFETY: as the caller says.
        None => unsafe { glibc::unlock(mutex.cast()) },
    }
}

/// The names that old binaries use.
macro_rules! old_names {
    ($($old:ident = $new:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $old($($argument: $type),*) -> c_int {
            // SAFETY: the caller's.
            unsafe { $new($($argument),*) }
        }
    )*};
}

old_names! {
    __pthread_mutex_init = pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
    __pthread_mutex_destroy = pthread_mutex_destroy(mutex: *mut pthread_mutex_t);
    __pthread_mutex_lock = pthread_mutex_lock(mutex: *mut pthread_mutex_t);
    __pthread_mutex_trylock = pthread_mutex_trylock(mutex: *mut pthread_mutex_t);
    __pthread_mutex_unlock = pthread_mutex_unlock(mutex: *mut pthread_mutex_t);
    __pthread_rwlock_init = pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t);
    __pthread_rwlock_destroy = pthread_rwlock_destroy(lock: *mut pthread_rwlock_t);
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t);
    __pthread_rwlock_tryrdlock = pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t);
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t);
    __pthread_rwlock_trywrlock = pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t);
    __pthread_rwlock_unlock = pthread_rwlock_unlock(lock: *mut pthread_rwlock_t);
}

// -- Condition variables ----------------------------------------------------------------------------------------------

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
) -> c_int {
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::init_condition(condition, attributes) };
    }
    // The C library's attributes are an int: bit 0 is sharing, the clock is above it.
    // SAFETY: as POSIX says.
    let bits = if attributes.is_null() { 0 } else { unsafe { *attributes.cast::<c_uint>() } };
    // SAFETY: as POSIX says.
    unsafe { cond(condition) }.init(bits & 1 != 0, (bits >> 1) & 1 == libc::CLOCK_MONOTONIC as c_uint);
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int {
    ondeck_record::destroyed(condition as u64, None);
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::destroy_condition(condition) };
    }
    // SAFETY: as POSIX says.
    unsafe { cond(condition) }.destroy();
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as POSIX says.
    if unsafe { cond(condition) }.is_usual_and_idle() {
        return 0;
    }
    // SAFETY: as POSIX says.
    unsafe { signal_any(condition) }
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn signal_any(condition: *mut pthread_cond_t) -> c_int {
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::signal_condition(condition) };
    }
    glibc::notifies(condition, false);
    // SAFETY: as POSIX says.
    unsafe { cond(condition) }.signal();
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as POSIX says.
    if unsafe { cond(condition) }.is_usual_and_idle() {
        return 0;
    }
    // SAFETY: as POSIX says.
    unsafe { broadcast_any(condition) }
}

/// # Safety
/// As POSIX says.
#[inline(never)]
unsafe extern "C-unwind" fn broadcast_any(condition: *mut pthread_cond_t) -> c_int {
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::broadcast_condition(condition) };
    }
    glibc::notifies(condition, true);
    // SAFETY: as POSIX says.
    unsafe { cond(condition) }.broadcast();
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::wait(condition, mutex.cast(), None, core::ptr::null()) };
    }
    // SAFETY: as POSIX says.
    unsafe { cond::wait(condition.cast(), mutex.cast(), libc::CLOCK_REALTIME, core::ptr::null()) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::wait(condition, mutex.cast(), None, at) };
    }
    // SAFETY: as POSIX says.
    let clock = unsafe { cond(condition) }.clock();
    // SAFETY: as POSIX says.
    unsafe { cond::wait(condition.cast(), mutex.cast(), clock, at) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    if !Deadline::is_clock(clock) {
        return EINVAL;
    }
    if process::is_glibc() {
        // SAFETY: as POSIX says.
        return unsafe { glibc::wait(condition, mutex.cast(), Some(clock), at) };
    }
    // SAFETY: as POSIX says.
    unsafe { cond::wait(condition.cast(), mutex.cast(), clock, at) }
}
