//! A world whose 64-bit words are narrower: the same machine, with the top bits cut off.
//!
//! The flagship counts releases in the top bits of its word, and its compare-exchanges compare whole words. On hardware
//! the counter comes round after 1024 releases, so that a word may be met again that means another time; no model has so
//! many releases. With a counter of two bits, or of none, a few acquisitions are enough.
//!
//! The value is kept in the upper bits of a whole word, so what is carried out of it falls off the top, as there. Upper
//! halves are compared with some lower bits too, which the seam allows.

use crate::world::{Job, World};
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::sync::atomic::Ordering;
use ondeck_platform::{Atomic, Platform, Running, Step, ThreadId, Waited};

/// What to cut off a word that counts in its top 10 bits to leave it two of them.
pub const TWO_BITS: u32 = 8;
/// The same, to leave it none.
pub const NO_COUNT: u32 = 10;

/// The platform `P` with 64-bit words that are `CUT` bits narrower.
pub struct Narrow<P, const CUT: u32>(PhantomData<fn() -> P>);

impl<P, const CUT: u32> Clone for Narrow<P, CUT> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, const CUT: u32> Copy for Narrow<P, CUT> {}

impl<P, const CUT: u32> fmt::Debug for Narrow<P, CUT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Narrow({} bits)", 64 - CUT)
    }
}

/// A word of 64 bits less `CUT`.
#[repr(transparent)]
pub struct Word<A, const CUT: u32>(A);

fn narrowed<const CUT: u32>(result: Result<u64, u64>) -> Result<u64, u64> {
    result.map(|value| value >> CUT).map_err(|value| value >> CUT)
}

impl<A: Atomic<u64>, const CUT: u32> Atomic<u64> for Word<A, CUT> {
    fn new(value: u64) -> Self {
        Word(A::new(value << CUT))
    }
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order) >> CUT
    }
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value << CUT, order);
    }
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.0.swap(value << CUT, order) >> CUT
    }
    fn compare_exchange(&self, old: u64, new: u64, ok: Ordering, err: Ordering) -> Result<u64, u64> {
        narrowed::<CUT>(self.0.compare_exchange(old << CUT, new << CUT, ok, err))
    }
    fn compare_exchange_weak(&self, old: u64, new: u64, ok: Ordering, err: Ordering) -> Result<u64, u64> {
        narrowed::<CUT>(self.0.compare_exchange_weak(old << CUT, new << CUT, ok, err))
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value << CUT, order) >> CUT
    }
    fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_sub(value << CUT, order) >> CUT
    }
    fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_and(value << CUT, order) >> CUT
    }
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_or(value << CUT, order) >> CUT
    }
}

impl<P: Platform, const CUT: u32> Platform for Narrow<P, CUT> {
    type U32 = P::U32;
    type U64 = Word<P::U64, CUT>;
    type Ptr<T: 'static> = P::Ptr<T>;

    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> Waited {
        P::wait_on(word, expected, deadline_ns)
    }

    fn wake(word: *const Self::U32, n: u32) {
        P::wake(word, n);
    }

    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> Waited {
        P::wait_on_upper(&word.0, expected << CUT, deadline_ns)
    }

    fn wake_upper(word: *const Self::U64, n: u32) {
        P::wake_upper(word.cast(), n);
    }

    fn pause() {
        P::pause();
    }

    fn pauses(n: u32) {
        P::pauses(n);
    }

    fn pause_ns(ns: u32) {
        P::pause_ns(ns);
    }

    fn yield_now() {
        P::yield_now();
    }

    fn nap_ns(ns: u32) {
        P::nap_ns(ns);
    }

    fn now_ns() -> u64 {
        P::now_ns()
    }

    fn ticks() -> u64 {
        P::ticks()
    }

    fn ns_to_ticks(ns: u64) -> u64 {
        P::ns_to_ticks(ns)
    }

    fn thread_id() -> ThreadId {
        P::thread_id()
    }

    fn thread_index() -> Option<NonZeroU32> {
        P::thread_index()
    }

    fn current_core() -> u32 {
        P::current_core()
    }

    fn parallelism() -> u32 {
        P::parallelism()
    }

    fn may_spin() -> bool {
        P::may_spin()
    }

    fn fits(address: u64, bits: u32) -> bool {
        P::fits(address, bits)
    }

    fn is_running(thread: ThreadId) -> Running {
        P::is_running(thread)
    }

    fn is_crowded() -> bool {
        P::is_crowded()
    }

    fn is_core_wanted() -> bool {
        P::is_core_wanted()
    }

    fn step(step: Step) {
        P::step(step);
    }
}

/// The world `W` with narrower words.
#[derive(Debug)]
pub struct NarrowWorld<W, const CUT: u32>(PhantomData<fn() -> W>);

impl<W: World, const CUT: u32> World for NarrowWorld<W, CUT> {
    type Platform = Narrow<W::Platform, CUT>;
    type Cell = W::Cell;

    fn run(jobs: Vec<Job>) {
        W::run(jobs);
    }

    unsafe fn free<T: 'static>(object: *mut T) {
        // SAFETY: the caller owes the same.
        unsafe { W::free(object) };
    }
}
