//! `cargo xtask programs --responses`: how long clients wait for an answer, with glibc's locks and with ours.
//!
//! Each client sends its next request as soon as it has the answer, so a server that is faster has more requests, and no
//! figure is of a server at rest. Times are those that the clients see, each request counted.

use super::preload::{self, Variant};
use super::table::{PROGRAMS, Program};
use super::wish::Wish;
use super::{Dice, Ground, Sample, one_line, prepared, record};
use crate::docs;
use crate::docs::programs::to_csv;
use crate::docs::responses::{FILE, Row};
use ondeck_lab::this_machine;
use std::path::Path;

/// Those whose clients can tell. rsyslog answers nobody.
const MEASURED: &[&str] = &["node", "mariadb", "memcached"];
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
pub(super) fn run(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    if let Some(name) = wish.only.iter().find(|name| !MEASURED.contains(&name.as_str())) {
        return Err(format!("nobody waits for answers of {name} here; these are: {}", MEASURED.join(", ")));
    }
    let library = preload::library(root, wish)?;
    let variants = [Variant::plain(), Variant::preloaded(&library, None)];
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for program in PROGRAMS.iter().filter(|program| MEASURED.contains(&program.name) && wish.wants(program.name)) {
        match prepared(root, program) {
            Ok(mut ground) => {
                ground.has_times = true;
                rows.extend(measure(&ground, program, &variants, wish.rounds.unwrap_or(ROUNDS))?);
            }
            Err(reason) => skipped.push(format!("{}: {}", program.name, one_line(&reason))),
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    println!("{}", docs::responses::table_of(&rows));
    let text = to_csv(&rows)?;
    record::keep(root, wish.is_whole(), FILE, &text, &record::command(words), &skipped)?;
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}

/// All rounds of a program.
fn measure(ground: &Ground, program: &Program, variants: &[Variant; 2], n_rounds: u32) -> Result<Vec<Row>, String> {
    let machine = this_machine::fingerprint().machine;
    let (mut rows, mut dice) = (Vec::new(), Dice::new());
    for round in 0..n_rounds {
        for setting in program.settings {
            let mut order = [&variants[0], &variants[1]];
            dice.shuffle(&mut order);
            for variant in order {
                let failed = |what| format!("{} {} {}: {what}", program.name, setting.label, variant.name);
                let sample = (program.run)(ground, setting, variant).map_err(failed)?;
                let Sample { times: Some(times), .. } = sample else { return Err(failed("it tells no times".into())) };
                rows.push(Row {
                    machine: machine.clone(),
                    program: program.name.to_owned(),
                    setting: setting.label.to_owned(),
                    variant: variant.name.clone(),
                    round,
                    ops_per_s: sample.ops / sample.seconds,
                    p50_us: times.p50,
                    p99_us: times.p99,
                    p999_us: times.p999,
                });
            }
        }
    }
    Ok(rows)
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

    #[test]
    fn each_name_is_a_program() {
        assert!(MEASURED.iter().all(|name| PROGRAMS.iter().any(|program| program.name == *name)));
    }
}
