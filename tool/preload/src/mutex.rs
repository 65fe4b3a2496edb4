//! What the functions of a `pthread_mutex_t` do with one of ours. Its bytes are in `bytes::mutex`.
//!
//! # Two masters
//! A program can reach the C library's own functions past us: by `dlvsym`, or from a library loaded with `RTLD_DEEPBIND`.
//! If such a function locks a mutex that we have, the C library's own assertion that it has no owner ends the process, or
//! leaves a mark in `__lock` that ends it at our next operation. If it locks one that is free, that mark is found too; and if
//! it unlocks one of ours, that one is found locked without an owner.
//!
//! # After an unlock
//! The write that frees the lock is the last touch of the 40 bytes: kind and owner come before it.

use crate::bytes::mutex::{ADAPTIVE, DESTROYED, ERRORCHECK, Kind, Mutex, RECURSIVE, Raw, shape};
use crate::family::Operations;
use crate::handler::or_leave;
use crate::platform::PreloadPlatform;
use crate::time::Deadline;
use crate::{Answer, die, probes, process, thread};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT};
use ondeck_core::Platform;
use ondeck_core::RawLock;

impl Mutex {
    /// `None` if it is the C library's.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Option<Kind> {
        if process::is_glibc() {
            return None;
        }
        Kind::of(self.shape.load(Relaxed) as u32)
    }

    /// Makes a free mutex of that type, one of the four, out of anything.
    pub(crate) fn init(&self, kind: u32) {
        process::prepare();
        self.glibc_word.store(0, Relaxed);
        self.forget();
        self.shape.store(shape(kind, process::generation_of(process::state())), Relaxed);
        if process::is_recorded(process::state()) {
            self.marks.initialised();
        }
    }

    // -- The lock itself ----------------------------------------------------------------------------------------------

    /// The operations of the lock, `None` for the flagship, once process and mutex are ready for them.
    fn prepare(&self) -> Option<&'static Operations> {
        let other = if process::is_ondeck() { None } else { process::prepare() };
        let generation = process::generation_of(process::state());
        if (self.shape.load(Acquire) >> 32) as u32 != generation {
            self.revive();
        }
        other
    }

    /// The first touch in the child of a fork: the parent's waiters do not exist here. If anybody has it, it stays
    /// locked, as with the C library: the thread that forked may have it, and will unlock it.
    #[cold]
    fn revive(&self) {
        let kind = self.shape.load(Relaxed) as u32;
        process::revive(
            || (self.shape.load(Acquire) >> 32) as u32,
            |from, to| self.shape.compare_exchange(shape(kind, from), shape(kind, to), AcqRel, Relaxed).is_ok(),
            || {
                let is_held = self.owner.load(Relaxed) != 0;
                // pthread_process: clear
                self.clear();
                self.n_waiting.store(0, Relaxed);
                // pthread_process: regrab
                match process::prepare() {
                    _ if !is_held => {}
                    None => drop(self.raw.grab()),
                    // SAFETY: zeros.
                    Some(lock) => drop(unsafe { lock.try_acquire(self.place()) }),
                }
            },
        );
    }

    /// The lock, for condition variables that move waiters to it; `None` if that is another one than the flagship.
    pub(crate) fn raw(&self) -> Option<&Raw> {
        if self.prepare().is_none() { Some(&self.raw) } else { None }
    }

    fn try_acquire(&self) -> bool {
        match self.prepare() {
            // SAFETY: there is no other thread; a signal handler that locks what its thread is locking is undefined.
            None if thread::is_alone() => unsafe { self.raw.try_acquire_alone() },
            None => self.raw.grab(), // pthread_process: grab
            // SAFETY: zeros or a lock of this process's kind.
            Some(lock) => unsafe { lock.try_acquire(self.place()) },
        }
    }

    /// Waits, as the first attempt has failed. False if the deadline has passed.
    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, deadline: Option<Deadline>) -> bool {
        let wait = if process::is_recorded(process::state()) { self.marks.wait(self.address()) } else { None };
        let Some(wait) = wait else { return self.wait(deadline) };
        probes::contended(self.address());
        let has_it = or_leave(|| wait.leave(), || wait.told(|| self.wait(deadline)));
        let waited_ns = wait.end(has_it, self.address());
        probes::acquired(self.address(), waited_ns, has_it);
        has_it
    }

    fn wait(&self, deadline: Option<Deadline>) -> bool {
        let lock = self.prepare();
        let acquire_until = |deadline_ns| match lock {
            None => self.raw.acquire_contended(Some(deadline_ns)),
            // SAFETY: zeros or a lock of this process's kind.
            Some(lock) => unsafe { lock.try_acquire_until(self.place(), deadline_ns) },
        };
        match (deadline, lock) {
            (Some(deadline), _) => deadline.keep(acquire_until),
            (None, None) => self.raw.acquire_contended(None), // pthread_process: take
            (None, Some(lock)) => {
                // SAFETY: as above.
                unsafe { lock.acquire(self.place()) };
                true
            }
        }
    }

    fn release(&self) {
        let pending = if self.is_marked(process::state()) { self.marks.release(self.address()) } else { None };
        if pending.is_some() {
            probes::release(self.address());
        }
        self.release_unrecorded();
        if let Some(pending) = pending {
            pending.done();
        }
    }

    fn release_unrecorded(&self) {
        // Before the owner is gone: the first touch in a child keeps a mutex locked that has one.
        let other = self.prepare();
        if self.glibc_word.load(Relaxed) != 0 {
            self.complain();
        }
        self.owner.store(0, Relaxed); // pthread_process: disown
        match other {
            // SAFETY: there is no other thread, and the caller has seen that the lock is taken.
            None if thread::is_alone() => unsafe { self.raw.release_alone() },
            // SAFETY: the caller has seen that it is taken. If by another thread, the program unlocks for that one, as it
            // may do with normal mutexes.
            None => unsafe { self.raw.release() }, // pthread_process: vacate
            // SAFETY: as above.
            Some(lock) => unsafe { lock.release(self.place()) },
        }
    }

    /// Whether a release is to be recorded.
    #[inline(always)]
    fn is_marked(&self, state: u32) -> bool {
        process::is_recorded(state) && self.marks.is_marked()
    }

    /// Records an acquisition that did not wait.
    #[inline(always)]
    fn note_taken(&self, state: u32) {
        if process::is_recorded(state) {
            self.marks.taken(self.address());
        }
    }

    /// The same of a try.
    fn note_taken_by_try(&self, state: u32) {
        if process::is_recorded(state) {
            ondeck_record::has_by_try(self.address());
            ondeck_record::gives_up(|| self.marks.taken(self.address()));
        }
    }

    /// It was tried in vain.
    #[cold]
    fn note_tried(&self, state: u32) -> Answer {
        if process::is_recorded(state) {
            self.marks.tried(self.address());
        }
        EBUSY
    }

    /// The lock is the caller's from here on.
    fn enter(&self) -> Answer {
        if self.glibc_word.load(Relaxed) != 0 {
            self.complain();
        }
        self.owner.store(thread::id(), Relaxed); // pthread_process: enter
        0
    }

    #[cold]
    fn complain(&self) {
        die(&[
            "a mutex is locked by the C library's own functions and by ondeck's at once. The program reaches the former ",
            "by dlvsym, or from a library loaded with RTLD_DEEPBIND; run it without ondeck",
        ]);
    }

    // -- The shortest way ---------------------------------------------------------------------------------------------------

    // For the flagship in a process that is prepared, and a normal mutex that it has touched before, if nobody waits and
    // nothing is to be noted. Between two locked instructions each instruction counts; so whether the process is recorded is
    // asked once, and each answer has a way of its own.

    #[inline(always)]
    fn is_usual<const IS_RECORDED: bool>(&self, state: u32) -> bool {
        let unrecorded = if IS_RECORDED { process::unrecorded(state) } else { state };
        self.shape.load(Acquire) == process::usual_shape(unrecorded)
    }

    /// The calling thread's number, if it is known and this way may be gone.
    #[inline(always)]
    pub(crate) fn usual_id<const IS_RECORDED: bool>(&self, state: u32) -> Option<u32> {
        // No mutex is usual in a state of 0.
        let is_usual = self.is_usual::<IS_RECORDED>(state) && (!IS_RECORDED || self.marks.is_idle());
        if is_usual { thread::id_in(state) } else { None }
    }

    /// Locks it then; false if it is taken.
    #[inline(always)]
    pub(crate) fn lock_usual<const IS_RECORDED: bool>(&self, id: u32) -> bool {
        let is_in = self.grab();
        if is_in {
            self.owner.store(id, Relaxed);
            if IS_RECORDED {
                ondeck_record::count();
            }
        }
        is_in
    }

    /// Unlocks it, if this way may be gone; else nothing is done.
    #[inline(always)]
    pub(crate) fn unlock_usual<const IS_RECORDED: bool>(&self, state: u32) -> bool {
        let is_usual = self.is_usual::<IS_RECORDED>(state)
            && !(IS_RECORDED && self.marks.has_any())
            && self.glibc_word.load(Relaxed) == 0
            && self.owner.load(Relaxed) != 0;
        if is_usual {
            self.set_free();
        }
        is_usual
    }

    #[inline(always)]
    fn grab(&self) -> bool {
        // SAFETY: there is no other thread; a signal handler that locks what its thread is locking is undefined.
        if thread::is_alone() { unsafe { self.raw.try_acquire_alone() } } else { self.raw.grab() }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn wait_plain(&self) -> Answer {
        self.acquire_contended(None);
        self.enter()
    }

    #[inline(always)]
    fn set_free(&self) {
        self.owner.store(0, Relaxed);
        if thread::is_alone() {
            // SAFETY: there is no other thread, and one that has an owner is taken.
            unsafe { self.raw.release_alone() };
        } else {
            // SAFETY: one that has an owner is taken. If by another thread, the program unlocks for that one, as it may do
            // with normal mutexes.
            unsafe { self.raw.release() };
        }
    }

    // -- A short way for the other kinds -------------------------------------------------------------------------------------

    /// The kind of one of ours that has been touched in this process before, if the flagship is the lock.
    #[inline(always)]
    fn touched_kind(&self, state: u32) -> Option<u32> {
        let kind = self.shape.load(Acquire).wrapping_sub(process::usual_shape(process::unrecorded(state)));
        (kind <= u64::from(ADAPTIVE)).then_some(kind as u32)
    }

    /// Locks it if that need not be looked at; `None` if nothing has been done.
    #[inline(always)]
    pub(crate) fn lock_touched(&self) -> Option<Answer> {
        let state = process::state();
        let kind = self.touched_kind(state)?;
        let id = thread::id_in(state)?;
        if matches!(kind, RECURSIVE | ERRORCHECK) && self.owner.load(Relaxed) == id {
            return Some(self.lock_again(if kind == RECURSIVE { Kind::Recursive } else { Kind::ErrorCheck }));
        }
        if process::is_recorded(state) && !self.marks.is_quiet() {
            return None;
        }
        if !self.grab() {
            return Some(self.wait_plain());
        }
        self.owner.store(id, Relaxed);
        if process::is_recorded(state) {
            ondeck_record::count();
        }
        Some(0)
    }

    /// Unlocks it if it is the calling thread's and there is nothing to record; `None` if nothing has been done.
    #[inline(always)]
    pub(crate) fn unlock_touched(&self) -> Option<Answer> {
        let state = process::state();
        let kind = self.touched_kind(state)?;
        let id = thread::id_in(state)?;
        let owner = self.owner.load(Relaxed);
        let may = owner == id || owner != 0 && !matches!(kind, RECURSIVE | ERRORCHECK);
        if !may || self.glibc_word.load(Relaxed) != 0 {
            return None;
        }
        if kind == RECURSIVE && self.count.load(Relaxed) > 0 {
            self.count.store(self.count.load(Relaxed) - 1, Relaxed);
            return Some(0);
        }
        if self.is_marked(state) {
            return None;
        }
        self.set_free();
        Some(0)
    }

    // -- Operations ---------------------------------------------------------------------------------------------------

    pub(crate) fn lock(&self, kind: Kind, deadline: Option<Deadline>) -> Answer {
        if kind != Kind::Normal && self.is_mine() {
            return self.lock_again(kind);
        }
        let acquire = || {
            if self.try_acquire() {
                self.note_taken(process::state());
                return true;
            }
            self.acquire_contended(deadline)
        };
        let is_due = process::is_recorded(process::state()) && ondeck_record::is_due();
        let is_in = if is_due { self.marks.take_ready(self.address(), acquire) } else { acquire() };
        if is_in { self.enter() } else { ETIMEDOUT }
    }

    fn lock_again(&self, kind: Kind) -> Answer {
        if kind == Kind::ErrorCheck {
            return EDEADLK;
        }
        let count = self.count.load(Relaxed);
        if count == u32::MAX - 1 {
            return EAGAIN;
        }
        self.count.store(count + 1, Relaxed);
        0
    }

    pub(crate) fn try_lock(&self, kind: Kind) -> Answer {
        if kind == Kind::Recursive && self.is_mine() {
            return self.lock_again(kind);
        }
        if !self.try_acquire() {
            return self.note_tried(process::state());
        }
        self.note_taken_by_try(process::state());
        self.enter()
    }

    /// Locks it as one whose deadline is no time does: an error only for who must wait.
    pub(crate) fn lock_at_no_time(&self, kind: Kind) -> Answer {
        match kind {
            Kind::ErrorCheck if self.is_mine() => EDEADLK,
            _ => match self.try_lock(kind) {
                EBUSY => EINVAL,
                answer => answer,
            },
        }
    }

    pub(crate) fn unlock(&self, kind: Kind) -> Answer {
        match kind {
            Kind::Normal if self.owner.load(Relaxed) == 0 => return self.unlock_ownerless(),
            Kind::Normal => {}
            _ if !self.is_mine() => return EPERM,
            Kind::Recursive => {
                let count = self.count.load(Relaxed);
                if count > 0 {
                    self.count.store(count - 1, Relaxed);
                    return 0;
                }
            }
            Kind::ErrorCheck => {}
        }
        self.release();
        0
    }

    /// To unlock a free mutex is undefined, and some programs do it; the C library lets it pass. But one that is locked, and
    /// stays so without an owner and without being released, has lost that to the C library's own unlock. An owner that is
    /// new writes its number soon.
    #[cold]
    fn unlock_ownerless(&self) -> Answer {
        const LOOKS: u32 = 50;
        const GAP_NS: u32 = 1_000_000;
        let Some(raw) = self.raw() else { return 0 };
        let releases = raw.n_releases();
        for _ in 0..LOOKS {
            if !raw.is_taken() || raw.n_releases() != releases || self.owner.load(Relaxed) != 0 {
                return 0;
            }
            PreloadPlatform::nap_ns(GAP_NS);
        }
        self.complain();
        0
    }

    pub(crate) fn destroy(&self) -> Answer {
        // In the child of a fork nobody waits any more.
        self.prepare();
        if self.owner.load(Relaxed) != 0 || self.n_waiting.load(Relaxed) != 0 {
            return EBUSY;
        }
        self.shape.store(shape(DESTROYED, 0), Relaxed);
        0
    }

    // -- For condition variables --------------------------------------------------------------------------------------

    /// Unlocks it wholly, for a wait, in which it is not to be destroyed. Gives what [`enter_after_wait`] needs.
    pub(crate) fn leave_for_wait(&self) -> u32 {
        self.prepare();
        self.expect_waiter(); // pthread_process: leave
        let count = self.count.load(Relaxed);
        self.count.store(0, Relaxed);
        // Some programs wait on a condition variable with a mutex that nobody has. If it looks taken all the same, its holder
        // has just begun or ended, and may be off its core for long: there is nothing to complain of.
        if self.owner.load(Relaxed) != 0 {
            self.release();
        }
        count
    }

    /// The lock has been acquired again.
    pub(crate) fn enter_after_wait(&self, count: u32) {
        self.enter();
        self.count.store(count, Relaxed);
        self.forget_waiter();
    }

    /// Acquires the lock after a wait that has not done so.
    pub(crate) fn acquire(&self) {
        if self.try_acquire() {
            self.note_taken(process::state());
        } else {
            self.acquire_contended(None);
        }
    }

    /// The lock has been acquired by who was moved to it from a condition variable.
    pub(crate) fn note_reacquired(&self) {
        self.note_taken(process::state());
    }
}
