//! `aim7`: what stands in for AIM7's `high_systime` load, with which the mutex patches of April 2013 were measured.
//!
//! There, so many tasks each go through tests drawn from a list (create and close files, fork, pipe, and the like), and
//! nearly all of the time is spent in the kernel, where one mutex is wanted by all. Here a test is CPU time of random
//! length, cut into equal pieces by acquisitions of one mutex; each holds it for a fixed time and changes a line of data.
//! All else that the kernel shares is one more line, which each test writes again and again. As the kernel of then does
//! not preempt itself, nobody loses a core between asking for the mutex and having given it up again, but to sleep. An
//! operation is one test, so jobs per minute are 60 times the operations per second.
//!
//! The tasks outnumber the CPUs, and each begins somewhere within a test: had all begun one at once, nobody would finish
//! any for the first second, and then everybody.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure, units_per_ns};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What a test is made of.
struct Load {
    /// Mean CPU time of a test, in nanoseconds, as a core takes that is alone on its machine: the time inside the mutex
    /// is in it, time in which a core waits for a line is not.
    work_ns: f64,
    /// Acquisitions of the mutex in a test.
    acquisitions: u32,
    /// How long each holds it, in nanoseconds.
    hold_ns: f64,
    /// Read-modify-writes of the other shared line before each of them: reference counts, spinlocks, statistics.
    shared_writes: u32,
}

/// The published runs had 1100 to 2000 users on a machine of 8 nodes with 10 cores each, at 2.1 GHz. All four figures are
/// calibrated on these rows, with some 30 sets tried by hand; which mutex it was and what else was shared is not known.
///
/// - `work_ns`: one node did 126 036 tests a minute, all of its 10 cores busy: 4.76 ms of CPU each, less what
///   `derate` and waiting for lines add.
/// - `shared_writes` times `acquisitions` is 2550: 8 nodes with the patch did 145 011 tests a minute, 0.41 ms for each,
///   which is 2500 times the 166 ns that a line takes from core to core in the mean. That it is one line, and no lock, is
///   a guess. 2 nodes, in view meanwhile, did 198 409: a fifth less than their cores have time for.
/// - `acquisitions`: 8 nodes without the patch did 42 799 tests a minute, 1.4 ms for each, which is 34 passes among nearly
///   80 spinners.
/// - `hold_ns`: 8 nodes without the patch find out of their collapse again within half a second in two of six runs with
///   2 us and 30 to 42 acquisitions, in one of eight with 6 us. More than 9 us it cannot be: 2 nodes lost nothing to the
///   mutex.
const HIGH_SYSTIME: Load = Load { work_ns: 4_030_000.0, acquisitions: 34, hold_ns: 6_000.0, shared_writes: 75 };

/// Lengths of tests in thousandths of their mean, all equally frequent: a log-normal distribution with a standard
/// deviation of 0.5 in its logarithm, in 32 steps. The shape is a guess; a table, because logarithms differ in their last
/// digit from one C library to the next, and a simulation must not.
const LENGTHS: [u32; 32] = [
    302, 384, 437, 480, 518, 553, 586, 618, 649, 680, 710, 741, 773, 804, 837, 870, 905, 941, 979, 1020, 1063, 1109,
    1159, 1214, 1275, 1344, 1425, 1521, 1642, 1803, 2052, 2606,
];

/// A length in means.
fn draw(random: &mut Random) -> f64 {
    f64::from(LENGTHS[random.below(LENGTHS.len() as u32) as usize]) / 1000.0
}

/// The length of a test that a task is found in: as likely as it is long.
fn draw_in_progress(random: &mut Random) -> f64 {
    f64::from(LENGTHS[random.weighted(&LENGTHS)]) / 1000.0
}

struct Aim7<L, E: Execution> {
    mutex: CachePadded<L>,
    /// What the mutex guards.
    count: CachePadded<E::U64>,
    /// What all write without it.
    shared: CachePadded<E::U64>,
    units_per_ns: f64,
}

struct Task {
    random: Random,
    /// The length of its first test, and the acquisitions that are left of it, until that is over.
    first: Option<(f64, u32)>,
    acquisitions: u64,
}

impl<L: BenchLock, E: Execution> Aim7<L, E> {
    fn units(&self, ns: f64) -> u32 {
        (ns * self.units_per_ns) as u32
    }

    #[inline(always)]
    fn section(&self, hold: u32) {
        // As in `sections`: another thread inside in between is found out.
        let count = self.count.0.load(Relaxed);
        E::spend(hold);
        self.count.0.store(count + 1, Relaxed);
    }
}

impl<L: BenchLock, E: Execution> Job for Aim7<L, E> {
    type Local = Task;

    fn local(&self, me: u32) -> Task {
        let mut random = E::random(me);
        let first = (draw_in_progress(&mut random), 1 + random.below(HIGH_SYSTIME.acquisitions));
        Task { random, first: Some(first), acquisitions: 0 }
    }

    fn turn<M: Meter>(&self, task: &mut Task, meter: &mut M) {
        let Load { work_ns, acquisitions, hold_ns, shared_writes } = HIGH_SYSTIME;
        let (length, n) = task.first.take().unwrap_or_else(|| (draw(&mut task.random), acquisitions));
        let outside_ns = (work_ns / f64::from(acquisitions) - hold_ns) * length;
        let (piece, hold) = (self.units(outside_ns / f64::from(shared_writes + 1)), self.units(hold_ns));
        for _ in 0..n {
            for _ in 0..shared_writes {
                E::spend(piece);
                self.shared.0.fetch_add(1, Relaxed);
            }
            E::spend(piece);
            E::unpreempted(|| meter.around(|| self.mutex.0.with(|| self.section(hold))));
            task.acquisitions += 1;
        }
    }

    fn made(&self, task: &Task, _turns: u64) -> u64 {
        task.acquisitions
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Row, End> {
    let units_per_ns = units_per_ns::<E>(conditions)?;
    let zero = || CachePadded(E::U64::new(0));
    let job = Aim7::<L, E> { mutex: CachePadded(L::new()), count: zero(), shared: zero(), units_per_ns };
    measure::<E, _>(conditions, Arc::new(job), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::NoClock;
    use crate::peers::Std;
    use ondeck_core::Hardware;

    #[test]
    fn lengths_are_log_normal_around_their_mean() {
        assert_eq!(LENGTHS.iter().sum::<u32>(), 32_000);
        let logs = LENGTHS.map(|length| f64::from(length).ln());
        let mean = logs.iter().sum::<f64>() / 32.0;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 32.0).sqrt();
        assert!((deviation - 0.5).abs() < 0.03, "{deviation}");
        // Symmetric in the logarithm.
        assert!(logs.iter().zip(logs.iter().rev()).all(|(low, high)| (low + high - 2.0 * mean).abs() < 0.02));
    }

    #[test]
    fn the_first_test_is_found_begun_and_the_others_are_whole() {
        let zero = || CachePadded(Atomic::new(0));
        let job =
            Aim7::<Std, Hardware> { mutex: CachePadded(Std::new()), count: zero(), shared: zero(), units_per_ns: 0.0 };
        let whole = u64::from(HIGH_SYSTIME.acquisitions);
        let mut firsts = Vec::new();
        for me in 0..50 {
            let mut task = job.local(me);
            job.turn(&mut task, &mut NoClock);
            firsts.push(task.acquisitions);
            job.turn(&mut task, &mut NoClock);
            assert_eq!(task.acquisitions, firsts[me as usize] + whole);
        }
        assert!(firsts.iter().all(|first| (1..=whole).contains(first)));
        assert!(firsts.iter().min() < Some(&(whole / 4)) && firsts.iter().max() > Some(&(whole * 3 / 4)));
    }

    #[test]
    fn long_tests_are_found_in_progress_more_often() {
        let mut random = Hardware::random(1);
        let mut mean = |draw: fn(&mut Random) -> f64| (0..10_000).map(|_| draw(&mut random)).sum::<f64>() / 10_000.0;
        let found = mean(draw_in_progress);
        let expected = LENGTHS.map(|length| f64::from(length).powi(2)).iter().sum::<f64>() / 32e6;
        assert!((found / expected - 1.0).abs() < 0.03, "{found} instead of {expected}");
        assert!(expected > 1.2);
        assert!((mean(draw) - 1.0).abs() < 0.03);
    }
}
