//! `sections`: some work inside, some outside, and a counter that would show a second thread inside.
//!
//! What the work inside is, and where the data lie, are two choices, which make four kinds of section:
//!
//! | | on lines of their own | on the line of the lock |
//! |---|---|---|
//! | time is spent | without a word | `none` |
//! | a number is worked on | `far` | `near` |
//!
//! The counter can be left out of none of them, or a lock that lets two threads in would pass. So where it lies is part of
//! the measurement: on a line of its own, each pass of the lock moves two lines; beside the lock it moves one, which the
//! release writes anyway. `near` is what parking_lot's benchmark does, whose number is inside the mutex.
//!
//! All four are one type, so that they are compiled once for each lock. What tells them apart is read from a line that nobody
//! writes.

use super::spec;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A lock, the data that it guards, and how much work there is.
pub(crate) struct Sections<L, E: Execution> {
    place: CachePadded<Place<L, E>>,
    /// The data where they are not on the line of the lock.
    apart: CachePadded<Data<E>>,
    kind: spec::Data,
    cs: u32,
    out: u32,
}

/// On one line, the data behind the lock.
#[repr(C)]
struct Place<L, E: Execution> {
    lock: L,
    data: Data<E>,
}

/// On one line.
#[repr(C)]
struct Data<E: Execution> {
    /// What is worked on.
    number: E::U64,
    /// Sections so far.
    count: E::U64,
}

/// Bytes of a line, where lines are shortest.
const LINE: usize = 64;

/// Odd, so that no power of it is nothing: the multiplier of Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;
/// What a multiplication takes on the processors of the last fifteen years.
const MULTIPLY_CYCLES: u32 = 3;

/// Multiplies the number so many times, and has it in memory each time: a thread that looks at its line meanwhile
/// delays the next step. Out of line for the reason that the empty loop is, see [`Execution::spend`].
#[inline(never)]
fn multiply_in_place<E: Execution>(number: &E::U64, times: u32) {
    for _ in 0..times {
        let factor = number.load(Relaxed);
        E::instructions(MULTIPLY_CYCLES);
        number.store(factor.wrapping_mul(FACTOR), Relaxed);
    }
}

impl<E: Execution> Data<E> {
    fn new() -> Self {
        Data { number: E::U64::new(1), count: E::U64::new(0) }
    }
}

impl<L: BenchLock, E: Execution> Sections<L, E> {
    pub(crate) fn new(cs: u32, out: u32, kind: spec::Data) -> Self {
        const { assert!(size_of::<Place<L, E>>() <= LINE, "a lock that leaves its data no room on its line") };
        let place = CachePadded(Place { lock: L::new(), data: Data::new() });
        Sections { place, apart: CachePadded(Data::new()), kind, cs, out }
    }

    #[inline(always)]
    fn data(&self) -> &Data<E> {
        match self.kind {
            spec::Data::None | spec::Data::Near => &self.place.0.data,
            spec::Data::Counter | spec::Data::Far => &self.apart.0,
        }
    }

    #[inline(always)]
    fn work(&self, data: &Data<E>) {
        match self.kind {
            spec::Data::Counter | spec::Data::None => E::spend(self.cs),
            spec::Data::Near | spec::Data::Far if self.cs > 0 => multiply_in_place::<E>(&data.number, self.cs),
            spec::Data::Near | spec::Data::Far => (),
        }
    }
}

impl<L: BenchLock, E: Execution> Job for Sections<L, E> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), meter: &mut M) {
        let data = self.data();
        meter.around(|| {
            self.place.0.lock.with(|| {
                // Read at the beginning and written at the end: another thread inside in between is found out.
                let count = data.count.load(Relaxed);
                self.work(data);
                data.count.store(count + 1, Relaxed);
            })
        });
        E::spend(self.out);
    }

    fn updates(&self) -> u64 {
        self.data().count.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(
    conditions: &Conditions,
    cs: u32,
    out: u32,
    kind: spec::Data,
) -> Result<Row, End> {
    measure::<E, _>(conditions, Arc::new(Sections::<L, E>::new(cs, out, kind)), true)
}
