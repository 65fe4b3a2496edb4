//! A harness whose 64-bit words are narrower: the counter of the flagship has fewer bits, or none.
//!
//! The flagship counts releases in ten bits of its word, and its compare-exchanges compare whole words. On hardware the
//! counter comes round after 1024 releases, so that a word may be met again that means another time; no model has so many
//! releases. With a counter of two bits, or of none, a few acquisitions are enough. A full counter is the flagship's alarm:
//! with two bits one release in four hears one that nobody has sounded, with none each does.
//!
//! A counter that comes round with nothing asked makes the lock quiet, where the platform has [sequences]. With one bit that
//! takes two releases.
//!
//! The lower bits of the counter are missing from the word that is kept. A one that is added to the counter is added above
//! them, and what is carried out of it goes where it goes on hardware. They read as ones if what is left of the counter is full
//! and the lock is taken, so that an alarm looks like one, and else as zeros: a word that is an address has neither.

use crate::harness::{Harness, Job};
use crate::sequences;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::sync::atomic::Ordering;
use ondeck_core::{Atomic, CoreCounters, Counted, Platform, RunState, Step, ThreadId, WaitEnd};

/// How many bits to take from the counter of the flagship's word to leave it two of its ten.
pub const TWO_BITS: u32 = 8;
/// The same, to leave it one.
pub const ONE_BIT: u32 = 9;
/// The same, to leave it none.
pub const NO_COUNT: u32 = 10;
/// The lowest bit of that counter, and the bit above it, which says that the lock is taken.
const COUNT_SHIFT: u32 = 52;
const LOCKED: u64 = 1 << 62;

/// The bits that are missing.
const fn missing(cut: u32) -> u64 {
    ((1 << cut) - 1) << COUNT_SHIFT
}

/// The platform `P` with 64-bit words whose counter is `CUT` bits narrower; with sequences if `CAN_EXPEL`.
pub struct NarrowCounter<P, const CUT: u32, const CAN_EXPEL: bool = false>(PhantomData<fn() -> P>);

impl<P, const CUT: u32, const CAN_EXPEL: bool> Clone for NarrowCounter<P, CUT, CAN_EXPEL> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, const CUT: u32, const CAN_EXPEL: bool> Copy for NarrowCounter<P, CUT, CAN_EXPEL> {}

impl<P, const CUT: u32, const CAN_EXPEL: bool> fmt::Debug for NarrowCounter<P, CUT, CAN_EXPEL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Narrow({CUT} bits less)")
    }
}

/// A word of 64 bits, of which `CUT` of the counter are missing.
#[repr(transparent)]
pub struct Word<A, const CUT: u32>(A);

/// What a thread sees of the word that is kept.
const fn shown<const CUT: u32>(kept: u64) -> u64 {
    let full = (LOCKED | (LOCKED - 1)) >> COUNT_SHIFT << COUNT_SHIFT;
    if (kept | missing(CUT)) & full == full { kept | missing(CUT) } else { kept }
}

/// What is kept of the word that a thread writes.
const fn kept<const CUT: u32>(shown: u64) -> u64 {
    shown & !missing(CUT)
}

fn narrowed<const CUT: u32>(result: Result<u64, u64>) -> Result<u64, u64> {
    result.map(shown::<CUT>).map_err(shown::<CUT>)
}

impl<A: Atomic<u64>, const CUT: u32> Atomic<u64> for Word<A, CUT> {
    fn new(value: u64) -> Self {
        Word(A::new(kept::<CUT>(value)))
    }
    fn load(&self, order: Ordering) -> u64 {
        shown::<CUT>(self.0.load(order))
    }
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(kept::<CUT>(value), order);
    }
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        shown::<CUT>(self.0.swap(kept::<CUT>(value), order))
    }
    fn compare_exchange(&self, old: u64, new: u64, ok: Ordering, err: Ordering) -> Result<u64, u64> {
        narrowed::<CUT>(self.0.compare_exchange(kept::<CUT>(old), kept::<CUT>(new), ok, err))
    }
    fn compare_exchange_weak(&self, old: u64, new: u64, ok: Ordering, err: Ordering) -> Result<u64, u64> {
        narrowed::<CUT>(self.0.compare_exchange_weak(kept::<CUT>(old), kept::<CUT>(new), ok, err))
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        let counted = value & 1 << COUNT_SHIFT;
        shown::<CUT>(self.0.fetch_add((value ^ counted).wrapping_add(counted << CUT), order))
    }
    fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
        assert_eq!(CUT, 0, "no word with a counter is subtracted from");
        self.0.fetch_sub(value, order)
    }
    fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        shown::<CUT>(self.0.fetch_and(value, order))
    }
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        shown::<CUT>(self.0.fetch_or(kept::<CUT>(value), order))
    }
}

/// Where it can expel, a lock may have a counter by core, which is worth it now and then.
impl<P: Platform, const CUT: u32, const CAN_EXPEL: bool> CoreCounters for NarrowCounter<P, CUT, CAN_EXPEL> {
    const MAY_COUNT: bool = CAN_EXPEL;

    fn take_counter() -> Option<NonZeroU32> {
        sequences::take_counter::<Self>()
    }

    unsafe fn give_counter(_counter: u32) {
        sequences::give_counter();
    }

    unsafe fn count_unless_expelled(word: &Self::U64, amount: u64) -> bool {
        sequences::look_and_count::<Self>(word, amount)
    }

    fn expel_counts() {
        sequences::expel::<Self>();
    }

    fn counted(_counter: u32) -> Counted {
        sequences::counted::<Self>()
    }

    fn was_worth_it(_counted: Counted) -> bool {
        P::ticks() % 2 == 0
    }
}

impl<P: Platform, const CUT: u32, const CAN_EXPEL: bool> Platform for NarrowCounter<P, CUT, CAN_EXPEL> {
    type U32 = P::U32;
    type U64 = Word<P::U64, CUT>;
    type Ptr<T: 'static> = P::Ptr<T>;

    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        P::wait_on(word, expected, deadline_ns)
    }

    fn wake(word: *const Self::U32, n: u32) {
        P::wake(word, n);
    }

    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        P::wait_on_upper(&word.0, kept::<CUT>(expected), deadline_ns)
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

    fn has_sequences() -> bool {
        CAN_EXPEL
    }

    fn can_expel() -> bool {
        CAN_EXPEL
    }

    unsafe fn store_unless_expelled(word: &Self::U64, expected: u64, new: u64) -> bool {
        sequences::look_and_store::<Self>(word, expected, new)
    }

    fn expel() -> bool {
        sequences::expel::<Self>()
    }

    fn fits(address: u64, bits: u32) -> bool {
        P::fits(address, bits)
    }

    fn is_running(thread: ThreadId) -> RunState {
        P::is_running(thread)
    }

    fn is_core_wanted() -> bool {
        P::is_core_wanted()
    }

    fn step(step: Step) {
        P::step(step);
    }
}

/// The harness `H` with narrower counters.
#[derive(Debug)]
pub struct NarrowCounterHarness<H, const CUT: u32, const CAN_EXPEL: bool = false>(PhantomData<fn() -> H>);

impl<H: Harness, const CUT: u32, const CAN_EXPEL: bool> Harness for NarrowCounterHarness<H, CUT, CAN_EXPEL> {
    type Platform = NarrowCounter<H::Platform, CUT, CAN_EXPEL>;
    type Cell = H::Cell;
    const STARTS_QUIET: bool = CAN_EXPEL;

    fn run(jobs: Vec<Job>) {
        H::run(jobs);
    }

    unsafe fn free<T: 'static>(object: *mut T) {
        // SAFETY: the caller owes the same.
        unsafe { H::free(object) };
    }
}
