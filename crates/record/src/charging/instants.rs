//! Charges at instants that are drawn by chance, so that a release does next to nothing while others wait.
//!
//! # The estimate
//! While a lock is waited for, instants come as a Poisson process: any moment has the same chance, whatever happens at the
//! lock, and one instant stands for a mean period `P`. Marks say when the next one comes, by the processor's counter. Who
//! acquires or releases reads that counter, and the first to find that the instant `T` has come knows in whose hold it was:
//! in that of who releases, or in nobody's if it is who acquires. With `n(T)` threads that waited at `T`, that hold is charged
//!
//! > n(T) · P, and all that is waited from `T` to now.
//!
//! Then the next instant is drawn. Of a hold of length `H` with `n` waiters, the instant comes at `v < H` with density
//! `exp(-v/P)/P`, and is charged `n·P + n·(H - v)`: its mean is `n·H`, for short and for long holds. A hold much longer than
//! the period is charged nearly exactly, and one that is a thousand times shorter once in a thousand times. That chance is
//! known, as each hold's begin is [remembered](stamp): so the number of holds is estimated, too.
//!
//! # How many waited then
//! More threads wait at the end of a hold than at its instant. So who begins to wait, or gives up, after an instant that nobody
//! has charged yet [settles](Marks::settle) it first: the first of them writes down how many waited, and takes out of
//! `Lock::waiting` what was waited until then. Two that come at once may count one too many.
//!
//! # Who begins and who ends it
//! A waiter that finds no flag draws the first instant, then sets the flag. Who charges and finds nobody waiting clears it,
//! and looks again: a waiter counts itself first. Two that find no flag both draw, and the later drawing counts: what was
//! not looked at has no memory.
//!
//! # What it may cost
//! The mean period adapts to what is spent on charges, see `budget`.

use super::budget::PERIOD;
use super::{Charge, LONG_NS, Marks, Tag, take_left_over};
use crate::layout::{Lock, waiting};
use crate::thread::{gap, now_ns, own};
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

// -- The counter ------------------------------------------------------------------------------------------------------

/// What the processor's counter says: the same for all threads, and read in a third of the time that a clock takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count(pub(crate) u64);

impl Count {
    #[inline(always)]
    pub(crate) fn now() -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: all such processors have it.
        return Count(unsafe { core::arch::x86_64::_rdtsc() });
        #[cfg(target_arch = "aarch64")]
        {
            let count: u64;
            // SAFETY: reads a register.
            unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
            Count(count)
        }
    }

    /// In units of a microsecond or a few, of which 32 bits last for an hour or two.
    #[inline(always)]
    fn units(self) -> u32 {
        (self.0 >> UNIT) as u32
    }

    /// How much was counted since the unit `due`, if it has come.
    #[inline(always)]
    fn since(self, due: u32) -> Option<u64> {
        let is_to_come = (1..=MOST_AHEAD).contains(&due.wrapping_sub(self.units()));
        let units = self.units().wrapping_sub(due);
        (!is_to_come).then(|| u64::from(units) << UNIT | self.0 & ((1 << UNIT) - 1))
    }
}

/// An instant is not further ahead than so many units, some minutes. What seems to be has come: after a hold of an hour, or if the
/// counter was set back.
const MOST_AHEAD: u32 = 1 << 26;

/// As a power of two. Such processors count some GHz.
#[cfg(target_arch = "x86_64")]
const UNIT: u32 = 12;
/// Most such processors count 25 MHz to 1 GHz.
#[cfg(target_arch = "aarch64")]
const UNIT: u32 = 10;

/// The counter and the clock as the recording began.
static BEGAN: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// How long one of a count takes, in ns, as the bits of a float; 0 if that is not known yet.
static NS_OF_COUNT: AtomicU64 = AtomicU64::new(0);
/// What a long hold counts.
static LONG: AtomicU64 = AtomicU64::new(u64::MAX);

/// A recording begins.
pub(super) fn begin() {
    // The pair that was read fastest: a thread may lose its core between the two.
    let pairs = (0..5).map(|_| (now_ns(), Count::now().0, now_ns()));
    let (now, count, _) = pairs.min_by_key(|(before, _, after)| after - before).unwrap_or_default();
    BEGAN[0].store(count, Relaxed);
    BEGAN[1].store(now, Relaxed);
    NS_OF_COUNT.store(0, Relaxed);
}

/// One of a count takes as long as it has since the recording began.
pub(crate) fn calibrate() {
    /// Before that the two clocks cannot be compared.
    const SOON_NS: u64 = 50_000;
    /// What the two are read in, or a thousandth of the time.
    const AT_ONCE_NS: u64 = 500;
    let [began, began_at] = [&BEGAN[0], &BEGAN[1]].map(|word| word.load(Relaxed));
    let (before, count, after) = (now_ns(), Count::now().0, now_ns());
    let (count, ns) = (count.saturating_sub(began), before.saturating_sub(began_at));
    if ns < SOON_NS || count == 0 || after - before > AT_ONCE_NS.max(ns / 1000) {
        return;
    }
    let each = ns as f64 / count as f64;
    NS_OF_COUNT.store(each.to_bits(), Relaxed);
    LONG.store((LONG_NS as f64 / each) as u64, Relaxed);
}

fn ns_of_count() -> f64 {
    const GUESS: f64 = if cfg!(target_arch = "x86_64") { 0.4 } else { 20.0 };
    match NS_OF_COUNT.load(Relaxed) {
        0 => GUESS,
        bits => f64::from_bits(bits),
    }
}

fn ns_of_unit() -> f64 {
    ns_of_count() * f64::from(1_u32 << UNIT)
}

// -- The begin of a hold ----------------------------------------------------------------------------------------------

/// The calling thread has what has those marks from now on, and others wait for it.
pub(crate) fn stamp(marks: &Marks, count: Count) {
    let address = (&raw const *marks) as u64;
    place_of(address).set((address, count.0));
}

/// Since when it has it, as far as that is remembered.
fn stamped(marks: &Marks) -> Option<u64> {
    let address = (&raw const *marks) as u64;
    let (found, count) = place_of(address).get();
    (found == address).then_some(count)
}

#[inline(always)]
fn place_of(address: u64) -> &'static core::cell::Cell<(u64, u64)> {
    let stamps = &own().stamps;
    &stamps[(address >> 5) as usize % stamps.len()]
}

// -- Instants ---------------------------------------------------------------------------------------------------------

impl Marks {
    /// Whether an instant has come that nobody has charged, of what is [waited for](Tag::WAITED).
    #[inline(always)]
    pub(crate) fn is_due(&self, count: Count) -> bool {
        // It was drawn before the flag was set.
        fence(Acquire);
        count.since(self.due.load(Relaxed)).is_some()
    }

    /// Whether the calling thread, which releases what is waited for, is to look: for an instant, or since the hold was long.
    pub(crate) fn is_due_or_long(&self, count: Count) -> bool {
        self.is_due(count) || stamped(self).is_some_and(|from| count.0.saturating_sub(from) >= LONG.load(Relaxed))
    }

    pub(super) fn draw_instant(&self, lock: &Lock, now: u64, count: Count) {
        let unit_ns = ns_of_unit();
        let units = (PERIOD.at(now) as f64 / unit_ns).max(1.0) as u64;
        lock.period.store((units as f64 * unit_ns) as u64, Relaxed);
        let ahead = gap(units).min(MOST_AHEAD - 1) + 1;
        self.due.store(count.units().wrapping_add(ahead), Relaxed);
    }

    /// When the instant was that has come and nobody has charged.
    fn instant(&self, lock: &Lock, now: u64, count: Count) -> Option<u64> {
        let due = self.due.load(Relaxed);
        let ago = count.since(due).filter(|_| self.has(Tag::WAITED))?;
        let at = now.saturating_sub((ago as f64 * ns_of_count()) as u64);
        // It was drawn then, or later; a counter may be set back.
        Some(at.max(lock.lasts_since.load(Relaxed)).min(now))
    }

    /// Before the number of those that wait changes: writes down what it was at an instant that nobody has charged. Whether
    /// there is one.
    pub(crate) fn settle(&self, lock: &Lock, now: u64, count: Count) -> bool {
        let Some(at) = self.instant(lock, now, count) else { return false };
        let due = u64::from(self.due.load(Relaxed)) << 32;
        let known = lock.settled.load(Relaxed);
        let n = waiting::number(lock.waiting.load(Relaxed));
        if known & DUE != due && lock.settled.compare_exchange(known, due | n, Release, Relaxed).is_ok() {
            // Always succeeds.
            let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
                Some(word.wrapping_add(waiting::charged(waiting::area(word, at))))
            });
            lock.charged_until.store(at, Relaxed);
        }
        true
    }

    /// What is charged if an instant has come, by who has the lock. Draws the next instant.
    pub(crate) fn charge_at_instant(&self, lock: &Lock, now: u64, count: Count, to: ChargedTo) -> Option<Charge> {
        let at = self.instant(lock, now, count)?;
        let settled = lock.settled.load(Acquire);
        let is_settled = settled & DUE == u64::from(self.due.load(Relaxed)) << 32;
        let (mut n, mut area) = (0, 0);
        // Always succeeds.
        let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
            n = waiting::number(word);
            area = waiting::area(word, now);
            Some(waiting::all_from(n, now))
        });
        let then = if is_settled { settled & !DUE } else { n };
        // What was waited before the instant is no part of it; it may not be out yet.
        let since = (now - at) * then.max(n);
        let area = if is_settled { area.min(since) } else { since };
        let period = lock.period.load(Relaxed);
        let known = now.saturating_sub(lock.lasts_since.load(Relaxed));
        lock.charged_until.store(now, Relaxed);
        lock.lasts_since.store(now, Relaxed);
        self.draw_instant(lock, now, count);
        self.cool(lock);
        // An instant is in the middle of the time that it falls into, in the mean. It is known to a unit.
        let likely = 2 * (now - at) + ns_of_unit() as u64;
        let lasted = match to {
            ChargedTo::Hold(Some(ns)) => ns,
            ChargedTo::Hold(None) => likely.min(known),
            ChargedTo::Nobody => likely,
        };
        let lasted = lasted.max(now - at).max(1);
        Some(Charge {
            ns: then * period + area + take_left_over(lock),
            lengths: [lasted, 0],
            chance: Some(-(-(lasted as f64) / period.max(1) as f64).exp_m1()),
        })
    }

    /// How long the calling thread has had what is waited for, if that is remembered.
    pub(crate) fn held_ns(&self, lock: &Lock, now: u64, count: Count) -> Option<u64> {
        /// The counter and the clock were read one after the other.
        const BETWEEN_NS: u64 = 2_000;
        let known = now.saturating_sub(lock.lasts_since.load(Relaxed));
        let ns = stamped(self).map(|from| (count.0.saturating_sub(from) as f64 * ns_of_count()) as u64);
        // What was remembered before somebody began to wait is of another hold.
        ns.filter(|ns| *ns <= known + BETWEEN_NS)
    }
}

/// Whose a time is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChargedTo {
    /// Of a hold that ends; how long it was, if that is known.
    Hold(Option<u64>),
    Nobody,
}

/// In what a lock says of its last instant that was settled: which it was. The rest says how many waited.
const DUE: u64 = (u32::MAX as u64) << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::alone;

    const SHORT: usize = 0;
    const LONG_HOLD: usize = 1;
    const NOBODY: usize = 2;

    /// A lock, and a clock that a test moves.
    struct Simulation {
        marks: Marks,
        lock: Lock,
        now: u64,
        count: f64,
        /// Since when each of those that wait does.
        waiters: Vec<u64>,
        /// What was waited by whose fault, what is charged to it, and how many holds there were.
        truth: [f64; 3],
        charged: [f64; 3],
        holds: [f64; 3],
        counted: [f64; 3],
    }

    impl Simulation {
        fn new() -> Self {
            // SAFETY: its fields are numbers, and zeros are a lock that nobody has used.
            let lock = unsafe { core::mem::zeroed() };
            let [truth, charged, holds, counted] = [[0.0; 3]; 4];
            let (marks, now, count, waiters) = (Marks::new(), 1 << 40, 0.0, Vec::new());
            Simulation { marks, lock, now, count, waiters, truth, charged, holds, counted }
        }

        fn count(&self) -> Count {
            Count(self.count as u64)
        }

        fn pass(&mut self, ns: u64, fault: usize) {
            self.now += ns;
            self.count += ns as f64 / ns_of_count();
            self.truth[fault] += (ns * self.waiters.len() as u64) as f64;
        }

        fn begin_to_wait(&mut self) {
            self.marks.settle(&self.lock, self.now, self.count());
            self.lock.waiting.fetch_add(waiting::one(self.now), Relaxed);
            self.marks.ask(&self.lock, self.now, self.count(), self.waiters.is_empty());
            self.waiters.push(self.now);
        }

        fn count_out(&mut self, is_left: bool) {
            let from = self.waiters.remove(0).max(self.lock.charged_until.load(Relaxed));
            self.lock.waiting.fetch_sub(waiting::one(from), Relaxed);
            if is_left && self.marks.instant(&self.lock, self.now, self.count()).is_some() {
                self.lock.left_over.fetch_add(self.now - from, Relaxed);
            }
        }

        fn look(&mut self, fault: usize, held_ns: Option<u64>) {
            let to = if fault == NOBODY { ChargedTo::Nobody } else { ChargedTo::Hold(held_ns) };
            if let Some(charge) = self.marks.charge_at_instant(&self.lock, self.now, self.count(), to) {
                self.charged[fault] += charge.ns as f64;
                self.counted[fault] += 1.0 / charge.chance.unwrap();
            }
        }

        /// A hold in which threads come to wait all the time, of which one gives up now and then, and the time after it.
        fn hold(&mut self, fault: usize, ns: u64, any: &mut impl FnMut(u64) -> u64) {
            self.look(NOBODY, None);
            self.holds[fault] += 1.0;
            const STEPS: u64 = 8;
            // Into one of a thousand short ones, and into each step of most long ones.
            let one_of = if fault == LONG_HOLD { 2 } else { 1000 };
            for _ in 0..STEPS {
                self.pass(ns / STEPS, fault);
                if self.waiters.len() < 12 && any(one_of) == 0 {
                    self.begin_to_wait();
                }
                if self.waiters.len() > 1 && any(2 * one_of) == 0 {
                    self.marks.settle(&self.lock, self.now, self.count());
                    self.count_out(true);
                }
            }
            self.look(fault, Some(ns));
            let free = any(4000);
            self.pass(free, NOBODY);
            if self.waiters.len() > 1 && any(10) == 0 {
                self.look(NOBODY, None);
                self.count_out(false);
            }
        }
    }

    /// A few long holds among many short ones, in which threads come and go.
    #[test]
    fn charges_are_those_of_each_instant_of_each_wait_in_the_mean() {
        const N: u64 = 1_600_000;
        const LONG_NS: u64 = 3_000_000;
        const ONE_OF: u64 = 1500;
        let _alone = alone();
        super::super::IS_EXACT.store(false, Relaxed);
        super::super::budget::begin(1, 0);
        calibrate();
        let mut chance = 1_u64;
        let mut any = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % below
        };
        let mut simulation = Simulation::new();
        own().chance.set(1);
        for _ in 0..N {
            match any(ONE_OF) {
                0 => simulation.hold(LONG_HOLD, LONG_NS, &mut any),
                _ => simulation.hold(SHORT, 800 + any(1600), &mut any),
            }
        }
        super::super::IS_EXACT.store(true, Relaxed);
        let Simulation { truth, charged, holds, counted, .. } = simulation;
        for fault in [SHORT, LONG_HOLD, NOBODY] {
            let ratio = charged[fault] / truth[fault];
            assert!((0.97..1.03).contains(&ratio), "{fault}: {charged:?} for {truth:?}");
        }
        for fault in [SHORT, LONG_HOLD] {
            let ratio = counted[fault] / holds[fault];
            assert!((0.9..1.1).contains(&ratio), "{fault}: {counted:?} for {holds:?}");
        }
    }

    #[test]
    fn the_next_instant_comes_after_a_period_in_the_mean() {
        const N: u64 = 1_000_000;
        let _alone = alone();
        super::super::budget::begin(1, 0);
        calibrate();
        let Simulation { marks, lock, .. } = Simulation::new();
        let mut sum = 0;
        for _ in 0..N {
            marks.draw_instant(&lock, 0, Count(0));
            sum += u64::from(marks.due.load(Relaxed));
        }
        let (mean, expected) = (sum as f64 / N as f64, lock.period.load(Relaxed) as f64 / ns_of_unit());
        // Five standard errors; a unit is more.
        let error = 5.0 * expected / (N as f64).sqrt();
        assert!(error < 1.0 && (mean - expected).abs() < error, "{mean} units, and not {expected}");
    }

    #[test]
    fn an_instant_has_come_from_its_unit_on() {
        let unit = |n: u64| Count(n << UNIT);
        let since = |count: Count, due| count.since(due).map(|since| since >> UNIT);
        assert_eq!([99, 100, 103].map(|n| since(unit(n), 100)), [None, Some(0), Some(3)]);
        assert_eq!(Count((103 << UNIT) + 7).since(100), Some((3 << UNIT) + 7));
        // 32 bits begin again.
        assert_eq!(since(unit((1 << 32) + 5), u32::MAX), Some(6));
        assert_eq!(since(unit(5 + (1 << 31)), 5), Some(1 << 31));
        // It is not further ahead than some minutes.
        let most = u64::from(MOST_AHEAD);
        assert_eq!([0, 1].map(|past| since(unit(1000), (1000 + most + past) as u32).is_some()), [false, true]);
    }

    /// The counter of a machine that was moved may begin again.
    #[test]
    fn an_instant_is_not_before_it_was_drawn() {
        let Simulation { marks, lock, .. } = Simulation::new();
        marks.tag.store(Tag::WAITED, Relaxed);
        lock.lasts_since.store(5_000, Relaxed);
        marks.due.store(1 << 30, Relaxed);
        assert_eq!(marks.instant(&lock, 9_000, Count(0)), Some(5_000));
        assert_eq!(marks.instant(&lock, 4_000, Count(0)), Some(4_000));
    }

    #[test]
    fn a_hold_began_when_it_was_remembered_or_somebody_began_to_wait() {
        calibrate();
        let simulation = Simulation::new();
        let (marks, lock) = (&simulation.marks, &simulation.lock);
        let counts = |ns: u64| (ns as f64 / ns_of_count()) as u64;
        let now = Count(counts(1 << 40));
        lock.lasts_since.store(1_000_000, Relaxed);
        assert_eq!(marks.held_ns(lock, 1_700_000, now), None);
        stamp(marks, Count(now.0 - counts(300_000)));
        assert!(marks.held_ns(lock, 1_700_000, now).is_some_and(|ns| ns.abs_diff(300_000) < 10));
        // Of a hold before that.
        stamp(marks, Count(now.0 - counts(900_000)));
        assert_eq!(marks.held_ns(lock, 1_700_000, now), None);
        // Another lock has taken its place.
        let others: [Marks; 16] = core::array::from_fn(|_| Marks::new());
        stamp(marks, now);
        others.iter().for_each(|other| stamp(other, now));
        assert_eq!(marks.held_ns(lock, 1_700_000, now), None);
    }
}
