//! Statistics of locks in the memory of the process, for as long as it runs: how often and how long threads wait, and how long
//! locks are held. `hooks` counts here, on its slow paths; `stats` reads it.
//!
//! # Classes
//! Locks are counted by what they are called, or by the place where they were first looked at: thousands of locks may be one
//! class. A lock's entry in the recording knows its class, which is looked for again once anything was named since. What finds no
//! room is of the last class.
//!
//! # Exact, and estimated
//! Each wait is counted, as it ends. Of holds, one of many is timed: each stands for so many.
//!
//! # Recordings
//! All this rests on a recording, in memory alone if nobody has asked for a file. Recordings begin and end, and the classes stay.
//! The memory of the classes is wiped in the child of a fork, which counts from zero.

use crate::buckets::{LIMITS_NS, bucket_of_ns};
use crate::layout::{NONE, Name, tenancy};
use crate::store::{Recording, locks, names, stacks};
use crate::thread::own;
use crate::walk;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use ondeck_core::kernel;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const MOST: usize = 512;
/// The class of all that finds no room.
pub(crate) const OTHERS: usize = MOST - 1;
/// Return addresses of the stack of a longest hold.
pub(crate) const DEPTH: usize = 16;

/// Zeros are one that is not in use.
#[repr(C, align(64))]
pub(crate) struct Class {
    /// Tells it from others: a name's hash with [`IS_NAMED`], or a place.
    key: AtomicU64,
    /// Whether the name is written.
    is_told: AtomicBool,
    /// A thread writes the stack, or reads it.
    is_busy: AtomicBool,
    name: [AtomicU64; Name::TEXT / 8],
    pub(crate) waits: Counts,
    pub(crate) gave_up: AtomicU64,
    pub(crate) holds: Counts,
    pub(crate) sampled: AtomicU64,
    stack: [AtomicU64; DEPTH],
    /// The length of the hold whose stack that is.
    pub(crate) stack_ns: AtomicU64,
}

/// Of lengths.
#[repr(C)]
pub(crate) struct Counts {
    pub(crate) buckets: [AtomicU64; LIMITS_NS.len() + 1],
    pub(crate) ns: AtomicU64,
    pub(crate) longest: AtomicU64,
}

const IS_NAMED: u64 = 1 << 63;

/// What a child of a fork gets as zeros.
struct Table {
    classes: [Class; MOST],
    /// What found no room in recordings that have ended.
    missed: AtomicU64,
    /// What was said of that: it is not to become less while a recording ends.
    said: AtomicU64,
}

/// Null until the program asks for statistics.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// One of so many acquisitions is timed, where no recording has another rate. At most of [`MOST_RATE`].
static RATE: AtomicU64 = AtomicU64::new(0);
const MOST_RATE: u64 = 1_000_000;

/// All classes, if anything is counted.
#[inline(always)]
pub(crate) fn classes() -> Option<&'static [Class; MOST]> {
    table().map(|table| &table.classes)
}

/// In a program without statistics, nothing of this is compiled.
#[inline(always)]
fn table() -> Option<&'static Table> {
    if cfg!(not(feature = "stats")) {
        return None;
    }
    // SAFETY: null, or a mapping that stays, of zeros at first, which are a value of it; all fields are atomic.
    unsafe { TABLE.load(Acquire).as_ref() }
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    classes().is_some()
}

pub(crate) fn rate() -> u64 {
    RATE.load(Relaxed)
}

/// Counts from here on. False if there is no memory for it, or none that a child would get as zeros.
pub(crate) fn begin(rate: u64) -> bool {
    const LENGTH: usize = size_of::<Table>();
    if cfg!(not(feature = "stats")) || is_on() {
        return is_on();
    }
    // The first one counts.
    let _ = RATE.compare_exchange(0, rate.clamp(1, MOST_RATE), Relaxed, Relaxed);
    let Some(place) = kernel::map_memory(LENGTH) else { return false };
    // SAFETY: our mapping.
    let is_wiped = unsafe { kernel::advise(place, LENGTH, libc::MADV_WIPEONFORK) }.is_ok();
    let is_ours = || TABLE.compare_exchange(ptr::null_mut(), place.cast(), AcqRel, Relaxed).is_ok();
    if !is_wiped || !is_ours() {
        // SAFETY: our mapping, which nobody else knows.
        let _ = unsafe { kernel::call(libc::SYS_munmap, [place as usize, LENGTH]) };
    }
    is_on()
}

/// Nothing is counted from here on. What was mapped stays, as others may look at it.
pub(crate) fn give_up() {
    TABLE.store(ptr::null_mut(), Release);
}

/// A recording has ended.
pub(crate) fn keep_missed(recording: &Recording) {
    if let Some(table) = table() {
        table.missed.fetch_add(recording.dropped_locks.load(Relaxed), Relaxed);
    }
}

/// Waits and holds that found no room, those of that recording included.
pub(crate) fn missed(recording: Option<&Recording>) -> u64 {
    let Some(table) = table() else { return 0 };
    let now = table.missed.load(Relaxed) + recording.map_or(0, |recording| recording.dropped_locks.load(Relaxed));
    table.said.fetch_max(now, Relaxed).max(now)
}

// -- Classes ----------------------------------------------------------------------------------------------------------

/// The class of the lock of that number, and its own. `None` if the lock is gone.
pub(crate) fn class_of(recording: &Recording, lock: u32) -> Option<(&'static Class, usize)> {
    const CLASS: u64 = u16::MAX as u64;
    let classes = classes()?;
    let entry = || locks::lock(recording, lock);
    let here = entry()?;
    // The turn, too: this may be written when the entry is the next lock's.
    let of = u64::from(names::n_given()) << 32 | u64::from(lock >> tenancy::NUMBER) << 16;
    let known = here.class.load(Relaxed);
    let number = ((known & CLASS) as usize).wrapping_sub(1);
    if number < MOST && known & !CLASS == of {
        return Some((&classes[number], number));
    }
    let text = names::text_of(here.address.load(Acquire));
    // Nothing is told of the innermost of no stack.
    let place = stacks::innermost(recording, here.origin.load(Acquire));
    entry()?;
    let number = match (text, place) {
        (Some(text), _) => find(classes, hash(&text), |class| class.tell(&text)),
        (None, 0) => OTHERS,
        (None, place) => find(classes, place & !IS_NAMED, |class| class.is_told.store(true, Release)),
    };
    here.class.store(of | (number as u64 + 1), Relaxed);
    Some((&classes[number], number))
}

fn hash(text: &[u64]) -> u64 {
    IS_NAMED | text.iter().fold(0, |hash: u64, word| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The number of the class with that key; `tell` writes what a new one has.
fn find(classes: &[Class; MOST], key: u64, tell: impl FnOnce(&Class)) -> usize {
    let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    let is_it = |number: &usize| {
        let here = &classes[*number].key;
        match here.load(Relaxed) {
            0 => here.compare_exchange(0, key, Relaxed, Relaxed).map_or_else(|other| other == key, |_| true),
            found => found == key,
        }
    };
    let found = (0..OTHERS).map(|step| (first + step) % OTHERS).find(is_it);
    // Each thread that comes before it is told writes the same.
    if let Some(class) = found.map(|number| &classes[number]).filter(|class| !class.is_told.load(Relaxed)) {
        tell(class);
    }
    found.unwrap_or(OTHERS)
}

impl Class {
    fn tell(&self, text: &[u64; Name::TEXT / 8]) {
        for (word, value) in self.name.iter().zip(text) {
            word.store(*value, Relaxed);
        }
        self.is_told.store(true, Release);
    }

    /// Whether it is one by now.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Acquire)
    }

    /// The name, up to a zero; nothing if it is of a place.
    pub(crate) fn name(&self) -> [u8; Name::TEXT] {
        let mut text = [0; Name::TEXT];
        for (bytes, word) in text.chunks_exact_mut(8).zip(&self.name) {
            bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        text
    }

    /// The return address of the place that it is of, or 0.
    pub(crate) fn place(&self) -> u64 {
        let key = self.key.load(Relaxed);
        if key & IS_NAMED == 0 { key } else { 0 }
    }

    /// Does it with the stack of the longest hold, unless another thread is at it.
    pub(crate) fn with_stack(&self, act: impl FnOnce(&[AtomicU64; DEPTH])) {
        if !self.is_busy.swap(true, Acquire) {
            act(&self.stack);
            self.is_busy.store(false, Release);
        }
    }
}

impl Counts {
    fn add(&self, ns: u64, weight: u64) {
        let bucket = bucket_of_ns(ns);
        self.buckets[bucket].fetch_add(weight, Relaxed);
        self.ns.fetch_add(ns.saturating_mul(weight), Relaxed);
    }

    /// Whether it is the longest so far.
    fn is_longest(&self, ns: u64) -> bool {
        ns > self.longest.load(Relaxed) && ns > self.longest.fetch_max(ns, Relaxed)
    }
}

// -- Counting ---------------------------------------------------------------------------------------------------------

/// A wait is over.
#[inline]
pub(crate) fn waited(recording: &Recording, lock: u32, ns: u64, has_it: bool) {
    if is_on() {
        count_wait(recording, lock, ns, has_it);
    }
}

#[inline(never)]
fn count_wait(recording: &Recording, lock: u32, ns: u64, has_it: bool) {
    let Some((class, _)) = class_of(recording, lock) else { return };
    class.waits.add(ns, 1);
    class.waits.is_longest(ns);
    if !has_it {
        // Who sees it sees the wait.
        class.gave_up.fetch_add(1, Release);
    }
}

/// A hold that has ended, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// The number of the lock.
    pub(crate) lock: u32,
    /// Its length, if it was one of many that are timed.
    pub(crate) timed: Option<u64>,
    /// Its length since somebody began to wait for its end.
    pub(crate) waited_for: Option<u64>,
    /// The stack that has acquired the lock.
    pub(crate) stack: u32,
}

/// Counts a hold. What is to be told of it once the lock is free.
#[inline]
pub(crate) fn held(recording: &Recording, held: Held) -> Option<ToTell> {
    if is_on() { count_hold(recording, held) } else { None }
}

#[inline(never)]
fn count_hold(recording: &Recording, held: Held) -> Option<ToTell> {
    let (class, _) = class_of(recording, held.lock)?;
    if let Some(ns) = held.timed {
        class.holds.add(ns, recording.rate);
        class.sampled.fetch_add(1, Relaxed);
    }
    let ns = held.timed.or(held.waited_for)?;
    if class.holds.is_longest(ns) {
        let stack = if held.stack == NONE { walk::stack(recording) } else { held.stack };
        class.with_stack(|words| {
            if class.stack_ns.load(Relaxed) < ns {
                stacks::copy(recording, stack, words);
                class.stack_ns.store(ns, Relaxed);
            }
        });
    }
    (ns >= LONG.load(Relaxed)).then_some(ToTell { class, ns, is_timed: held.timed.is_some() })
}

// -- Long holds -------------------------------------------------------------------------------------------------------

/// A hold that the program wants to be told of.
#[derive(Clone, Copy)]
pub(crate) struct ToTell {
    pub(crate) class: &'static Class,
    pub(crate) ns: u64,
    pub(crate) is_timed: bool,
}

/// From which length on.
static LONG: AtomicU64 = AtomicU64::new(u64::MAX);
/// By which function; null if by none.
static LISTENER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From here on `listener` is called after each hold of at least that length that is known.
pub(crate) fn listen(ns: u64, listener: fn(ToTell)) {
    // Meanwhile nobody is told.
    LONG.store(u64::MAX, Relaxed);
    LISTENER.store(listener as *mut (), Release);
    LONG.store(ns, Release);
}

impl ToTell {
    /// The calling thread holds that lock no more. A thread that is told already is not told of what it does meanwhile.
    #[cold]
    pub(crate) fn tell(self) {
        let listener = LISTENER.load(Acquire);
        // Another one may have come meanwhile, for longer ones only.
        if self.ns < LONG.load(Relaxed) {
            return;
        }
        let is_telling = &own().is_telling;
        if listener.is_null() || is_telling.replace(true) {
            return;
        }
        // SAFETY: stored by `listen`.
        let listener = unsafe { core::mem::transmute::<*mut (), fn(ToTell)>(listener) };
        contain(|| listener(self));
        is_telling.set(false);
    }
}

/// Calls what is the program's. A panic of it ends here, after the program's hook has told of it: a release is called by
/// unsafe code, also by crates of others, which goes by a release that returns.
fn contain(act: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(act)) else { return };
    // The payload is the program's too. What its drop panics with is not dropped.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(second);
    }
}

#[cfg(all(test, feature = "stats"))]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_class_and_what_finds_no_room_the_last() {
        // SAFETY: all fields are numbers, and zeros are a class that is not in use.
        let classes: std::boxed::Box<[Class; MOST]> = std::boxed::Box::new(unsafe { core::mem::zeroed() });
        let number = |key| find(&classes, key, |class| class.is_told.store(true, Release));
        let mut numbers: std::vec::Vec<usize> = (1..MOST as u64).map(number).collect();
        assert_eq!((1..MOST as u64).map(number).collect::<std::vec::Vec<_>>(), numbers);
        assert!(numbers.iter().all(|number| classes[*number].is_told()));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..OTHERS));
        assert_eq!([number(MOST as u64), number(u64::MAX)], [OTHERS; 2]);
        assert_eq!(classes[OTHERS].place(), 0);
    }

    #[test]
    fn a_length_at_a_limit_is_in_the_bucket_below_it() {
        // SAFETY: all fields are numbers.
        let counts: Counts = unsafe { core::mem::zeroed() };
        for ns in [0, 1000, 1001, 3000, 3001, 10_000_000_000, 10_000_000_001, u64::MAX / 2] {
            counts.add(ns, 2);
        }
        let buckets = counts.buckets.each_ref().map(|count| count.load(Relaxed));
        let mut expected = [0; LIMITS_NS.len() + 1];
        (expected[0], expected[1], expected[2]) = (4, 4, 2);
        (expected[LIMITS_NS.len() - 1], expected[LIMITS_NS.len()]) = (2, 4);
        assert_eq!(buckets, expected);
        assert!(counts.is_longest(7) && !counts.is_longest(7) && counts.is_longest(8));
    }
}
