//! The operations of the locks in a build that can record: each does its work and tells the recorder.
//!
//! `ondeck_record::bare` says what is looked at where. All but the fast paths are in functions of their own, which the
//! recorded stacks do not show. The libraries for C and C++ compile this file too (`crates/capi`).

#[path = "recorded/rwlock.rs"]
mod rwlock;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use ondeck_core::RawLock;
use ondeck_core::ondeck::{Policy, RawCondvar, RawOndeck};
use ondeck_core::{CoreCounters, Hardware, Platform, StaticPlatform, Step, WaitEnd};
use ondeck_record::{OpaqueWait, bare};
pub(crate) use rwlock::RwLock;
#[allow(unused_imports, reason = "C has no upgradable readers")]
pub(crate) use rwlock::read_upgradable;

/// The platform that the locks run on.
pub(crate) type Machine = RecordingPlatform;

pub(crate) fn name(address: u64, length: u64, name: &[u8]) {
    ondeck_record::name(address, length, name);
}

fn address<T>(of: &T) -> u64 {
    (&raw const *of) as u64
}

/// Whether the environment asks for a recording, or an observer has asked since. Here and not in the recorder: the compiler finds a crate's own variables
/// with one load less.
static IS_WISHED: AtomicBool = AtomicBool::new(false);

/// All that an operation without contention looks at where nothing is recorded.
#[inline(always)]
fn is_wished() -> bool {
    // Set before the program starts, or a library whose locks these are is loaded; or by an observer.
    IS_WISHED.load(Relaxed)
}

#[inline(always)]
pub(crate) fn acquire<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if lock.grab() {
        taken(lock);
    } else {
        acquire_contended(lock, None);
    }
}

#[inline(always)]
pub(crate) fn try_acquire<P: Policy>(lock: &RawOndeck<Machine, P>) -> bool {
    let is_in = lock.try_acquire();
    if is_in {
        taken_by_try(lock);
    }
    is_in
}

#[inline(always)]
pub(crate) fn try_acquire_until<P: Policy>(lock: &RawOndeck<Machine, P>, deadline_ns: u64) -> bool {
    if lock.grab() {
        taken_by_try(lock);
        return true;
    }
    acquire_contended(lock, Some(deadline_ns))
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn release<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if is_wished() {
        // SAFETY: the caller's.
        return unsafe { release_and_tell(lock, RawOndeck::release) };
    }
    // SAFETY: the caller's.
    unsafe { lock.release() };
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn release_fair<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if is_wished() {
        // SAFETY: the caller's.
        return unsafe { release_and_tell(lock, RawOndeck::release_fair) };
    }
    // SAFETY: the caller's.
    unsafe { lock.release_fair() };
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn wait<P: Policy>(
    waiters: &RawCondvar<Machine, P>,
    lock: &RawOndeck<Machine, P>,
    deadline_ns: Option<u64>,
) -> bool {
    let begun = if is_wished() { begin_to_wait(waiters, lock) } else { None };
    // SAFETY: the caller's.
    let is_notified = unsafe { waiters.wait(lock, deadline_ns) };
    if let Some(begun) = &begun {
        // Before the hold begins, for those who look: it would seem to wait.
        begun.arrive();
    }
    taken(lock);
    if let Some(begun) = begun {
        end_wait(begun);
    }
    is_notified
}

/// The lock was acquired without waiting.
#[inline(always)]
fn taken<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if is_wished() {
        look(lock);
    }
}

/// The same, by who does not wait for ever.
#[inline(always)]
fn taken_by_try<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if is_wished() {
        ondeck_record::gives_up(|| look(lock));
    }
}

#[inline(always)]
pub(crate) fn notify_one<P: Policy>(waiters: &RawCondvar<Machine, P>) -> bool {
    tell_notification(waiters, false);
    waiters.notify_one()
}

#[inline(always)]
pub(crate) fn notify_all<P: Policy>(waiters: &RawCondvar<Machine, P>) -> usize {
    tell_notification(waiters, true);
    waiters.notify_all()
}

#[inline(always)]
fn tell_notification<P: Policy>(waiters: &RawCondvar<Machine, P>, is_all: bool) {
    #[cold]
    #[inline(never)]
    fn tell(address: u64, is_all: bool) {
        bare::within(|| ondeck_record::notifies(address, is_all));
    }
    if is_wished() {
        tell(address(waiters), is_all);
    }
}

#[cold]
#[inline(never)]
fn look<P: Policy>(lock: &RawOndeck<Machine, P>) {
    if let Some(is_due) = is_told(|| lock.is_contended()) {
        bare::within(|| bare::taken(address(lock), lock.n_releases(), is_due, lock.is_contended()));
    }
}

/// Counts an acquisition that did not wait. Whether it is due, if it is to be told.
#[inline(always)]
fn is_told(is_contended: impl FnOnce() -> bool) -> Option<bool> {
    let is_due = bare::is_due();
    let is_ordered = ondeck_record::control::has_come();
    let is_told = is_due || is_ordered || ondeck_record::is_on() && (is_contended() || bare::remembers());
    is_told.then_some(is_due)
}

#[cold]
#[inline(never)]
fn acquire_contended<P: Policy>(lock: &RawOndeck<Machine, P>, deadline_ns: Option<u64>) -> bool {
    if !is_wished() {
        return lock.acquire_contended(deadline_ns);
    }
    bare::within(|| {
        let Some(wait) = bare::wait(address(lock)) else { return lock.acquire_contended(deadline_ns) };
        let has_it = wait.told(|| lock.acquire_contended(deadline_ns));
        let waited = || bare::waited(&wait, has_it, address(lock), lock.n_releases());
        if deadline_ns.is_some() {
            ondeck_record::gives_up(waited)
        } else {
            waited()
        }
        has_it
    })
}

/// # Safety
/// The calling thread holds the lock, and `release` owes its callee no more than that.
#[cold]
#[inline(never)]
unsafe fn release_and_tell<P: Policy>(lock: &RawOndeck<Machine, P>, release: unsafe fn(&RawOndeck<Machine, P>)) {
    let is_told = ondeck_record::is_on() && (bare::remembers() || lock.is_contended());
    let told = || bare::within(|| bare::release(address(lock), lock.n_releases(), lock.is_contended()));
    let pending = if is_told { told() } else { None };
    // SAFETY: the caller's. From here on the lock may be gone.
    unsafe { release(lock) };
    if let Some(pending) = pending {
        bare::within(|| pending.done());
    }
}

/// The recorded wait includes the wait for the lock at its end: a notification moves waiters to the lock's own.
#[inline(never)]
fn begin_to_wait<P: Policy>(waiters: &RawCondvar<Machine, P>, lock: &RawOndeck<Machine, P>) -> Option<OpaqueWait> {
    bare::within(|| {
        if let Some(pending) = bare::release(address(lock), lock.n_releases(), lock.is_contended()) {
            pending.done_before();
        }
        let wait = OpaqueWait::begin(address(waiters), ondeck_record::layout::kind::CONDITION)?;
        wait.look();
        Some(wait)
    })
}

#[inline(never)]
fn end_wait(wait: OpaqueWait) {
    bare::within(|| wait.end());
}

// -- The process ------------------------------------------------------------------------------------------------------

/// Run by the loader before the program or library that this is in. Nobody holds a lock of it then.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        bare::prepare(&IS_WISHED);
    }
    begin
};

/// Run by the loader after the program's own end.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = {
    extern "C" fn end() {
        ondeck_record::exit();
    }
    end
};

// -- The machine ------------------------------------------------------------------------------------------------------

/// This machine. What a waiting thread does is told to the recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordingPlatform;

impl Platform for RecordingPlatform {
    ondeck_core::as_on_hardware! {
        types, wakes, pause, yield_now, now_ns, ticks, ns_to_ticks, thread_id, thread_index, current_core,
        parallelism, may_spin, memory_nodes, atomics_may_be_far, sequences, is_running
    }

    #[inline]
    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        ondeck_record::slept();
        Hardware::wait_on(word, expected, deadline_ns)
    }

    #[inline]
    fn wake(word: *const Self::U32, n: u32) {
        ondeck_record::woke(n);
        Hardware::wake(word, n);
    }

    #[inline]
    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        ondeck_record::slept();
        Hardware::wait_on_upper(word, expected, deadline_ns)
    }

    #[inline]
    fn wake_upper(word: *const Self::U64, n: u32) {
        ondeck_record::woke(n);
        Hardware::wake_upper(word, n);
    }

    #[inline]
    fn pause_ns(ns: u32) {
        ondeck_record::spun();
        Hardware::pause_ns(ns);
    }

    /// As in the preloaded library: a thread that accepts a lock that was passed on has come on deck in another's
    /// place.
    #[inline(always)]
    fn step(step: Step) {
        if step.name == "accept" {
            ondeck_record::rotated();
        }
    }
}

impl CoreCounters for RecordingPlatform {
    ondeck_core::as_on_hardware! { counters }
}

impl StaticPlatform for RecordingPlatform {
    const U32_ZERO: Self::U32 = Hardware::U32_ZERO;
    const U64_ZERO: Self::U64 = Hardware::U64_ZERO;
}
