//! Locks for readers and writers: ours, the C library's own, and either recorded.
//!
//! Where the flagship answers for mutexes, ours answers for the locks of one process, as `ours` has it. All others stay the C
//! library's, and so do those that processes share. Recorded, a lock is tried first, and a clock is asked only if it is taken.
//! A call with a deadline looks at the lock instead: a deadline that is none is refused also where the lock is free, and a try
//! would not.
//!
//! # Whose are the bytes
//! The recorder's marks lie in eight bytes that the C library sets to zero and never uses. A lock that processes share has no
//! marks: of it waits are known, and not who holds it. In one of ours:
//!
//! | bytes | the C library's name | in a lock of ours |
//! |---|---|---|
//! | 0-15 | `__readers` to `__writers_futex` | the lock |
//! | 16-19 | `__pad3` | which process has touched it last, see `process`; 0 if no fork leads to that |
//! | 20-23 | `__pad4` | where it was then; 0 of one that nobody has touched |
//! | 24-27 | `__cur_writer` | the thread that writes, by the kernel's number |
//! | 28-31 | `__shared` | as there |
//! | 40-47 | `__pad2` | the recorder's marks |
//! | 48-51 | `__flags` | as there: whom it prefers |
//!
//! Zeros are a free lock, so the static initializers need no first use.
#![allow(clippy::missing_safety_doc, reason = "as in `names`: for callers that keep what POSIX asks for")]

mod answers;
mod ours;

use crate::handler::or_leave;
use crate::{Answer, process, real, thread};
use core::ffi::c_int;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use libc::{EBUSY, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use ondeck_record::Access::{self, Reading, Writing};
use ondeck_record::{Marks, OpaqueWait, after_writers, gives_up, is_due, prepare_to_read, tells_order};
use ours::Raw;

/// The 56 bytes of one.
#[repr(C)]
pub(crate) struct Rwlock {
    /// Ours. In the C library's, `__readers` is at its beginning: flags, and above them the number of readers.
    raw: Raw,
    /// The process that has touched it last, if it is ours.
    generation: AtomicU32,
    /// Where it was then, of [`here`](Self::here): at rest, a lock may be copied and moved as any memory.
    place: AtomicU32,
    /// `__cur_writer`: the thread that writes.
    writer: AtomicU32,
    /// `__shared`: whether processes share it.
    is_shared: AtomicU32,
    _elision: u64,
    /// `__pad2`.
    marks: Marks,
    /// `__flags`: whom it prefers.
    prefers: AtomicU32,
    _rest: u32,
}

const _: () = assert!(size_of::<Rwlock>() == size_of::<pthread_rwlock_t>());
const _: () = assert!(offset_of!(Rwlock, writer) == 24 && offset_of!(Rwlock, marks) == 40);
const _: () = assert!(offset_of!(Rwlock, raw) == 0 && offset_of!(Rwlock, generation) == 16);

// The C library's flags in `__readers`.
const WRITERS_TURN: u32 = 1;
const WRITER_IS_IN: u32 = 2;
const ONE_READER: u32 = 8;
/// Of `__flags`: new readers wait for writers that wait.
const WRITERS_FIRST: u32 = 2;

impl Rwlock {
    fn marks(&self) -> Option<&Marks> {
        (self.is_shared.load(Relaxed) == 0).then_some(&self.marks)
    }

    fn is_mine(&self) -> bool {
        let writer = self.writer.load(Relaxed);
        writer != 0 && writer == thread::id()
    }

    /// Whether who has it now has it to write: the kernel need not be asked who that is.
    fn is_written(&self) -> bool {
        self.writer.load(Relaxed) != 0
    }

    /// `__readers` of one that is the C library's.
    fn readers(&self) -> u32 {
        let first = (&raw const self.raw).cast::<AtomicU32>();
        // SAFETY: its first four bytes, which are changed as an atomic.
        unsafe { &*first }.load(Relaxed)
    }

    /// Whether a thread would wait for it, as far as a look can tell.
    fn looks_taken(&self, access: Access) -> bool {
        if let Some(raw) = self.ours() {
            return match access {
                Writing => raw.is_taken(),
                Reading => raw.is_taken_for_writing(),
            };
        }
        let word = self.readers();
        let has_writer = word & WRITER_IS_IN != 0;
        match access {
            Writing => has_writer || word >= ONE_READER,
            Reading => has_writer && (word & WRITERS_TURN != 0 || self.prefers.load(Relaxed) == WRITERS_FIRST),
        }
    }

    /// Whether who has it now to read is alone with it.
    fn has_one_reader(&self) -> bool {
        match self.ours() {
            Some(raw) => raw.n_readers() == 1,
            None => self.readers() / ONE_READER == 1,
        }
    }

    fn address(&self) -> u64 {
        (&raw const *self) as u64
    }

    /// Records an acquisition that did not wait; `stack` is that of a reader, if it is to be looked at.
    fn taken(&self, marks: &Marks, access: Access, stack: u32) {
        match access {
            Writing => marks.taken(self.address()),
            Reading => marks.read(self.address(), stack, self.has_one_reader()),
        }
    }

    /// Locks by `act`, by `attempt` if that suffices.
    #[inline(always)]
    fn lock(&self, access: Access, attempt: impl Fn() -> Answer, act: impl Fn() -> Answer) -> Answer {
        let Some(marks) = self.marks() else {
            return match attempt() {
                EBUSY => self.wait_unmarked(access, act),
                answer => answer,
            };
        };
        if access == Writing && is_due() {
            return marks.take_ready(self.address(), || self.lock_marked(marks, access, &attempt, &act));
        }
        if access == Reading && tells_order() && self.prefers.load(Relaxed) == WRITERS_FIRST {
            return after_writers(|| self.lock_marked(marks, access, &attempt, &act));
        }
        self.lock_marked(marks, access, &attempt, &act)
    }

    #[inline(always)]
    fn lock_marked(
        &self,
        marks: &Marks,
        access: Access,
        attempt: &impl Fn() -> Answer,
        act: &impl Fn() -> Answer,
    ) -> Answer {
        let stack = if access == Reading { prepare_to_read() } else { 0 };
        match attempt() {
            EBUSY => {}
            0 => {
                self.taken(marks, access, stack);
                return 0;
            }
            answer => return answer,
        }
        // Its writer, again: an error.
        if self.is_mine() {
            return act();
        }
        let Some(wait) = marks.wait_for_one_of_several(self.address(), access) else { return act() };
        let answer = or_leave(|| wait.leave(), act);
        wait.end_of_several(answer == 0, self.address(), access);
        answer
    }

    #[cold]
    fn wait_unmarked(&self, access: Access, act: impl Fn() -> Answer) -> Answer {
        let wait = OpaqueWait::begin_for_one_of_several(self.address(), access);
        if let Some(wait) = &wait {
            wait.look();
        }
        let answer = act();
        if let Some(wait) = wait {
            wait.end();
        }
        answer
    }
}

/// # Safety
/// The caller's lock exists.
#[inline(always)]
unsafe fn at<'a>(lock: *const pthread_rwlock_t) -> &'a Rwlock {
    // SAFETY: as the caller says; all fields may be changed by others, and are atomic.
    unsafe { &*lock.cast() }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
) -> c_int {
    // Sets zeros, whether it is shared, and whom it prefers.
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_rwlock_init(lock, attributes) };
    if answer == 0 {
        // SAFETY: the caller's lock exists.
        unsafe { at(lock) }.is_touched();
    }
    if answer == 0 && process::records() {
        // SAFETY: the caller's lock exists.
        match unsafe { at(lock) }.marks() {
            Some(marks) => marks.initialised(),
            None => ondeck_record::forget(lock as u64),
        }
    }
    answer
}

#[inline(always)]
fn waits<T>(act: impl FnOnce() -> T) -> T {
    act()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's lock exists.
    let here = unsafe { at(lock) };
    here.retire();
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_rwlock_destroy(lock) };
    if answer == 0 {
        // SAFETY: the caller's memory is still there.
        ondeck_record::destroyed(lock as u64, unsafe { at(lock) }.marks());
    }
    answer
}

/// The calls that lock: what they ask for, how that is tried, whether they wait for ever, and their arguments behind the lock.
macro_rules! locks {
    ($($name:ident: $access:ident, $attempt:ident, $patience:ident ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(lock: *mut pthread_rwlock_t $(, $argument: $type)*) -> c_int {
            // SAFETY: the caller's.
            let act = || unsafe { answers::$name(lock $(, $argument)*) };
            if !process::records() {
                return act();
            }
            // SAFETY: the caller's lock exists.
            let here = unsafe { at(lock) };
            // SAFETY: the caller's.
            $patience(|| here.lock($access, || unsafe { $attempt(lock, act) }, act))
        }
    )*};
}

locks! {
    pthread_rwlock_rdlock: Reading, try_to_read, waits();
    pthread_rwlock_wrlock: Writing, try_to_write, waits();
    pthread_rwlock_timedrdlock: Reading, look_and_read, gives_up(at: *const timespec);
    pthread_rwlock_timedwrlock: Writing, look_and_write, gives_up(at: *const timespec);
    pthread_rwlock_clockrdlock: Reading, look_and_read, gives_up(clock: clockid_t, at: *const timespec);
    pthread_rwlock_clockwrlock: Writing, look_and_write, gives_up(clock: clockid_t, at: *const timespec);
}

#[inline(always)]
unsafe fn try_to_read(lock: *mut pthread_rwlock_t, _: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's.
    unsafe { answers::pthread_rwlock_tryrdlock(lock) }
}

#[inline(always)]
unsafe fn try_to_write(lock: *mut pthread_rwlock_t, _: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's.
    unsafe { answers::pthread_rwlock_trywrlock(lock) }
}

#[inline(always)]
unsafe fn look_and_read(lock: *mut pthread_rwlock_t, act: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's lock exists.
    if unsafe { at(lock) }.looks_taken(Reading) { EBUSY } else { act() }
}

#[inline(always)]
unsafe fn look_and_write(lock: *mut pthread_rwlock_t, act: impl Fn() -> Answer) -> Answer {
    // SAFETY: the caller's lock exists.
    if unsafe { at(lock) }.looks_taken(Writing) { EBUSY } else { act() }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    let answer = unsafe { answers::pthread_rwlock_tryrdlock(lock) };
    if answer == 0 && process::records() {
        // SAFETY: the caller's lock exists.
        let here = unsafe { at(lock) };
        here.marks().inspect(|marks| gives_up(|| here.taken(marks, Reading, 0)));
    }
    answer
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    let answer = unsafe { answers::pthread_rwlock_trywrlock(lock) };
    if answer == 0 && process::records() {
        // SAFETY: the caller's lock exists.
        let here = unsafe { at(lock) };
        here.marks().inspect(|marks| gives_up(|| here.taken(marks, Writing, 0)));
    }
    answer
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    if !process::records() {
        // SAFETY: the caller's.
        return unsafe { answers::pthread_rwlock_unlock(lock) };
    }
    // SAFETY: the caller's lock exists.
    let here = unsafe { at(lock) };
    let pending = here.marks().and_then(|marks| match here.is_written() {
        true if marks.is_marked() => marks.release_written(here.address()),
        true => None,
        false => marks.release_read(here.address(), || here.has_one_reader()),
    });
    // SAFETY: the caller's.
    let answer = unsafe { answers::pthread_rwlock_unlock(lock) };
    if let Some(pending) = pending {
        pending.done();
    }
    answer
}
