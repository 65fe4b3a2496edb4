//! `ondeck sim`.

use crate::args::{FormatArg, SimArgs};
use crate::deliver::{Destination, command, quoted, several};
use crate::exit::Exit;
use crate::plan::{Stage, notes, points};
use crate::terminal::{Display, print, say, stop_on_ctrl_c, width};
use ondeck_lab::output::{Format, OutFile, Results};
use ondeck_lab::report::text::duration_ns;
use ondeck_lab::row::Row;
use ondeck_lab::simulate::explain::{Explained, tables};
use ondeck_lab::simulate::trace::{self, Subject};
use ondeck_lab::simulate::{self, Computed, Cut, Plan, Timeline};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) fn run(args: &SimArgs) -> Result<(), Exit> {
    let is_first = args.shard.is_none_or(|shard| shard.part == 1);
    let out = Destination::new(&args.run, if is_first { Format::Csv } else { Format::CsvRows })?;
    let plan = plan(args).map_err(Exit::Usage)?;
    let trace = args.trace.as_deref().map(|path| trace_file(path, &plan)).transpose().map_err(Exit::Usage)?;
    say(&opening(&plan));
    notes(&args.run, &plan.points).iter().for_each(|note| say(&format!("warning: {note}")));
    let stop = stop_on_ctrl_c();
    let Outcome { computed, warnings, failure } = compute(&plan, stop);
    let end = match failure {
        Some(failure) => Err(Exit::Failed(failure)),
        None if stop.load(Relaxed) => Err(Exit::Interrupted),
        None => Ok(()),
    };
    let fingerprint = simulate::fingerprint(&plan);
    let Computed { rows, timeline } = computed;
    let results = Results { fingerprint: Some(fingerprint), command: command(), warnings, rows };
    if results.rows.is_empty() && end.is_err() {
        say("it ended before anything was finished; nothing is written");
        return end;
    }
    if out.is_bare_csv() {
        say(&simulate::origin_line(&plan, &results.rows));
    }
    out.deliver(&plan.points, &results)?;
    if args.explain {
        explain(args, &results.rows)?;
    }
    if let (Some(file), Some(timeline)) = (trace, &timeline) {
        write_trace(&file, timeline, &plan)?;
    }
    end
}

/// Says where the time of an operation goes; beside results that a program is to read, to a person only.
fn explain(args: &SimArgs, rows: &[Row]) -> Result<(), Exit> {
    let explained = |row: &Row| Some(Explained::new(row, row.spent?));
    let text = tables(&rows.iter().filter_map(explained).collect::<Vec<Explained>>(), width());
    match args.run.format {
        Some(FormatArg::Csv | FormatArg::Json) => say(text.trim_end()),
        Some(FormatArg::Table) | None => print(&format!("\n{text}"))?,
    }
    Ok(())
}

/// Where the timeline goes, if the plan is one run and it can be written.
fn trace_file(path: &Path, plan: &Plan) -> Result<OutFile, String> {
    if (plan.points.len(), plan.seeds) != (1, 1) {
        let (points, seeds) = (several(plan.points.len(), "point"), several(plan.seeds as usize, "seed"));
        return Err(format!(
            "--trace shows one run, and this plan has {points} with {seeds}; one --workload, --lock, --threads and seed \
             are accepted"
        ));
    }
    OutFile::check(path).map_err(|what| format!("--trace: {what}"))
}

fn write_trace(file: &OutFile, timeline: &Timeline, plan: &Plan) -> Result<(), Exit> {
    let Some(point) = plan.points.first() else { return Ok(()) };
    let subject = Subject {
        machine: plan.machine.name.clone(),
        workload: point.workload.to_string(),
        lock: point.lock.clone(),
        threads: point.threads,
        seed: plan.seed,
    };
    let mut text = Vec::new();
    let header = trace::write(&mut text, timeline, &plan.machine, &subject).expect("a vector takes every write");
    file.replace(&text).map_err(Exit::Failed)?;
    let end = match header.is_cut {
        true => format!(", as far as {}: a run of fewer --seconds is recorded whole", duration_ns(header.end_us * 1e3)),
        false => String::new(),
    };
    say(&format!("the timeline is written{end}; https://ui.perfetto.dev opens it, and ondeck report draws it"));
    Ok(())
}

/// The plan, or one line that names the flag that is wrong.
fn plan(args: &SimArgs) -> Result<Plan, String> {
    let Some(name) = &args.machine else {
        return Err(format!("--machine is missing; accepted: {}", simulate::accepted_machines()));
    };
    let machine = simulate::machine(name, args.cores).map_err(|what| format!("--machine: {what}"))?;
    let cores = args.cores.map_or(String::new(), |cores| format!(" --cores {cores}"));
    let machine_words = quoted(name.clone()) + &cores;
    let mut points = points(&args.run, &Stage::simulated(&machine))?;
    let seeds = args.seeds.or(args.rounds).unwrap_or(1);
    if let Some(shard) = args.shard {
        points = points[simulate::block(points.len(), shard.part, shard.parts)].to_vec();
    }
    let (seed, seconds, pin) = (args.seed, args.seconds, args.run.pin.into());
    let plan = Plan { machine, machine_words, points, seed, seeds, seconds, pin, record: args.trace.is_some() };
    simulate::check(&plan).map_err(|failure| failure.to_string())?;
    Ok(plan)
}

/// What is about to happen.
fn opening(plan: &Plan) -> String {
    let (points, seeds) = (several(plan.points.len(), "point"), several(plan.seeds as usize, "seed"));
    format!("{points} with {seeds} on a simulated {}", plan.machine.name)
}

/// What a plan has given, be it complete or not.
struct Outcome {
    computed: Computed,
    warnings: Vec<String>,
    /// What ended it early, other than the user.
    failure: Option<String>,
}

/// Runs the plan under a progress bar.
fn compute(plan: &Plan, stop: &AtomicBool) -> Outcome {
    let mut display = Display::new();
    let computed = simulate::run(plan, stop, &mut |progress| display.show(progress));
    let mut warnings = display.finish();
    match computed {
        Ok(computed) => Outcome { computed, warnings, failure: None },
        Err(Cut { failure, replay, rows }) => {
            let text = failure.to_string();
            let line = text.lines().next().unwrap_or_default();
            // The rows will be read without the exit code.
            warnings.push(format!("the run failed, and what should follow is missing: {line}"));
            let replay = replay.map_or(String::new(), |replay| format!("\nreplay: {replay}"));
            Outcome { computed: Computed { rows, timeline: None }, warnings, failure: Some(text + &replay) }
        }
    }
}
