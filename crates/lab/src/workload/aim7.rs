//! `aim7`: what stands in for AIM7's `high_systime` load, with which the mutex patches of April 2013 were measured.
//!
//! There, so many tasks each go through tests drawn from a list (create and close files, fork, pipe, and the like), and
//! nearly all of the time is spent in the kernel, where one mutex is wanted by all. Here a test is CPU time of random
//! length, cut into equal pieces by acquisitions of one mutex; each holds it for a fixed time and changes a line of data.
//! An operation is one test, so jobs per minute are 60 times the operations per second.
//!
//! The tasks outnumber the CPUs, and each begins somewhere within a test: had all begun one at once, nobody would finish
//! any for the first second, and then everybody.

use super::{Conditions, units_per_ns};
use crate::conditions::End;
use crate::crew::Alone;
use crate::lock::BenchLock;
use crate::measure::{Job, Meter, measure};
use crate::random::Random;
use crate::row::Row;
use crate::world::World;
use ondeck_platform::Atomic;
use std::sync::atomic::Ordering::Relaxed;

/// What a test is made of.
struct Load {
    /// Mean CPU time of a test, the time inside the mutex included, in nanoseconds.
    test_ns: f64,
    /// Acquisitions of the mutex in a test.
    acquisitions: u32,
    /// How long each holds it, in nanoseconds.
    hold_ns: f64,
}

/// The published runs had 1100 to 2000 users on a machine of 8 nodes with 10 cores each, at 2.1 GHz.
///
/// - `test_ns`: one node did 126 036 tests a minute without the patch, all of its 10 cores busy: 4.76 ms of CPU each.
/// - `acquisitions` times `hold_ns` is 0.2 ms, 4 % of a test, and the split between the two is a guess. More than 0.3 ms
///   it cannot be: two nodes did 198 409 tests a minute without any loss to the mutex.
const HIGH_SYSTIME: Load = Load { test_ns: 4_760_000.0, acquisitions: 100, hold_ns: 2_000.0 };

/// Lengths of tests in thousandths of their mean, all equally frequent: a log-normal distribution with a standard
/// deviation of 0.5 in its logarithm, in 32 steps. The shape is a guess; a table, because logarithms differ in their last
/// digit from one C library to the next, and a simulation must not.
const LENGTHS: [u32; 32] = [
    302, 384, 437, 480, 518, 553, 586, 618, 649, 680, 710, 741, 773, 804, 837, 870, 905, 941, 979, 1020, 1063, 1109,
    1159, 1214, 1275, 1344, 1425, 1521, 1642, 1803, 2052, 2606,
];

struct Aim7<L, W: World> {
    mutex: Alone<L>,
    /// What the mutex guards.
    count: Alone<W::U64>,
    units_per_ns: f64,
}

struct Task {
    random: Random,
    /// Acquisitions that are left of its first test, until that is over.
    left_of_first: Option<u32>,
    acquisitions: u64,
}

impl<L: BenchLock, W: World> Aim7<L, W> {
    fn units(&self, ns: f64) -> u32 {
        (ns * self.units_per_ns) as u32
    }

    #[inline(always)]
    fn section(&self, hold: u32) {
        // As in `sections`: whoever else is inside in between is found out.
        let count = self.count.0.load(Relaxed);
        W::spend(hold);
        self.count.0.store(count + 1, Relaxed);
    }
}

impl<L: BenchLock, W: World> Job for Aim7<L, W> {
    type Local = Task;

    fn local(&self, me: u32) -> Task {
        let mut random = Random::of_thread::<W>(me);
        let left_of_first = Some(1 + random.below(HIGH_SYSTIME.acquisitions));
        Task { random, left_of_first, acquisitions: 0 }
    }

    fn turn<M: Meter>(&self, task: &mut Task, meter: &mut M) {
        let Load { test_ns, acquisitions, hold_ns } = HIGH_SYSTIME;
        let outside_ns = test_ns / f64::from(acquisitions) - hold_ns;
        let length = LENGTHS[task.random.below(LENGTHS.len() as u32) as usize];
        let (outside, hold) = (self.units(outside_ns * f64::from(length) / 1000.0), self.units(hold_ns));
        for _ in 0..task.left_of_first.take().unwrap_or(acquisitions) {
            W::spend(outside);
            meter.around(|| self.mutex.0.with(|| self.section(hold)));
            task.acquisitions += 1;
        }
    }

    fn made(task: &Task, _turns: u64) -> u64 {
        task.acquisitions
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions) -> Result<Row, End> {
    let units_per_ns = units_per_ns::<W>(conditions)?;
    let job = Aim7::<L, W> { mutex: Alone(L::new()), count: Alone(W::U64::new(0)), units_per_ns };
    measure::<W, _>(conditions, job, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Bare;
    use crate::peers::Std;
    use ondeck_platform::Hardware;

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
        let job = Aim7::<Std, Hardware> { mutex: Alone(Std::new()), count: Alone(Atomic::new(0)), units_per_ns: 0.0 };
        let whole = u64::from(HIGH_SYSTIME.acquisitions);
        let mut firsts = Vec::new();
        for me in 0..50 {
            let mut task = job.local(me);
            job.turn(&mut task, &mut Bare);
            firsts.push(task.acquisitions);
            job.turn(&mut task, &mut Bare);
            assert_eq!(task.acquisitions, firsts[me as usize] + whole);
        }
        assert!(firsts.iter().all(|first| (1..=whole).contains(first)));
        assert!(firsts.iter().min() < Some(&(whole / 4)) && firsts.iter().max() > Some(&(whole * 3 / 4)));
    }
}
