//! Who waits, and who is charged for it.
//!
//! # The rule
//! Each instant of each wait is charged to the hold that is in progress at that instant, or to nobody if the lock is free
//! then. So a hold of 1 ms during which three threads wait is charged 3 ms, whoever of them waits longer and whoever
//! releases later. A hold is known by the stack that acquired the lock, where that was walked: if it was waited for, or looked at.
//! Else by the stack that releases it.
//!
//! # How that is computed
//! Of the threads that wait, a lock has the number and the sum of the instants from which each is still to be charged for
//! ([`Waiting`]), in one word. Who starts to wait adds its own instant. A release at an instant t is charged n·t − sum, and
//! sets the sum to n·t: one addition, and what others add meanwhile stays. Who has waited and acquires charges what it finds
//! to nobody, since the lock was free since the last release, and takes itself out. Who gives up leaves its part for the next
//! to be charged.
//!
//! # Exact, and at instants
//! *Exact*: while anybody waits, each acquire and each release reads the clock. With the C library's mutexes that is so: a
//! release that is waited for is a system call anyway. *At instants*: ondeck's lock is released and acquired again by whoever
//! runs, many times while others sleep, and two looks at a clock would be most of such a hold. There a waiter asks for a
//! charge when it begins to wait and whenever it goes to sleep; the hold in progress then is charged for all since the last
//! charge. Over many instants the shares are the same. Where a look costs little beside what it measures, the next step is
//! looked at as well, and charged for itself alone: the release by who has waited or was the first to find the lock free, and
//! what follows a hold that was long. So what is long is charged exactly. What a waiter finds that nobody looked at is left
//! over for the next instant.
//!
//! # What an uncontended acquisition costs
//! One counter of the thread is counted down, and one word of the mutex looked at. One acquisition of many, by chance, is
//! timed. The counter is the thread's, so that an acquisition writes nothing that other threads look at.

mod waiting;

use crate::file::{Recording, current};
use crate::layout::{Lock, NONE, event, kind};
use crate::memory::now_ns;
use crate::ring::{Sample, push};
use crate::thread::own;
use crate::{chance, locks, walk};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

/// More than that have no number in their marks.
pub(crate) const MOST_LOCKS: u32 = 1 << 24;

/// Whether charges are exact; see the head of the file.
static IS_EXACT: AtomicBool = AtomicBool::new(true);
/// Tells marks of this process from those that its parent left in its memory, in their place in [`Tag`].
static GENERATION: AtomicU32 = AtomicU32::new(0);

pub(crate) fn begin(is_exact: bool) {
    IS_EXACT.store(is_exact, Relaxed);
    GENERATION.store(GENERATION.load(Relaxed).wrapping_add(Tag::ONE_GENERATION) & Tag::GENERATION, Relaxed);
}

/// Which recording of the process and its parents this is.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Eight bytes in a mutex of which zeros are a mutex that has not been seen.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Marks {
    /// A [`Tag`].
    tag: AtomicU32,
    /// The locks have room for eight bytes.
    _rest: AtomicU32,
}

/// What of a lock is in its marks.
struct Tag;

impl Tag {
    /// Whoever acquires or releases is to charge, what was left over too.
    const HOT: u32 = 1;
    /// The acquisition is looked at.
    const TIMED: u32 = 2;
    /// The number is that of the stack where the mutex was initialised; it has none of its own yet.
    const IS_ORIGIN: u32 = 4;
    /// The stack that acquired the mutex is known.
    const KNOWN: u32 = 8;
    /// Whoever acquires or releases is to charge what has passed since the last charge, which was the step before.
    const NEXT: u32 = 0x10;
    const ONE_GENERATION: u32 = 0x20;
    const GENERATION: u32 = 0xe0;
    /// The number is above that.
    const NUMBER_AT: u32 = 8;
}

/// What somebody is charged.
struct Charged {
    ns: u64,
    /// Whether it is for a time beside which a look at the clock is nothing.
    is_long: bool,
}

/// Charges what is waited for up to now, and says how much that is.
fn charge(lock: &Lock, now: u64, with_left_over: bool) -> Charged {
    /// Two looks at a clock, and a sample, are a hundredth of that.
    const LONG_NS: u64 = 20_000;
    let mut area = 0;
    // Of several who have the lock to read and release it at once, one charges an instant. Always succeeds.
    let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
        area = waiting::area(word, now);
        Some(word.wrapping_add(waiting::charged(area)))
    });
    // Two locked instructions less: only who has the lock writes the one, and the other is mostly 0.
    let since = lock.charged_until.load(Relaxed);
    lock.charged_until.store(now, Relaxed);
    let has_left_over = with_left_over && lock.left_over.load(Relaxed) != 0;
    let left_over = if has_left_over { lock.left_over.swap(0, Relaxed) } else { 0 };
    Charged { ns: area + left_over, is_long: now.saturating_sub(since) >= LONG_NS }
}

/// Whether charges for that lock are exact: the C library's locks tell of each wait, and of those that many may have there
/// are no others.
fn is_exact(lock: &Lock) -> bool {
    IS_EXACT.load(Relaxed) || lock.kind.load(Relaxed) & kind::SEVERAL != 0
}

/// Waits and charges of at least that are always recorded, shorter ones in proportion.
pub(crate) fn whole_ns(recording: &Recording) -> u64 {
    const PER_RATE_NS: u64 = 1000;
    (recording.rate - 1) * PER_RATE_NS
}

/// A thread that will sleep has the time to walk its stack before; if its wait is recorded from less than that on, it will
/// most likely be.
pub(crate) const SLEEP_NS: u64 = 50_000;

fn record(recording: &Recording, event: u32, number: u32, at: u64, ns: u64, stack: impl FnOnce() -> u32) {
    let whole = whole_ns(recording);
    if ns >= chance::threshold(whole) {
        push(recording, Sample { event, lock: number, stack: stack(), at, ns, weight: chance::weight(ns, whole) });
    }
}

// -- Marks ------------------------------------------------------------------------------------------------------------

impl Marks {
    /// Of a lock that has not been seen.
    pub(crate) const fn new() -> Self {
        Marks { tag: AtomicU32::new(0), _rest: AtomicU32::new(0) }
    }

    #[inline(always)]
    fn has(&self, flags: u32) -> bool {
        self.tag.load(Relaxed) & flags != 0
    }

    /// The mutex has been initialised, by the calling thread.
    #[cold]
    pub fn initialised(&self) {
        let Some(recording) = current() else { return };
        let origin = walk::stack(recording);
        let tag = if origin < MOST_LOCKS { origin << Tag::NUMBER_AT | Tag::IS_ORIGIN } else { 0 };
        self.tag.store(tag | GENERATION.load(Relaxed), Relaxed);
    }

    /// The number and the entry of the mutex at that address, made if there is none.
    fn lock<'a>(&self, recording: &'a Recording, address: u64) -> Option<(u32, &'a Lock)> {
        let generation = GENERATION.load(Relaxed);
        let tag = self.tag.load(Acquire);
        let number = tag >> Tag::NUMBER_AT;
        let is_ours = tag & Tag::GENERATION == generation;
        if is_ours && tag & Tag::IS_ORIGIN == 0 {
            let found = locks::lock(recording, number).filter(|lock| lock.address.load(Relaxed) == address);
            if let Some(lock) = found {
                return Some((number, lock));
            }
        }
        if !locks::has_room(recording) {
            return None;
        }
        let (kind, origin) = if is_ours && tag & Tag::IS_ORIGIN != 0 {
            (kind::INITIALISED, number)
        } else {
            (kind::SEEN, walk::stack(recording))
        };
        let number = locks::add(recording, address, kind, origin);
        let next = number << Tag::NUMBER_AT | generation | tag & (Tag::HOT | Tag::NEXT);
        // If another thread has been faster, our entry stays without samples, which readers leave out. It fails if a flag
        // has changed, too: then the other's is the number next time.
        if self.tag.compare_exchange(tag, next, AcqRel, Relaxed).is_err() {
            let tag = self.tag.load(Acquire);
            let is_theirs = tag & Tag::GENERATION == generation && tag & Tag::IS_ORIGIN == 0;
            let theirs = locks::lock(recording, tag >> Tag::NUMBER_AT).filter(|_| is_theirs);
            if let Some(lock) = theirs.filter(|lock| lock.address.load(Relaxed) == address) {
                return Some((tag >> Tag::NUMBER_AT, lock));
            }
        }
        locks::lock(recording, number).map(|lock| (number, lock))
    }

    /// The number of the lock at that address.
    pub(crate) fn number(&self, recording: &Recording, address: u64) -> Option<u32> {
        self.lock(recording, address).map(|(number, _)| number)
    }

    /// Whether whoever acquires or releases is to look.
    #[inline(always)]
    pub(crate) fn asks(&self) -> bool {
        self.has(Tag::HOT | Tag::NEXT)
    }

    /// Whether the next acquisition, by the calling thread, is only to be [`count`]ed, if it does not wait. Who begins to wait
    /// after this look is charged to the hold that follows it.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        own().holds.left() > 1 && !self.asks()
    }

    /// The calling thread has acquired the mutex at that address, without waiting.
    #[inline(always)]
    pub fn taken(&self, address: u64) {
        let holds = &own().holds;
        let left = holds.left();
        if left > 1 && !self.asks() {
            holds.leave(left - 1);
        } else {
            self.taken_with_a_look(address, false);
        }
    }

    #[cold]
    #[inline(never)]
    fn taken_with_a_look(&self, address: u64, has_waited: bool) {
        let Some(recording) = current() else { return };
        if self.asks() && !has_waited {
            self.found_free(recording, address);
        }
        recording.has_locked.store(1, Relaxed);
        if own().holds.count(recording) {
            self.look(recording, address);
        }
    }

    /// Acquires the mutex at that address by `act`, after a walk of the stack: a walk takes longer than many a hold, and others
    /// would have to wait for it.
    #[cold]
    #[inline(never)]
    pub fn take_ready<T>(&self, address: u64, act: impl FnOnce() -> T) -> T {
        if let Some(recording) = current() {
            own().ready.set((address, walk::stack(recording).into()));
        }
        let result = act();
        own().ready.set((0, 0));
        result
    }

    /// Times this hold.
    fn look(&self, recording: &Recording, address: u64) {
        let Some((_, lock)) = self.lock(recording, address) else { return };
        let (ready, stack) = own().ready.get();
        let stack = if ready == address { stack as u32 } else { walk::stack(recording) };
        lock.taken_by.store(stack, Relaxed);
        lock.taken_at.store(now_ns(), Relaxed);
        self.tag.fetch_or(Tag::TIMED | Tag::KNOWN, Relaxed);
    }

    /// Somebody waits, and nobody had the lock until now.
    fn found_free(&self, recording: &Recording, address: u64) {
        let Some((number, lock)) = self.lock(recording, address) else { return };
        let now = now_ns();
        let charged = charge(lock, now, self.has(Tag::HOT));
        self.cool(lock, true);
        record(recording, event::HANDING_ON, number, now, charged.ns, || NONE);
    }

    /// Charged: the next is to charge only if that is to be exact, if it `goes_on` for this step, or if it is asked for.
    fn cool(&self, lock: &Lock, goes_on: bool) {
        let is_exact = is_exact(lock);
        let is_waited_for = waiting::number(lock.waiting.load(Relaxed)) > 0;
        if is_exact && is_waited_for {
            return;
        }
        if goes_on && is_waited_for {
            self.tag.fetch_or(Tag::NEXT, Relaxed);
            self.tag.fetch_and(!Tag::HOT, Relaxed);
            return;
        }
        self.tag.fetch_and(!(Tag::HOT | Tag::NEXT), Relaxed);
        // Who began to wait meanwhile may have set it before it was cleared.
        if is_exact && waiting::number(lock.waiting.load(Relaxed)) > 0 {
            self.tag.fetch_or(Tag::HOT, Relaxed);
        }
    }

    /// Whether somebody waits who asks for a charge, as far as this process has written it.
    fn asks_for_charge(&self) -> bool {
        let tag = self.tag.load(Relaxed);
        tag & (Tag::HOT | Tag::NEXT) != 0 && tag & Tag::GENERATION == generation()
    }

    /// The calling thread has acquired the lock at that address, which others wait for, without waiting.
    pub(crate) fn found_bare(&self, recording: &Recording, address: u64) {
        if self.asks_for_charge() {
            self.found_free(recording, address);
        }
    }

    /// The calling thread is about to release the lock at that address, which has no marks of its own; of this hold it
    /// knows the stack and the beginning, or neither.
    pub(crate) fn release_bare(
        &self,
        recording: &Recording,
        address: u64,
        taken_by: u32,
        from: u64,
    ) -> Option<Pending> {
        let asks = self.asks_for_charge();
        if !asks && from == 0 {
            return None;
        }
        let (number, lock) = self.lock(recording, address)?;
        let now = now_ns();
        let charged = asks.then(|| {
            let charged = charge(lock, now, self.has(Tag::HOT));
            self.cool(lock, charged.is_long);
            charged.ns
        });
        let held = (from != 0).then(|| now.saturating_sub(from));
        Some(Pending { number, now, woken: own().woken.get(), taken_by, charged, held, flag: 0 })
    }

    /// Whether [`release`](Self::release) is to be called before the mutex is released.
    #[inline(always)]
    pub fn is_marked(&self) -> bool {
        self.has(Tag::HOT | Tag::NEXT | Tag::TIMED | Tag::KNOWN)
    }

    /// The calling thread is about to release the mutex at that address. What is to be done after that is in the answer; the
    /// mutex may be gone by then.
    #[cold]
    #[inline(never)]
    pub fn release(&self, address: u64) -> Option<Pending> {
        let recording = current()?;
        let tag = self.tag.load(Relaxed);
        let is_ours = tag & Tag::GENERATION == GENERATION.load(Relaxed);
        if tag & (Tag::TIMED | Tag::KNOWN) != 0 {
            self.tag.fetch_and(!(Tag::TIMED | Tag::KNOWN), Relaxed);
        }
        if tag & (Tag::HOT | Tag::NEXT | Tag::TIMED) == 0 {
            return None;
        }
        let Some((number, lock)) = self.lock(recording, address).filter(|_| is_ours) else {
            self.tag.fetch_and(!(Tag::HOT | Tag::NEXT), Relaxed);
            return None;
        };
        let taken_by = if tag & Tag::KNOWN != 0 { lock.taken_by.load(Relaxed) } else { NONE };
        let now = now_ns();
        let mut pending =
            Pending { number, now, woken: own().woken.get(), taken_by, charged: None, held: None, flag: 0 };
        if tag & (Tag::HOT | Tag::NEXT) != 0 {
            let charged = charge(lock, now, tag & Tag::HOT != 0);
            self.cool(lock, charged.is_long);
            pending.charged = Some(charged.ns);
        }
        let taken_at = lock.taken_at.load(Relaxed);
        // Not of this process, if nobody has written it here.
        if tag & Tag::TIMED != 0 && taken_at != 0 {
            pending.held = Some(now.saturating_sub(taken_at));
        }
        Some(pending)
    }

    /// The calling thread begins to wait for the mutex at that address. `None` if that cannot be recorded.
    #[cold]
    pub fn wait(&self, address: u64) -> Option<Wait<'_>> {
        let recording = current()?;
        // With the C library's mutexes it sleeps now; with ours it will tell.
        self.begin_to_wait(recording, address, IS_EXACT.load(Relaxed))
    }

    /// As [`wait`](Self::wait), by a thread that sleeps now or will tell if it does.
    pub(crate) fn begin_to_wait(
        &self,
        recording: &'static Recording,
        address: u64,
        sleeps_now: bool,
    ) -> Option<Wait<'_>> {
        let (number, lock) = self.lock(recording, address)?;
        let threshold = chance::threshold(whole_ns(recording));
        let (stack, outer) = (Cell::new(NONE), Cell::new(ptr::null()));
        let wait = Wait { marks: self, lock, number, from: now_ns(), threshold, flag: 0, stack, outer };
        if sleeps_now {
            wait.prepare_to_sleep(recording);
        }
        let before = lock.waiting.fetch_add(waiting::one(wait.from), Relaxed);
        lock.most_waiting.fetch_max(waiting::number(before) as u32 + 1, Relaxed);
        self.tag.fetch_or(Tag::HOT, Relaxed);
        Some(wait)
    }
}

/// Counts an acquisition of a mutex that [is quiet](Marks::is_quiet).
#[inline(always)]
pub fn count() {
    let holds = &own().holds;
    holds.leave(holds.left() - 1);
}

// -- A wait -----------------------------------------------------------------------------------------------------------

/// A wait in progress.
#[derive(Debug)]
pub struct Wait<'a> {
    marks: &'a Marks,
    lock: &'a Lock,
    number: u32,
    from: u64,
    /// It is recorded if it takes as long as that.
    threshold: u64,
    /// Of an `Access`.
    pub(crate) flag: u32,
    stack: Cell<u32>,
    /// What the thread was doing before, which is to be found again: a signal's handler may wait inside a wait.
    outer: Cell<*const Wait<'static>>,
}

impl Wait<'_> {
    /// Waits by `act`, which tells what it does by [`slept`], [`spun`] and [`rotated`].
    pub fn told<T>(&self, act: impl FnOnce() -> T) -> T {
        self.outer.set(own().wait.get());
        own().wait.set((&raw const *self).cast());
        let result = act();
        own().wait.set(self.outer.get());
        result
    }

    /// It is over: the calling thread has the lock, or has given up. Gives how long it took, in ns.
    pub fn end(self, has_it: bool, address: u64) -> u64 {
        let Some(recording) = current() else { return 0 };
        let waited_ns = self.write_down(recording, has_it);
        if has_it {
            self.marks.taken_with_a_look(address, true);
            self.tell_stack();
        }
        waited_ns
    }

    pub(crate) fn write_down(&self, recording: &Recording, has_it: bool) -> u64 {
        let now = now_ns();
        if has_it {
            self.enter(recording, now);
        } else {
            self.give_up(now);
        }
        let event = self.flag | if has_it { event::WAIT } else { event::GAVE_UP };
        let ns = now - self.from;
        if ns >= self.threshold {
            let (stack, weight) = (self.stack(recording), chance::weight(ns, whole_ns(recording)));
            push(recording, Sample { event, lock: self.number, stack, at: now, ns, weight });
        }
        ns
    }

    fn prepare_to_sleep(&self, recording: &Recording) {
        if self.threshold <= SLEEP_NS {
            self.stack(recording);
        }
    }

    /// The stack that has waited, if it was walked.
    pub(crate) fn known_stack(&self) -> u32 {
        self.stack.get()
    }

    /// Whoever releases it will be known by the stack that has waited, if that was walked.
    fn tell_stack(&self) {
        if self.stack.get() != NONE {
            self.lock.taken_by.store(self.stack.get(), Relaxed);
            self.marks.tag.fetch_or(Tag::KNOWN, Relaxed);
        }
    }

    fn enter(&self, recording: &Recording, now: u64) {
        let is_instant = is_exact(self.lock) || self.marks.has(Tag::HOT);
        let is_looked_at = is_instant || self.marks.has(Tag::NEXT);
        let charged = charge(self.lock, now, is_instant);
        self.lock.waiting.fetch_sub(waiting::one(now), Relaxed);
        self.marks.cool(self.lock, true);
        if is_looked_at {
            record(recording, event::HANDING_ON, self.number, now, charged.ns, || NONE);
        } else {
            // Others may have had it since the last charge, who are not known.
            self.lock.left_over.fetch_add(charged.ns, Relaxed);
        }
    }

    /// Leaves what it has waited for the next to be charged.
    fn give_up(&self, now: u64) {
        let from = self.from.max(self.lock.charged_until.load(Relaxed));
        self.lock.waiting.fetch_sub(waiting::one(from), Relaxed);
        self.lock.left_over.fetch_add(now.saturating_sub(from), Relaxed);
    }

    fn stack(&self, recording: &Recording) -> u32 {
        if self.stack.get() == NONE {
            self.stack.set(walk::stack(recording));
        }
        self.stack.get()
    }
}

/// Looks at what the calling thread waits for, if it does and tells.
#[inline]
fn now_waiting(act: impl FnOnce(&Recording, &Wait<'_>)) {
    let Some(recording) = current() else { return };
    // SAFETY: null, or in a frame of this thread that `told` has not left.
    if let Some(wait) = unsafe { own().wait.get().as_ref() } {
        act(recording, wait);
    }
}

/// The calling thread goes to sleep.
pub fn slept() {
    now_waiting(|recording, wait| {
        wait.lock.parks.fetch_add(1, Relaxed);
        wait.prepare_to_sleep(recording);
        wait.marks.tag.fetch_or(Tag::HOT, Relaxed);
    });
}

/// The calling thread's loop has made a turn.
pub fn spun() {
    now_waiting(|_, wait| {
        wait.lock.spins.fetch_add(1, Relaxed);
    });
}

/// The calling thread has woken so many.
#[inline]
pub fn woke(n: u32) {
    if current().is_some() {
        own().woken.set(own().woken.get().wrapping_add(n.into()));
    }
}

/// Another thread than before is on deck.
pub fn rotated() {
    now_waiting(|_, wait| {
        wait.lock.rotations.fetch_add(1, Relaxed);
    });
}

// -- After a release --------------------------------------------------------------------------------------------------

/// What is to be written down of a release.
#[derive(Debug)]
pub struct Pending {
    pub(crate) number: u32,
    now: u64,
    /// What the calling thread had woken by then.
    woken: u64,
    /// The stack that acquired it, if that is known.
    taken_by: u32,
    charged: Option<u64>,
    held: Option<u64>,
    /// Of an `Access`.
    pub(crate) flag: u32,
}

impl Pending {
    /// The mutex is released.
    pub fn done(self) {
        let Some(recording) = current() else { return };
        let n_woken = own().woken.get().wrapping_sub(self.woken);
        if n_woken > 0
            && let Some(lock) = locks::lock(recording, self.number)
        {
            lock.wakes.fetch_add(n_woken as u32, Relaxed);
        }
        if let Some(ns) = self.held {
            let (weight, stack) = (recording.rate as f64, self.taken_by);
            let event = event::TAKE | self.flag;
            push(recording, Sample { event, lock: self.number, stack, at: self.now, ns, weight });
        }
        if let Some(ns) = self.charged {
            let stack = || if self.taken_by == NONE { walk::stack(recording) } else { self.taken_by };
            record(recording, event::CHARGE | self.flag, self.number, self.now, ns, stack);
        }
    }
}
