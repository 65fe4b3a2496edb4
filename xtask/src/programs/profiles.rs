//! `cargo xtask programs --profiles`: whether `ondeck profile` finds the lock that is known to be hot (`expected.rs`) in
//! programs that know nothing of it, and names who waits for it.

use super::expected::{EXPECTED, Expected};
use super::ground::{Ground, Run};
use super::preload::{self, Variant};
use super::rows::Profiled;
use super::table::Setting;
use super::wish::Wish;
use super::{Fault, attempt, each, record};
use ondeck_profile::{Profile, Site};
use std::path::Path;

/// Where the profile of a run is.
pub(super) const OUT: &str = "profile.json";
/// The lock that is recorded: the program's own.
const LOCK: &str = "glibc";
/// How often a short run may be repeated: a few samples of a busy machine may be of anything.
const ATTEMPTS: u32 = 3;

/// All programs of which something is known, or those that are named.
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let (ondeck, _) = preload::with_command(root)?;
    let mut rows = Vec::new();
    let list: Vec<_> = EXPECTED.iter().map(|expected| expected.program).collect();
    each(root, wish, &list, |ground, settings| {
        let variant = Variant::profiled(&ondeck, LOCK, &ground.file(OUT));
        for expected in EXPECTED.iter().filter(|expected| expected.program.0 == ground.program.name) {
            for setting in settings {
                rows.push(profiled(ground, setting, &variant, expected)?);
            }
        }
        Ok(())
    })?;
    if !wish.is_check {
        record::keep(root, "profiles.csv", &rows)?;
    }
    let failed = rows.iter().filter(|row| !row.fault.is_empty());
    let failed: Vec<String> = failed.map(|row| format!("{}: {}", row.program, row.fault)).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n{} of the profiles are not as expected", failed.join("\n"), failed.len()))
}

fn profiled(ground: &Ground, setting: &Setting, variant: &Variant, expected: &Expected) -> Result<Profiled, Fault> {
    let mut n_left = ground.either(1, ATTEMPTS);
    loop {
        attempt(&Run { ground, setting, variant })?;
        n_left -= 1;
        let reason = match row(&read(ground)?, expected, setting) {
            Ok(row) if row.fault.is_empty() || n_left == 0 => return Ok(row),
            Err(reason) if n_left == 0 => return Err(Fault::Failed(reason)),
            Ok(Profiled { fault: reason, .. }) | Err(reason) => reason,
        };
        println!("{}, again: {reason}", ground.program.name);
    }
}

/// The profile of the last run.
pub(super) fn read(ground: &Ground) -> Result<Profile, String> {
    let text = std::fs::read_to_string(ground.file(OUT)).map_err(|error| format!("{OUT}: {error}"))?;
    ondeck_profile::json::from_json(&text).map_err(|what| format!("the profile {what}"))
}

fn row(profile: &Profile, expected: &Expected, setting: &Setting) -> Result<Profiled, String> {
    let verdict = expected.judge(profile)?;
    let lock = profile.locks.first().ok_or("no lock")?;
    let top = |sites: &[Site]| ondeck_profile::busiest(profile, sites).unwrap_or_default();
    let ((waiter, waiter_share), (holder, holder_share)) = (top(&lock.waiters), top(&lock.holders));
    Ok(Profiled {
        program: expected.program.0.to_owned(),
        setting: setting.label.to_owned(),
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
