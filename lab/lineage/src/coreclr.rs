//! The text that the two monitors of CoreCLR share.
//!
//! Each has its own file with the whole story in its header. They are thin alike ([`thin`]); the fat form,
//! which [`FatForm`] asks for, is what PR 14216 replaced. Labels as E1 and I1 are those of the headers.

use crate::event::Event;
use crate::thin::{self, Answer, Holder, Thin};
use crate::wait_room::{WaitNode, WaitRoom};
use crate::{Defaults, Entry, NotHeld, RawLock, RawMonitor, RawTimedLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use ondeck_core::{Platform, StaticPlatform};

// -- 1. What makes one of the two -------------------------------------------------------------------------------------

/// The fat form, as far as only one of the two has it: its word, and who waits for it how.
pub trait FatForm<P: Platform>: fmt::Debug + Sized + Send + Sync + 'static {
    /// The row of this lock in [`LOCKS`](crate::LOCKS).
    const ENTRY: Entry;
    /// Its names for what happens to the thin word.
    const THIN: thin::Steps;
    /// Its constants.
    type Tuning;

    /// That of a free lock.
    fn new() -> Self;
    /// Nobody waits yet, and somebody is inside or not: what an inflation leaves.
    fn begin(&self, is_held: bool);
    /// Whether somebody is registered as a waiter.
    fn has_waiters(&self) -> bool;
    /// Whether nobody is inside, waits or spins.
    fn is_at_rest(&self) -> bool;
    /// One attempt. Never waits.
    fn enter<T: TuningSource<Self::Tuning>>(lock: &CoreclrMonitor<P, Self, T>, me: u32) -> Answer;
    /// After an attempt on either form that gave `answer`. False only if the deadline has passed.
    fn acquire_slow<T: TuningSource<Self::Tuning>>(
        lock: &CoreclrMonitor<P, Self, T>,
        me: u32,
        answer: Answer,
        deadline_ns: Option<u64>,
    ) -> bool;
    /// The holder leaves its last level.
    fn vacate<T: TuningSource<Self::Tuning>>(lock: &CoreclrMonitor<P, Self, T>);
}

// -- 2, 3. Tuning and state: each lock's own --------------------------------------------------------------------------

/// The constants of CoreCLR's monitors at lower spin budgets, as PR 14216 of dotnet/coreclr shows them.
#[derive(Clone, Copy, Debug)]
pub struct LowerSpin;

/// The constants of CoreCLR's monitors with spinning disabled, as PR 14216 of dotnet/coreclr shows them.
#[derive(Clone, Copy, Debug)]
pub struct NoSpin;

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A monitor of CoreCLR whose fat form is `F`.
pub struct CoreclrMonitor<P: Platform, F, T = Defaults> {
    pub(crate) thin: Thin<P>,
    pub(crate) fat: F,
    pub(crate) holder: Holder<P>,
    pub(crate) event: Event<P>,
    /// Threads in [`RawMonitor::wait`], which do not want the lock now.
    room: WaitRoom<P>,
    tuning: PhantomData<T>,
}

impl<P: StaticPlatform, F, T> CoreclrMonitor<P, F, T> {
    /// A free lock, for statics.
    pub(crate) const fn free(fat: F) -> Self {
        CoreclrMonitor {
            thin: Thin::INIT,
            fat,
            holder: Holder::INIT,
            event: Event::INIT,
            room: WaitRoom::INIT,
            tuning: PhantomData,
        }
    }
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, F: FatForm<P>, T: TuningSource<F::Tuning>> RawLock for CoreclrMonitor<P, F, T> {
    type Platform = P;
    const ENTRY: Entry = F::ENTRY;
    const HAS_LARGE_FORM: bool = true;

    fn new() -> Self {
        CoreclrMonitor {
            thin: Thin::new(),
            fat: F::new(),
            holder: Holder::new(),
            event: Event::new(),
            room: WaitRoom::new(),
            tuning: PhantomData,
        }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        let me = thin::me::<P>();
        self.thin.grab(me, &F::THIN) || self.try_acquire_fat(me)
    }

    #[inline]
    fn acquire(&self) {
        let me = thin::me::<P>();
        if !self.thin.grab(me, &F::THIN) {
            self.acquire_fat(me, None);
        }
    }

    #[inline]
    unsafe fn release(&self) {
        let me = thin::me::<P>();
        if !self.thin.leave(me, &F::THIN) {
            self.release_fat(me);
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.fat.has_waiters())
    }

    fn inflate(&self) {
        self.thin.inflate(&F::THIN, |owner, levels| {
            self.fat.begin(levels > 0);
            self.holder.set(owner, levels);
        });
    }

    /// The event may still be set for a waiter that gave up. The next one takes it and sleeps again.
    fn is_at_rest(&self) -> bool {
        self.thin.is_free_or_fat() && self.fat.is_at_rest()
    }
}

impl<P: Platform, F: FatForm<P>, T: TuningSource<F::Tuning>> RawTimedLock for CoreclrMonitor<P, F, T> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        let me = thin::me::<P>();
        self.thin.grab(me, &F::THIN) || self.acquire_fat(me, Some(deadline_ns))
    }
}

impl<P: Platform, F: FatForm<P>, T: TuningSource<F::Tuning>> RawMonitor for CoreclrMonitor<P, F, T> {
    fn is_held(&self) -> bool {
        let (me, seen) = (thin::me::<P>(), self.thin.state());
        if seen.is_fat() { self.holder.is(me) } else { seen.owner() == me }
    }

    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, NotHeld> {
        if !self.is_held() {
            return Err(NotHeld);
        }
        self.inflate();
        let (node, me, levels) = (WaitNode::new(), thin::me::<P>(), self.holder.levels());
        // SAFETY: we are inside, and the node stays here until it is removed below.
        unsafe { self.room.enqueue(&node) };
        self.holder.set(me, 1);
        self.release_fat(me);
        node.park(deadline_ns);
        self.acquire();
        self.holder.set(me, levels);
        // SAFETY: we are inside again, and the node was enqueued above.
        Ok(!unsafe { self.room.remove(&node) })
    }

    fn pulse(&self) -> Result<bool, NotHeld> {
        if !self.is_held() {
            return Err(NotHeld);
        }
        // SAFETY: we are inside.
        let oldest = unsafe { self.room.pop_oldest() };
        // SAFETY: popped here, and we are still inside.
        Ok(oldest.map(|popped| unsafe { popped.unpark() }).is_some())
    }
}

// -- 6. acquire_slow: what both forms have ----------------------------------------------------------------------------

impl<P: Platform, F: FatForm<P>, T: TuningSource<F::Tuning>> CoreclrMonitor<P, F, T> {
    /// One attempt on whichever form the lock has. Never waits.
    #[inline]
    pub(crate) fn enter(&self, me: u32) -> Answer {
        match self.thin.enter(me, &F::THIN) {
            Answer::Fat => F::enter(self, me),
            answer => answer,
        }
    }

    /// Of a lock that is fat, or nested, or contended.
    #[inline(never)]
    fn try_acquire_fat(&self, me: u32) -> bool {
        let mut answer = self.enter(me);
        if answer == Answer::Overflow {
            self.inflate();
            answer = F::enter(self, me);
        }
        answer == Answer::Entered
    }

    /// As [`try_acquire_fat`](Self::try_acquire_fat), until the deadline.
    #[inline(never)]
    fn acquire_fat(&self, me: u32, deadline_ns: Option<u64>) -> bool {
        let answer = self.enter(me);
        answer == Answer::Entered || F::acquire_slow(self, me, answer, deadline_ns)
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// # Panics
    /// If the caller is not inside.
    #[inline(never)]
    fn release_fat(&self, me: u32) {
        assert!(self.holder.is(me), "I4: release by a thread that does not hold the lock");
        if self.holder.unnest() {
            F::vacate(self);
        }
    }
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, F: FatForm<P>, T> fmt::Debug for CoreclrMonitor<P, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, thin) = (F::ENTRY.name, self.thin.state());
        if thin.is_fat() { write!(f, "{name}(fat, {:?})", self.fat) } else { write!(f, "{name}({thin:?})") }
    }
}
