//! `sections`: some work inside, some outside, and a counter that would show a second thread inside.
//!
//! What the work inside is, and where the data lie, are two choices, which make four kinds of section:
//!
//! | | on lines of their own ([`Apart`]) | on the line of the lock ([`Beside`]) |
//! |---|---|---|
//! | time is spent ([`Idle`]) | without `--data` | `none` |
//! | a number is worked on ([`Chain`]) | `far` | `near` |
//!
//! The counter can be left out of none of them, or a lock that lets two threads in would pass. So where it lies is part of
//! the measurement: on a line of its own, each pass of the lock moves two lines; beside the lock it moves one, which the
//! release writes anyway. `near` is what parking_lot's benchmark does, whose number is inside the mutex.

use super::spec::Data;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::measure::{Job, Meter, measure};
use crate::world::{Alone, World};
use ondeck_core::{Atomic, Platform};
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The lock and the data that it guards, at site `S`, and how much work there is.
pub(crate) struct Sections<S> {
    site: S,
    cs: u32,
    out: u32,
}

/// Sections without `--data`.
pub(crate) type Usual<L, W> = Sections<Apart<L, Idle<W>>>;

/// What is worked on inside.
pub(crate) trait Guarded: Send + Sync + 'static {
    type World: World;

    fn new() -> Self;

    /// Does `units` of work.
    fn work(&self, units: u32);

    /// Sections so far.
    fn count(&self) -> &<Self::World as Platform>::U64;
}

/// Nothing but the counter: the work only takes time.
pub(crate) struct Idle<W: World> {
    count: W::U64,
}

impl<W: World> Guarded for Idle<W> {
    type World = W;

    fn new() -> Self {
        Idle { count: W::U64::new(0) }
    }

    #[inline(always)]
    fn work(&self, units: u32) {
        W::spend(units);
    }

    #[inline(always)]
    fn count(&self) -> &W::U64 {
        &self.count
    }
}

/// A number, and the counter on the same line.
#[repr(C)]
pub(crate) struct Chain<W: World> {
    number: W::U64,
    count: W::U64,
}

impl<W: World> Guarded for Chain<W> {
    type World = W;

    fn new() -> Self {
        Chain { number: W::U64::new(1), count: W::U64::new(0) }
    }

    #[inline(always)]
    fn work(&self, units: u32) {
        if units > 0 {
            multiply_in_place::<W>(&self.number, units);
        }
    }

    #[inline(always)]
    fn count(&self) -> &W::U64 {
        &self.count
    }
}

/// Odd, so that no power of it is nothing: the multiplier of Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;
/// What a multiplication takes on the processors of the last fifteen years.
const MULTIPLY_CYCLES: u32 = 3;

/// Multiplies the number so many times, and has it in memory each time: whoever looks at its line meanwhile delays the next
/// step. Out of line for the reason that the empty loop is, see [`World::spend`].
#[inline(never)]
fn multiply_in_place<W: World>(number: &W::U64, times: u32) {
    for _ in 0..times {
        let factor = number.load(Relaxed);
        W::instructions(MULTIPLY_CYCLES);
        number.store(factor.wrapping_mul(FACTOR), Relaxed);
    }
}

/// Where lock and data lie.
pub(crate) trait Site: Send + Sync + 'static {
    type Lock: BenchLock;
    type Data: Guarded;

    fn new(lock: Self::Lock, data: Self::Data) -> Self;
    fn lock(&self) -> &Self::Lock;
    fn data(&self) -> &Self::Data;
}

/// On lines of their own.
pub(crate) struct Apart<L, D> {
    lock: Alone<L>,
    data: Alone<D>,
}

impl<L: BenchLock, D: Guarded> Site for Apart<L, D> {
    type Lock = L;
    type Data = D;

    fn new(lock: L, data: D) -> Self {
        Apart { lock: Alone(lock), data: Alone(data) }
    }

    #[inline(always)]
    fn lock(&self) -> &L {
        &self.lock.0
    }

    #[inline(always)]
    fn data(&self) -> &D {
        &self.data.0
    }
}

/// On one line, the data behind the lock.
pub(crate) struct Beside<L, D>(Alone<Neighbours<L, D>>);

#[repr(C)]
struct Neighbours<L, D> {
    lock: L,
    data: D,
}

/// Bytes of a line, where lines are shortest.
const LINE: usize = 64;

impl<L: BenchLock, D: Guarded> Site for Beside<L, D> {
    type Lock = L;
    type Data = D;

    fn new(lock: L, data: D) -> Self {
        const { assert!(size_of::<Neighbours<L, D>>() <= LINE, "a lock that leaves its data no room on its line") };
        Beside(Alone(Neighbours { lock, data }))
    }

    #[inline(always)]
    fn lock(&self) -> &L {
        &self.0.0.lock
    }

    #[inline(always)]
    fn data(&self) -> &D {
        &self.0.0.data
    }
}

impl<S: Site> Sections<S> {
    pub(crate) fn new(cs: u32, out: u32) -> Self {
        Sections { site: S::new(BenchLock::new(), Guarded::new()), cs, out }
    }
}

impl<S: Site> Job for Sections<S> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), meter: &mut M) {
        let data = self.site.data();
        meter.around(|| {
            self.site.lock().with(|| {
                // Read at the beginning and written at the end: whoever else is inside in between is found out.
                let count = data.count().load(Relaxed);
                data.work(self.cs);
                data.count().store(count + 1, Relaxed);
            })
        });
        <S::Data as Guarded>::World::spend(self.out);
    }

    fn updates(&self) -> u64 {
        self.site.data().count().load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions, cs: u32, out: u32, data: Data) -> Result<Row, End> {
    match data {
        Data::Counter => at::<Apart<L, Idle<W>>>(conditions, cs, out),
        Data::None => at::<Beside<L, Idle<W>>>(conditions, cs, out),
        Data::Near => at::<Beside<L, Chain<W>>>(conditions, cs, out),
        Data::Far => at::<Apart<L, Chain<W>>>(conditions, cs, out),
    }
}

fn at<S: Site>(conditions: &Conditions, cs: u32, out: u32) -> Result<Row, End> {
    measure::<<S::Data as Guarded>::World, _>(conditions, Arc::new(Sections::<S>::new(cs, out)), true)
}
