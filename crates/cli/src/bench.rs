//! `ondeck bench`.

use crate::args::BenchArgs;
use crate::deliver::{Destination, command, several};
use crate::exit::Exit;
use crate::plan::{estimated_seconds, notes, plan};
use crate::terminal::{Display, say, stop_on_ctrl_c};
use ondeck_lab::driver::{self, Cut, Failure, Plan};
use ondeck_lab::fingerprint::Fingerprint;
use ondeck_lab::output::{Format, Results};
use ondeck_lab::report::text::run_time;
use ondeck_lab::row::Row;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) fn run(args: &BenchArgs) -> Result<(), Exit> {
    let out = Destination::new(&args.run, Format::Csv)?;
    let plan = plan(args).map_err(Exit::Usage)?;
    let fingerprint = Fingerprint::of_this_machine();
    say(&opening(&plan));
    notes(&args.run, &plan.points).iter().for_each(|note| say(&format!("warning: {note}")));
    let stop = stop_on_ctrl_c();
    let measured = measure(&plan, stop)?;
    let end = match measured.failure {
        Some(failure) => Err(Exit::Failed(failure)),
        None if stop.load(Relaxed) => Err(Exit::Interrupted),
        None => Ok(()),
    };
    let Measured { rows, warnings, .. } = measured;
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    if results.rows.is_empty() && end.is_err() {
        say("it ended before anything was finished; nothing is written");
        return end;
    }
    out.deliver(&plan.points, &results)?;
    end
}

/// What is about to happen, and how long it takes.
fn opening(plan: &Plan) -> String {
    let (points, rounds) = (several(plan.points.len(), "measurement"), several(plan.rounds as usize, "round"));
    format!("{points} of {} s, {rounds}: about {}", plan.seconds, run_time(estimated_seconds(plan)))
}

/// What a run has given, be it complete or not.
struct Measured {
    rows: Vec<Row>,
    warnings: Vec<String>,
    /// What ended it early, other than the user.
    failure: Option<String>,
}

/// Runs the plan under a progress bar.
fn measure(plan: &Plan, stop: &AtomicBool) -> Result<Measured, Exit> {
    let mut display = Display::new();
    let rows = driver::run(plan, stop, &mut |progress| display.show(progress));
    let mut warnings = display.finish();
    match rows {
        Ok(rows) => Ok(Measured { rows, warnings, failure: None }),
        Err(Cut { failure: Failure::Plan(what), .. }) => Err(Exit::Usage(what)),
        Err(Cut { failure, rows }) => {
            let failure = failure.to_string();
            // The rows will be read without the exit code.
            warnings.push(format!("the run failed, and what should follow is missing: {failure}"));
            Ok(Measured { rows, warnings, failure: Some(failure) })
        }
    }
}
