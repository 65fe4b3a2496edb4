//! Mutexes and condition variables that stay the C library's, recorded.
//!
//! All of them with `ONDECK_LOCK=glibc`; else those that the C library keeps (see `mutex`). A plain mutex is locked here if it
//! is free, and unlocked, by the C library's own writes: to call it takes longer than to lock. Others are tried first,
//! or looked at if their attempts do more than to fail, and a clock is asked only if one is locked. The recorder's marks lie in
//! bytes that the C library uses in robust mutexes only. Of those, of mutexes of several processes and of ones with a protocol
//! the recorder has the marks elsewhere, by their addresses. Who holds one in another process is not known.
//!
//! What cannot be seen: the wait for the mutex at the end of a wait on a condition variable is inside the C library, and
//! counts as a part of that.

use crate::bytes::glibc::{raw, wake_as_glibc};
use crate::bytes::mutex::{ADAPTIVE, ERRORCHECK, Mutex, NORMAL, RECURSIVE, WHOSE};
use crate::handler::or_leave;
use crate::time::Deadline;
use crate::{Answer, probes, process, real, thread};
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EBUSY, ETIMEDOUT, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutexattr_t, timespec};
use ondeck_core::kernel;
use ondeck_record::layout::kind;
use ondeck_record::{Marks, OpaqueWait, is_due};

fn is_recorded() -> bool {
    process::is_recorded(process::state())
}

impl Mutex {
    /// The recorder's marks in a mutex of the C library that has room for them.
    pub(crate) fn glibc_marks(&self) -> Option<&Marks> {
        let kind = self.shape.load(Relaxed) as u32 & WHOSE;
        (process::is_glibc() && matches!(kind, NORMAL | ADAPTIVE | RECURSIVE | ERRORCHECK)).then_some(&self.marks)
    }

    /// Those of one that the C library always keeps, which lie elsewhere.
    fn kept_marks(&self) -> Option<&'static Marks> {
        let kind = self.shape.load(Relaxed) as u32 & WHOSE;
        (kind > ADAPTIVE).then(|| ondeck_record::bare::marks_of(self.address())).flatten()
    }

    /// The marks of any that is recorded.
    fn any_marks(&self) -> Option<&Marks> {
        self.glibc_marks().or_else(|| self.kept_marks())
    }

    /// Whether a thread of another process has it.
    fn is_elsewhere(&self) -> bool {
        const SHARED: u32 = 128;
        let owner = self.owner.load(Relaxed) as usize;
        let is_shared = self.shape.load(Relaxed) as u32 & SHARED != 0;
        // SAFETY: sends no signal, and asks whether it could.
        let ask = || unsafe { kernel::call(libc::SYS_tgkill, [kernel::process() as usize, owner, 0]) };
        is_shared && owner != 0 && ask().is_err()
    }
}

/// # Safety
/// As of `pthread_mutex_init`.
pub(crate) unsafe fn init(mutex: *const Mutex, attributes: *const pthread_mutexattr_t) -> Answer {
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_mutex_init(raw(mutex), attributes) };
    if answer == 0 && is_recorded() {
        // SAFETY: the caller's mutex exists.
        match unsafe { &*mutex }.any_marks() {
            Some(marks) => marks.initialised(),
            None => ondeck_record::forget(mutex as u64),
        }
    }
    answer
}

/// # Safety
/// As of `pthread_mutex_destroy`.
pub(crate) unsafe fn destroy(mutex: *const Mutex) -> Answer {
    // SAFETY: the caller's.
    unsafe { real::pthread_mutex_destroy(raw(mutex)) }
}

/// Locks one of the most frequent kind for which nobody waits, if this acquisition is not looked at: whether it was free;
/// `None` if nothing has been done. By a thread that is known, where such mutexes are.
#[inline(always)]
pub(crate) fn lock_idle(mutex: &Mutex, from: u64) -> Option<bool> {
    // Counted before: what is done between the locked instructions of a lock and an unlock takes longest.
    let is_counted = mutex.plain_glibc_marks()?.count_if_idle();
    is_counted.then(|| {
        let is_in = mutex.grab_as_glibc(thread::known_id());
        if is_in {
            mutex.note_from(from);
        }
        is_in
    })
}

/// Waits for what [`lock_idle`] has found locked.
///
/// # Safety
/// As of `pthread_mutex_lock`.
pub(crate) unsafe fn wait_idle(mutex: &Mutex, from: u64) -> Answer {
    ondeck_record::uncount();
    // SAFETY: the caller's.
    unsafe { wait_plain(mutex, from) }
}

/// Unlocks such a one, if there is nothing to record: whether somebody is to be woken; `None` if nothing has been done. Where
/// they are known.
#[inline(always)]
pub(crate) fn unlock_idle(mutex: &Mutex) -> Option<bool> {
    mutex.plain_glibc_marks().filter(|marks| !marks.has_any())?;
    Some(mutex.free_as_glibc())
}

/// Locks one of the most frequent kind, if this acquisition is not looked at; `None` if nothing has been done.
///
/// # Safety
/// As of `pthread_mutex_lock`.
#[inline(always)]
pub(crate) unsafe fn lock_plain(mutex: &Mutex, from: u64) -> Option<Answer> {
    let id = thread::id_beside_known()?;
    // All that is looked at is looked at before: what follows a locked instruction waits for it.
    mutex.plain_glibc_marks().filter(|marks| marks.is_quiet())?;
    if !mutex.grab_as_glibc(id) {
        // SAFETY: the caller's.
        return Some(unsafe { wait_plain(mutex, from) });
    }
    mutex.note_from(from);
    ondeck_record::count();
    Some(0)
}

/// Locks one of any kind that has marks and for which nobody waits, by the C library's try, if this acquisition is not looked at;
/// `None` if nothing has been done. In a process that records them.
///
/// # Safety
/// As of `pthread_mutex_lock`.
#[inline(always)]
pub(crate) unsafe fn lock_marked(mutex: &Mutex, from: u64) -> Option<Answer> {
    let kind = mutex.shape.load(Relaxed) as u32 & WHOSE;
    if kind > ADAPTIVE || !mutex.marks.is_idle() {
        return None;
    }
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_mutex_trylock(raw(mutex)) };
    if answer == 0 && !mutex.is_locked_again() {
        mutex.note_from(from);
        ondeck_record::count();
    }
    (answer == 0).then_some(0)
}

/// Unlocks one of any kind that has marks, if there is nothing to record; `None` if nothing has been done. As [`lock_marked`].
///
/// # Safety
/// As of `pthread_mutex_unlock`.
#[inline(always)]
pub(crate) unsafe fn unlock_marked(mutex: &Mutex) -> Option<Answer> {
    let kind = mutex.shape.load(Relaxed) as u32 & WHOSE;
    if kind > ADAPTIVE || mutex.marks.has_any() {
        return None;
    }
    // SAFETY: the caller's.
    Some(unsafe { real::unlock_as_is(raw(mutex)) })
}

/// # Safety
/// As of `pthread_mutex_lock`.
#[cold]
#[inline(never)]
unsafe fn wait_plain(mutex: &Mutex, from: u64) -> Answer {
    // SAFETY: the caller's.
    let answer = wait_for(mutex, &mutex.marks, || unsafe { real::pthread_mutex_lock(raw(mutex)) });
    // Who does not have it writes nothing into it.
    if answer == 0 {
        mutex.note_from(from);
    }
    answer
}

/// Unlocks one of the most frequent kind, if there is nothing to record; `None` if nothing has been done. Where they are known.
#[inline(always)]
pub(crate) fn unlock_plain(mutex: &Mutex) -> Option<Answer> {
    mutex.plain_glibc_marks().filter(|marks| !marks.is_marked())?;
    if mutex.free_as_glibc() {
        wake_as_glibc(mutex);
    }
    Some(0)
}

/// Locks by `act`, after an attempt.
///
/// # Safety
/// The caller's mutex exists; `act` locks it.
unsafe fn lock_by(mutex: *const Mutex, act: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's mutex exists.
    let here = unsafe { &*mutex };
    let marks = here.glibc_marks();
    if !is_recorded() {
        return act();
    }
    if let Some(marks) = here.kept_marks().filter(|_| !here.is_elsewhere()) {
        return lock_kept(here, marks, act);
    }
    if marks.is_none() {
        ondeck_record::note_lock();
        if here.looks_free() {
            return act();
        }
    }
    if thread::is_alone() && marks.is_some() {
        return taken(here, marks, act());
    }
    if let Some(marks) = marks.filter(|_| is_due()) {
        // SAFETY: the caller's.
        return marks.take_ready(mutex as u64, || unsafe { lock_recorded(mutex, Some(marks), act) });
    }
    // SAFETY: the caller's.
    unsafe { lock_recorded(mutex, marks, act) }
}

/// # Safety
/// As for [`lock_by`].
#[inline(always)]
unsafe fn lock_recorded(mutex: *const Mutex, marks: Option<&Marks>, act: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's mutex exists.
    let here = unsafe { &*mutex };
    let Some(marks) = marks else {
        let wait = OpaqueWait::begin(mutex as u64, kind::OPAQUE);
        look(wait.as_ref());
        let answer = act();
        if let Some(wait) = wait {
            wait.end();
        }
        return answer;
    };
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_mutex_trylock(raw(mutex)) };
    if answer != EBUSY {
        return taken(here, Some(marks), answer);
    }
    // Its owner again, and an error.
    if here.refuses_its_owner() && here.is_mine() {
        return act();
    }
    wait_for(here, marks, act)
}

/// Locks one that the C library always keeps. An attempt may do more than to fail, so it is looked at.
fn lock_kept(mutex: &Mutex, marks: &Marks, act: impl Fn() -> Answer) -> Answer {
    let is_again = (mutex.may_be_locked_again() || mutex.refuses_its_owner()) && mutex.is_mine();
    if mutex.looks_free() || is_again { taken(mutex, Some(marks), act()) } else { wait_for(mutex, marks, act) }
}

/// Whether a call has locked a mutex: also one whose last owner has died.
fn has_it(answer: Answer) -> bool {
    matches!(answer, 0 | libc::EOWNERDEAD)
}

/// Waits by `act`, which locks the mutex.
#[inline(always)]
fn wait_for(mutex: &Mutex, marks: &Marks, act: impl Fn() -> Answer) -> Answer {
    let address = (&raw const *mutex) as u64;
    let Some(wait) = marks.wait(address) else { return act() };
    probes::contended(address);
    let answer = or_leave(|| wait.leave(), act);
    let waited_ns = wait.end(has_it(answer), address);
    probes::acquired(address, waited_ns, has_it(answer));
    answer
}

/// Records an acquisition that did not wait.
#[inline]
fn taken(mutex: &Mutex, marks: Option<&Marks>, answer: Answer) -> Answer {
    if has_it(answer)
        && !mutex.is_locked_again()
        && let Some(marks) = marks
    {
        marks.taken((&raw const *mutex) as u64);
    }
    answer
}

/// # Safety
/// As of `pthread_mutex_lock`.
pub(crate) unsafe fn lock(mutex: *const Mutex, from: u64) -> Answer {
    thread::learn();
    // SAFETY: the caller's.
    let act = || unsafe { real::pthread_mutex_lock(raw(mutex)) };
    // SAFETY: the caller's.
    let answer = unsafe { lock_by(mutex, act) };
    // SAFETY: the caller's mutex exists.
    acquired(unsafe { &*mutex }, answer, from);
    answer
}

/// Notes where the call returns to that may have locked a mutex, 0 if that is not known: a place of an earlier hold is none of
/// this one.
fn acquired(mutex: &Mutex, answer: Answer, from: u64) {
    if has_it(answer) && mutex.glibc_marks().is_some() && !mutex.is_locked_again() {
        mutex.note_from(from);
    }
}

/// By that clock, or by the real-time one.
///
/// # Safety
/// As of `pthread_mutex_clocklock`.
pub(crate) unsafe fn lock_until(mutex: *const Mutex, clock: Option<clockid_t>, at: *const timespec) -> Answer {
    let act = || match clock {
        // SAFETY: the caller's.
        Some(clock) => unsafe { real::pthread_mutex_clocklock(raw(mutex), clock, at) },
        // SAFETY: the caller's.
        None => unsafe { real::pthread_mutex_timedlock(raw(mutex), at) },
    };
    if clock.is_some_and(|clock| !Deadline::is_clock(clock)) {
        return act();
    }
    // SAFETY: the caller's.
    let answer = ondeck_record::gives_up(|| unsafe { lock_by(mutex, act) });
    // SAFETY: the caller's mutex exists.
    acquired(unsafe { &*mutex }, answer, 0);
    answer
}

/// # Safety
/// As of `pthread_mutex_trylock`.
pub(crate) unsafe fn try_lock(mutex: *const Mutex) -> Answer {
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_mutex_trylock(raw(mutex)) };
    // SAFETY: the caller's mutex exists.
    let here = unsafe { &*mutex };
    acquired(here, answer, 0);
    if is_recorded() { tried(here, answer) } else { answer }
}

/// Records a try, whether or not it has locked the mutex.
fn tried(mutex: &Mutex, answer: Answer) -> Answer {
    let marks = mutex.any_marks();
    let address = (&raw const *mutex) as u64;
    match (answer, marks) {
        (EBUSY, Some(marks)) => marks.tried(address),
        (0, Some(_)) => ondeck_record::has_by_try(address),
        _ => {}
    }
    ondeck_record::gives_up(|| taken(mutex, marks, answer))
}

/// # Safety
/// As of `pthread_mutex_unlock`.
pub(crate) unsafe fn unlock(mutex: *const Mutex) -> Answer {
    // SAFETY: the caller's mutex exists.
    let pending = if is_recorded() { about_to_release(unsafe { &*mutex }) } else { None };
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_mutex_unlock(raw(mutex)) };
    if let Some(pending) = pending {
        pending.done();
    }
    answer
}

#[inline]
fn about_to_release(mutex: &Mutex) -> Option<ondeck_record::PendingRelease> {
    let marks = mutex.any_marks().filter(|marks| marks.is_marked())?;
    if mutex.is_locked_again() || mutex.refuses_others() {
        return None;
    }
    let address = (&raw const *mutex) as u64;
    let pending = marks.release(address)?;
    probes::release(address);
    let from = mutex.glibc_marks().map_or(0, |_| mutex.from().load(Relaxed));
    Some(pending.of_hold_from(from))
}

// -- Condition variables ----------------------------------------------------------------------------------------------

/// What comes to be at this address is another one.
pub(crate) fn forget(address: u64) {
    if is_recorded() {
        ondeck_record::forget(address);
    }
}

/// The calling thread begins to wait on the condition variable at that address, be it whose it may.
pub(crate) fn begin_to_wait_on(address: u64) -> Option<OpaqueWait> {
    if is_recorded() { OpaqueWait::begin(address, kind::CONDITION) } else { None }
}

/// The calling thread notifies one or all that wait on the condition variable, be it whose it may.
#[inline]
pub(crate) fn notifies(condition: *const pthread_cond_t, is_all: bool) {
    if is_recorded() {
        ondeck_record::notifies(condition as u64, is_all);
    }
}

/// The thread that waits holds nothing that others wait for.
pub(crate) fn look(wait: Option<&OpaqueWait>) {
    if let Some(wait) = wait {
        wait.look();
    }
}

/// The wait is over.
pub(crate) fn end_wait_on(wait: Option<OpaqueWait>) {
    if let Some(wait) = wait {
        wait.end();
    }
}

/// # Safety
/// As of `pthread_cond_init`.
pub(crate) unsafe fn init_condition(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int {
    forget(condition as u64);
    // SAFETY: the caller's.
    unsafe { real::pthread_cond_init(condition, attributes) }
}

/// # Safety
/// As of `pthread_cond_destroy`.
pub(crate) unsafe fn destroy_condition(condition: *mut pthread_cond_t) -> c_int {
    forget(condition as u64);
    // SAFETY: the caller's.
    unsafe { real::pthread_cond_destroy(condition) }
}

/// # Safety
/// As of `pthread_cond_signal`.
pub(crate) unsafe fn signal_condition(condition: *mut pthread_cond_t) -> c_int {
    notifies(condition, false);
    // SAFETY: the caller's.
    unsafe { real::pthread_cond_signal(condition) }
}

/// # Safety
/// As of `pthread_cond_broadcast`.
pub(crate) unsafe fn broadcast_condition(condition: *mut pthread_cond_t) -> c_int {
    notifies(condition, true);
    // SAFETY: the caller's.
    unsafe { real::pthread_cond_broadcast(condition) }
}

/// Waits until the deadline `at`, if it is not null: by that clock, or by the condition variable's own. A cancelled thread
/// unwinds through here, past nothing that would have to be dropped.
///
/// # Safety
/// As of `pthread_cond_clockwait`.
pub(crate) unsafe fn wait(
    condition: *mut pthread_cond_t,
    mutex: *const Mutex,
    clock: Option<clockid_t>,
    at: *const timespec,
) -> c_int {
    // SAFETY: the caller's mutex exists.
    let here = unsafe { &*mutex };
    // What the recorder does here is no part of the hold. Also without room for the condition variable the mutex is released.
    let pending = if is_recorded() { about_to_release(here) } else { None };
    let recorded = begin_to_wait_on(condition as u64);
    if let Some(pending) = pending {
        pending.done();
    }
    look(recorded.as_ref());
    let answer = match clock {
        // SAFETY: the caller's.
        Some(clock) => unsafe { real::pthread_cond_clockwait(condition, raw(mutex), clock, at) },
        // SAFETY: the caller's.
        None if at.is_null() => unsafe { real::pthread_cond_wait(condition, raw(mutex)) },
        // SAFETY: the caller's.
        None => unsafe { real::pthread_cond_timedwait(condition, raw(mutex), at) },
    };
    if answer == 0 || answer == ETIMEDOUT {
        acquired(here, 0, 0);
        if is_recorded() {
            taken(here, here.any_marks(), 0);
        }
        end_wait_on(recorded);
    } else if let Some(recorded) = recorded {
        recorded.leave();
    }
    answer
}
