//! `ondeck bench`.

use crate::args::BenchArgs;
use crate::deliver::{Destination, command, several};
use crate::exit::Exit;
use crate::plan::{estimated_seconds, notes, plan};
use crate::terminal::{Display, end_of_run, say, stop_on_signal};
use ondeck_lab::driver::{self, Cut, Failure, Plan};
use ondeck_lab::this_machine;
use ondeck_report::output::{FAILED, Format, Results};
use ondeck_report::row::Row;
use ondeck_report::wording::run_time;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &BenchArgs) -> Result<(), Exit> {
    let out = Destination::new(&args.run, Format::Csv)?;
    let mut plan = plan(args).map_err(Exit::Usage)?;
    let fingerprint = this_machine::fingerprint();
    let mut earlier = out.earlier(&fingerprint)?;
    plan.earlier = std::mem::take(&mut earlier.rows);
    driver::check(&plan).map_err(|failure| Exit::Usage(format!("--resume: {failure}")))?;
    say(&opening(&plan));
    notes(&args.run, &plan.points).iter().for_each(|note| say(&format!("warning: {note}")));
    let Measured { rows, warnings, failure } = measure(&plan, stop_on_signal())?;
    let end = end_of_run(failure);
    let warnings = earlier.warnings_with(warnings);
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    out.deliver(&plan.points, &results, end.is_ok())?;
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
            warnings.push(format!("{FAILED}: {failure}"));
            Ok(Measured { rows, warnings, failure: Some(failure) })
        }
    }
}
