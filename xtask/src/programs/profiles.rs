//! `cargo xtask programs --profiles`: whether `ondeck profile` finds the lock that is known to be hot (`expected.rs`) in
//! programs that know nothing of it, and names who waits for it.

use super::expected::{EXPECTED, Expected};
use super::preload::{self, Variant};
use super::table::{PROGRAMS, Program, Setting};
use super::wish::Wish;
use super::{Fault, Ground, needs, one_line, record};
use crate::docs;
use crate::docs::profiles::{FILE, Row};
use crate::docs::programs::to_csv;
use ondeck_profile::{Profile, Site};
use std::path::Path;

/// The lock that is recorded: the program's own.
const LOCK: &str = "glibc";
/// How often a short run may be repeated: a few samples of a busy machine may be of anything.
const ATTEMPTS: u32 = 3;

/// All programs of which something is known, or those that are named.
pub(super) fn run(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    if let Some(name) = wish.only.iter().find(|name| EXPECTED.iter().all(|expected| expected.program != **name)) {
        let names: Vec<&str> = EXPECTED.iter().map(|expected| expected.program).collect();
        return Err(format!("no lock is known to be hot in {name}; some are in {}", names.join(", ")));
    }
    let (ondeck, _) = preload::with_command(root)?;
    let (mut rows, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for expected in EXPECTED.iter().filter(|expected| wish.wants(expected.program)) {
        match profiled(root, &ondeck, expected, wish.is_check) {
            Ok(row) => {
                println!("{}", row.line());
                if !row.fault.is_empty() {
                    failed.push(format!("{}: {}", expected.program, row.fault));
                }
                rows.push(row);
            }
            Err(Fault::Skipped(reason)) => skipped.push(format!("{}: {}", expected.program, one_line(&reason))),
            Err(Fault::Failed(reason)) => failed.push(format!("{}: {reason}", expected.program)),
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    if !wish.is_check {
        record::keep(root, wish.is_whole(), FILE, &to_csv(&rows)?, &record::command(words), &skipped)?;
        if wish.is_whole() {
            docs::run(root, &[])?;
        }
    }
    let n_failed = failed.len();
    if n_failed == 0 {
        Ok(())
    } else {
        Err(format!("{}\n{n_failed} of the profiles are not as expected", failed.join("\n")))
    }
}

/// The program and the setting that an expectation is of.
fn found(expected: &Expected) -> Option<(&'static Program, &'static Setting)> {
    let program = PROGRAMS.iter().find(|program| program.name == expected.program)?;
    Some((program, program.settings.iter().find(|setting| setting.label == expected.setting)?))
}

fn profiled(root: &Path, ondeck: &Path, expected: &Expected, is_check: bool) -> Result<Row, Fault> {
    let (program, setting) = found(expected).ok_or_else(|| Fault::Failed("no such program or setting".into()))?;
    needs::provide(program.needs).map_err(Fault::Skipped)?;
    let ground = Ground::new(root, program.name, is_check).map_err(Fault::Skipped)?;
    (program.prepare)(&ground).map_err(Fault::Skipped)?;
    let mut attempt = 1;
    loop {
        let tried = once(&ground, ondeck, expected, program, setting)?;
        let is_last = !is_check || attempt == ATTEMPTS;
        match tried {
            Ok(row) if row.fault.is_empty() || is_last => return Ok(row),
            Err(reason) if is_last => return Err(Fault::Failed(reason)),
            Ok(row) => println!("{}, attempt {attempt}: {}", program.name, row.fault),
            Err(reason) => println!("{}, attempt {attempt}: {reason}", program.name),
        }
        attempt += 1;
    }
}

/// One run of the program, and what its profile says; an error within if it says nothing.
fn once(
    ground: &Ground,
    ondeck: &Path,
    expected: &Expected,
    program: &Program,
    setting: &Setting,
) -> Result<Result<Row, String>, Fault> {
    let out = ground.file("profile.json");
    if let Err(reason) = (program.run)(ground, setting, &Variant::profiled(ondeck, LOCK, &out)) {
        // Only if it runs without the profiler, that is whose fault it is.
        (program.run)(ground, setting, &Variant::plain()).map_err(Fault::Skipped)?;
        return Err(Fault::Failed(reason));
    }
    let text = std::fs::read_to_string(&out).map_err(|error| Fault::Failed(format!("{}: {error}", out.display())))?;
    let profile =
        ondeck_profile::json::from_json(&text).map_err(|what| Fault::Failed(format!("the profile {what}")))?;
    Ok(row(&profile, expected))
}

fn row(profile: &Profile, expected: &Expected) -> Result<Row, String> {
    let verdict = expected.judge(profile)?;
    let lock = profile.locks.first().ok_or("no lock")?;
    let top = |sites: &[Site]| ondeck_profile::busiest(profile, sites).unwrap_or_default();
    let ((waiter, waiter_share), (holder, holder_share)) = (top(&lock.waiters), top(&lock.holders));
    Ok(Row {
        program: expected.program.to_owned(),
        setting: expected.setting.to_owned(),
        seconds: profile.seconds,
        waiting_s: profile.wait_ns() / 1e9,
        lock: lock.name.clone(),
        share: verdict.share,
        waiter,
        waiter_share,
        holder,
        holder_share,
        whole_stacks: verdict.whole,
        known: expected.known.to_owned(),
        fault: verdict.faults.join("; "),
    })
}
