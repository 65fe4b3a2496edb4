//! `ondeck bench`.

use crate::args::BenchArgs;
use crate::deliver::{Destination, command};
use crate::display::{displayed, stop_on_signal};
use crate::plan::{Stage, notes, plan};
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::say;
use ondeck_kit::wording::{counted, run_time};
use ondeck_report::output::Results;
use ondeck_workloads::driver;
use ondeck_workloads::plan::{Outcome, Plan};
use ondeck_workloads::this_machine;

/// Measures locks on this machine.
pub fn run(args: &BenchArgs) -> Result<(), Exit> {
    let out = Destination::new(&args.run)?;
    let plan = plan(args).map_err(Exit::Usage)?;
    let fingerprint = this_machine::fingerprint().beside(plan.load);
    say(&opening(&plan));
    notes(&args.run, Stage::hardware().cpus, &plan.points).iter().for_each(|note| say(&format!("warning: {note}")));
    let (Outcome { rows, .. }, warnings, end) =
        displayed(stop_on_signal(), out.partial(), |stop, show| driver::run(&plan, stop, show));
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    out.deliver(&plan.points, &results, end.is_ok())?;
    end
}

/// What is about to happen, and how long it takes.
fn opening(plan: &Plan) -> String {
    let (points, rounds) = (counted(plan.points.len(), "measurement"), counted(plan.rounds as usize, "round"));
    format!("{points} of {} s, {rounds}: about {}", driver::seconds(plan), run_time(driver::planned_seconds(plan)))
}
