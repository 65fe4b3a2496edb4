//! Rows of figures: of runs, and what is made of two runs of a round.

use ondeck_report::stats;
use serde::Serialize;
use std::fmt;

/// The variant that the others are compared with.
pub(super) const PLAIN: &str = "plain";
/// The variant that is glibc's locks a second time.
pub(super) const AGAIN: &str = "plain again";
/// What follows the name of a lock that is recorded.
pub(super) const RECORDED: &str = " recorded";

/// One run of a program in one setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) machine: String,
    pub(super) program: String,
    pub(super) setting: String,
    pub(super) threads: u32,
    /// With which locks: glibc's, or the name of ours.
    pub(super) variant: String,
    pub(super) round: u32,
    pub(super) seconds: f64,
    pub(super) ops: f64,
    pub(super) cpu_s: f64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Row {
    pub(super) fn new(program: &str, setting: (&str, u32), variant: &str, round: u32) -> Row {
        let (setting, threads) = (setting.0.to_owned(), setting.1);
        Row { program: program.to_owned(), setting, threads, variant: variant.to_owned(), round, ..Row::default() }
    }

    /// The row with its seconds and operations, and with CPU seconds and switches, voluntary and not.
    pub(super) fn with(self, (seconds, ops): (f64, f64), cost: (f64, u64, u64)) -> Row {
        Row { seconds, ops, cpu_s: cost.0, voluntary_switches: cost.1, involuntary_switches: cost.2, ..self }
    }

    pub(super) fn ops_per_s(&self) -> f64 {
        self.ops / self.seconds
    }

    pub(super) fn cpu_us_per_op(&self) -> f64 {
        self.cpu_s / self.ops * 1e6
    }
}

/// A median and the range around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    /// Of the ratios within rounds: ours by glibc's. A round with only one of them has none.
    pub(super) fn of_ratios(rows: &[&Row], figure: fn(&Row) -> f64) -> Option<Spread> {
        let plain = |round| rows.iter().find(|row| row.variant == PLAIN && row.round == round);
        let ours = rows.iter().filter(|row| row.variant != PLAIN);
        let ratios = ours.filter_map(|row| Some(figure(row) / figure(plain(row.round)?)));
        let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        stats::median(&ratios).map(|median| Spread { median, low, high })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.low, self.high)
    }
}

/// What a profile advises for a program in a setting, and what is so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Advised {
    pub(super) program: String,
    pub(super) setting: String,
    /// Which verdict, by its name in the sources.
    pub(super) finding: String,
    /// How many times as often the lock is acquired here, simulated; empty where the advice makes no prediction.
    pub(super) predicted: Option<f64>,
    /// Throughput with `ondeck run` by that without: median, lowest and highest round.
    pub(super) measured: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// One program's hottest mutex with one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Predicted {
    pub(super) program: String,
    /// Measured: means of all but the longest hundredth.
    pub(super) section_ns: f64,
    pub(super) outside_ns: f64,
    /// The simulated machine.
    pub(super) machine: String,
    pub(super) threads: u32,
    /// Acquisitions of the mutex, simulated.
    pub(super) pthread_ops_per_s: f64,
    pub(super) ondeck_ops_per_s: f64,
    pub(super) ratio: f64,
}

/// What the profile of one run says of the lock that was waited for longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Profiled {
    pub(super) program: String,
    pub(super) setting: String,
    /// From the program's start to its end.
    pub(super) seconds: f64,
    /// For all locks, by all threads together.
    pub(super) waiting_s: f64,
    pub(super) lock: String,
    /// The part of all waiting that is for it.
    pub(super) share: f64,
    pub(super) waiter: String,
    pub(super) waiter_share: f64,
    pub(super) holder: String,
    pub(super) holder_share: f64,
    /// The part of the waiting for it whose stacks reach the thread's first function.
    pub(super) whole_stacks: f64,
    /// The hot lock, by the program's sources.
    pub(super) known: String,
    /// What is not as expected; empty if nothing.
    pub(super) fault: String,
}

/// One run of a server: what a part of the answers took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Answered {
    pub(super) machine: String,
    pub(super) program: String,
    pub(super) setting: String,
    pub(super) variant: String,
    pub(super) round: u32,
    pub(super) ops_per_s: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let row = |variant: &str, round, ops| Row::new("x", ("2", 2), variant, round).with((2.0, ops), (1.0, 5, 5));
        let rows: Vec<Row> = (0..3u32)
            .flat_map(|round| {
                let pace = f64::from(round + 1);
                [row(PLAIN, round, 100.0 * pace), row("ondeck", round, 120.0 * pace)]
            })
            .collect();
        let spread = |rows: &[Row]| Spread::of_ratios(&rows.iter().collect::<Vec<_>>(), Row::ops_per_s);
        assert_eq!(spread(&rows).unwrap().to_string(), "1.20 (1.20 to 1.20)");
        assert_eq!(spread(&rows[..1]), None);
    }
}
