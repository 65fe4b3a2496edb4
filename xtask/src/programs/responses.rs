//! `cargo xtask programs --responses`: how long clients wait for an answer, with glibc's locks and with ours.
//!
//! Each client sends its next request as soon as it has the answer, so a server that is faster has more requests, and no
//! figure is of a server at rest. Times are those that the clients see, each request counted.

use super::preload::{self, Variant};
use super::rows::{Answered, Row};
use super::table::List;
use super::wish::Wish;
use super::{each, measure_times, record};
use std::path::Path;

/// Those whose clients can tell. rsyslog answers nobody.
pub(super) const MEASURED: &List = &[("node", &[]), ("mariadb", &[]), ("memcached", &[])];
const ROUNDS: u32 = 7;

/// What a part of the answers took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
}

impl Times {
    /// Of counts, each with the time that so many answers took.
    pub(super) fn of_counts(mut counts: Vec<(f64, u64)>) -> Option<Times> {
        counts.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let at = |part: f64| {
            let mut seen = 0;
            let enough = |(_, count): &&(f64, u64)| {
                seen += count;
                seen as f64 >= part * all as f64
            };
            counts.iter().find(enough).map(|(time, _)| *time)
        };
        Some(Times { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)? })
    }
}

/// All of them, or those that are named.
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let library = preload::library(root, wish)?;
    let variants = [Variant::plain(), Variant::preloaded(&library, None)];
    let mut rows = Vec::new();
    each(root, wish, MEASURED, |ground, settings| {
        ground.has_times = true;
        for (row, times) in measure_times(ground, settings, &variants, wish.rounds.unwrap_or(ROUNDS))? {
            rows.push(of_run(row, times.ok_or_else(|| "it tells no times".to_owned())?));
        }
        Ok(())
    })?;
    record::keep(root, "responses.csv", &rows)
}

fn of_run(run: Row, Times { p50, p99, p999 }: Times) -> Answered {
    let ops_per_s = run.ops_per_s();
    let Row { machine, program, setting, variant, round, .. } = run;
    Answered { machine, program, setting, variant, round, ops_per_s, p50_us: p50, p99_us: p99, p999_us: p999 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_that_so_many_answers_did_not_exceed() {
        let times = Times::of_counts(vec![(9.0, 1), (1.0, 990), (2.0, 8), (5.0, 1)]).unwrap();
        assert_eq!(times, Times { p50: 1.0, p99: 1.0, p999: 5.0 });
        assert_eq!(Times::of_counts(Vec::new()), None);
    }
}
