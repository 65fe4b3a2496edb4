//! `ondeck sim`.

use crate::args::SimArgs;
use crate::deliver::{Destination, command};
use crate::exit::Exit;
use crate::plan::{Stage, notes, points};
use crate::terminal::{displayed, say, stop_on_signal, width};
use ondeck_report::explain::tables;
use ondeck_report::output::{OutFile, Results};
use ondeck_report::trace::{Header, Subject};
use ondeck_report::wording::{counted, duration_ns, quoted};
use ondeck_workloads::plan::{Outcome, Plan};
use ondeck_workloads::simulate::trace;
use ondeck_workloads::simulate::{self, MachinePlan, Timeline};
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &SimArgs) -> Result<(), Exit> {
    let out = Destination::new(&args.run)?;
    let plan = plan(args).map_err(Exit::Usage)?;
    let trace = args.trace.as_deref().map(|path| trace_file(path, &plan.plan)).transpose().map_err(Exit::Usage)?;
    let fingerprint = simulate::fingerprint(&plan);
    say(&opening(&plan));
    notes(&args.run, Stage::simulated(&plan.machine).cpus, &plan.plan.points)
        .iter()
        .for_each(|note| say(&format!("warning: {note}")));
    let stop = stop_on_signal();
    let (Outcome { rows, timeline }, warnings, end) =
        displayed(stop, out.partial(), |stop, show| simulate::run(&plan, stop, show));
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    if out.is_bare_csv() {
        say(&simulate::origin_line(&plan, &results.rows));
    }
    out.deliver(&plan.plan.points, &results, end.is_ok())?;
    if args.explain && !results.rows.is_empty() {
        out.show(&format!("\n{}", tables(&results.rows, width())))?;
    }
    if let (Some(file), Some(timeline)) = (trace, &timeline) {
        write_trace(&file, timeline, &plan, stop)?;
    }
    end
}

/// Seeds if none are asked for: the fewest in which two groups can be told from a spread.
const SEEDS: u32 = 3;

/// Where the timeline goes, if the plan is one run and it can be written.
fn trace_file(path: &Path, Plan { points, rounds, .. }: &Plan) -> Result<OutFile, String> {
    if (points.len(), *rounds) != (1, 1) {
        let (points, seeds) = (counted(points.len(), "point"), counted(*rounds as usize, "seed"));
        return Err(format!(
            "--trace shows one run, but this plan has {points} with {seeds}; accepted: one --workload, --lock, --threads \
             and seed"
        ));
    }
    match OutFile::check(path) {
        Ok(file) if file.is_stdout() => Err("--trace: standard output has the results; accepted: a file".to_string()),
        file => file.map_err(|what| format!("--trace: {what}")),
    }
}

fn write_trace(file: &OutFile, timeline: &Timeline, plan: &MachinePlan, stop: &AtomicBool) -> Result<(), Exit> {
    let Some(point) = plan.plan.points.first() else { return Ok(()) };
    let subject = Subject {
        machine: plan.machine.name.clone(),
        workload: point.workload.to_string(),
        lock: point.lock.to_string(),
        threads: point.threads,
        seed: plan.plan.seed,
        command: command(),
    };
    let mut text = Vec::new();
    let header = trace::write(&mut text, timeline, &plan.machine, &subject).expect("a vector takes every write");
    file.replace(&text).map_err(Exit::Failed)?;
    let end = if header.is_cut { what_is_cut(&header, plan, stop) } else { String::new() };
    say(&format!("the timeline is written{end}; https://ui.perfetto.dev opens it, and ondeck report draws it"));
    Ok(())
}

/// How much of the run is there, and what to do for all of it.
fn what_is_cut(header: &Header, plan: &MachinePlan, stop: &AtomicBool) -> String {
    let advice = match trace::seconds_written_whole(plan, header, stop) {
        Some(seconds) => format!("with --seconds {seconds} it is whole"),
        None => "no run of so many --threads is short enough to be whole".to_string(),
    };
    format!(" as far as {} ({advice})", duration_ns(header.end_us * 1e3))
}

/// The plan, or one line that names the flag that is wrong.
fn plan(args: &SimArgs) -> Result<MachinePlan, String> {
    let Some(name) = &args.machine else {
        return Err(format!("--machine is missing; accepted: {}", simulate::accepted_machines()));
    };
    let machine = simulate::machine(name, args.cores).map_err(|what| format!("--machine: {what}"))?;
    let cores = args.cores.map_or(String::new(), |cores| format!(" --cores {cores}"));
    let machine_words = quoted(name) + &cores;
    let points = points(&args.run, &Stage::simulated(&machine))?;
    let rounds = args.rounds.unwrap_or(if args.trace.is_some() { 1 } else { SEEDS });
    let (seed, seconds, pin) = (args.seed, args.seconds, args.run.pin.into());
    let plan = Plan { points, rounds, seconds, seed, pin, load: 0 };
    simulate::check(&plan).map_err(|failure| failure.to_string())?;
    Ok(MachinePlan { plan, machine, machine_words, record: args.trace.is_some() })
}

/// What is about to happen.
fn opening(MachinePlan { plan, machine, .. }: &MachinePlan) -> String {
    let (points, seeds) = (counted(plan.points.len(), "point"), counted(plan.rounds as usize, "seed"));
    format!("{points} with {seeds} on a simulated {}", machine.name)
}
