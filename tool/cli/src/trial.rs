//! `ondeck try`: the program with glibc's locks and with ondeck's, in turn, instead of a prediction.

mod input;
mod metric;
mod output;
mod results;
mod words;

use crate::args::TryArgs;
use crate::exit::Exit;
use crate::profile::{exit_code, listen, refused};
use crate::terminal::{as_typed, print, progress_bar, say, width};
use indicatif::ProgressBar;
use input::Input;
use metric::{Metric, MetricValues};
use ondeck_launch::{ChildProcess, FinishedProcess, Launch, RunFailure, give_own_number};
use ondeck_report::stats::Round;
use output::difference;
use results::{Kind, OutputDifferences, RUNS, Results, STREAMS};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// What a run with ondeck's locks gets beside ten times what the first one took.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs all rounds and tells of them.
pub(crate) fn run(args: &TryArgs) -> Result<(), Exit> {
    let launch = Launch { command: args.command.clone(), library: args.library.path.clone(), ..Launch::default() };
    // All that can be refused is, before the program is started.
    for kind in RUNS {
        command(&launch, kind)?;
    }
    let failed = |what: &str, error: io::Error| Exit::Failed(format!("{what}: {error}"));
    let directory = tempfile::Builder::new().prefix("ondeck-try-").tempdir();
    let directory = directory.map_err(|error| failed("cannot make a directory for the program's output", error))?;
    let trial = Trial {
        launch,
        directory: directory.path(),
        metric: Metric::of(args),
        input: Input::find().map_err(|error| Exit::Usage(format!("standard input: {error}")))?,
        signal: listen().map_err(|error| failed("cannot listen to signals", error))?,
        bar: progress_bar(),
    };
    let rounds = args.rounds as usize;
    trial.bar.set_length((rounds * RUNS.len()) as u64);
    let results = trial.all(rounds);
    trial.bar.finish_and_clear();
    let results = results?;
    let told = words::TrialReport {
        command: &args.command,
        library: args.library.path.as_deref(),
        metric: trial.metric.as_ref(),
        results: &results,
        is_input_lost: trial.input.is_lost(),
    };
    print(&as_typed(&told.text(width())))?;
    told.fault().map_or(Ok(()), |fault| Err(Exit::Failed(fault)))
}

fn cannot_read(error: io::Error) -> Exit {
    Exit::Failed(format!("cannot read the program's output: {error}"))
}

/// What is started, with these locks.
fn command(launch: &Launch, kind: Kind) -> Result<Command, Exit> {
    let command = match kind {
        Kind::Glibc => ondeck_launch::plain(launch),
        Kind::Ondeck => ondeck_launch::prepare(launch),
    };
    command.map_err(refused)
}

/// What all runs share.
struct Trial<'a> {
    launch: Launch,
    directory: &'a Path,
    metric: Option<Metric>,
    input: Input,
    signal: Arc<AtomicUsize>,
    bar: ProgressBar,
}

impl Trial<'_> {
    fn all(&self, n_rounds: usize) -> Result<Results, Exit> {
        let mut results = Results::default();
        let mut first: Option<FinishedProcess> = None;
        for round in 0..n_rounds {
            let (mut ended, mut numbers) = ([None; RUNS.len()], [0.0; RUNS.len()]);
            // In three rounds each has each place once.
            for run in (0..RUNS.len()).map(|place| (place + round) % RUNS.len()) {
                let kind = RUNS[run];
                self.bar.set_message(format!("round {} of {n_rounds}, {}'s locks", round + 1, kind.name()));
                let this = self.one(kind, first.as_ref())?;
                if let Some(metric) = &self.metric {
                    numbers[run] = self.measure(metric, kind, &mut results.metric)?;
                }
                let kept = if first.is_none() { self.keep() } else { self.look_at_output(kind, &mut results.printed) };
                kept.map_err(cannot_read)?;
                first = first.or(Some(this));
                ended[run] = Some(this);
                self.bar.inc(1);
            }
            let of = |figure: fn(&FinishedProcess) -> f64| {
                let [one, after, other] = ended.map(|ended| ended.as_ref().map_or(0.0, figure));
                Round { before: [one, other], after }
            };
            results.wall.push(of(|ended| ended.seconds));
            results.cpu.push(of(|ended| ended.cpu_s));
            if let Some(measured) = &mut results.metric {
                let [one, after, other] = numbers;
                measured.rounds.push(Round { before: [one, other], after });
            }
        }
        results.pattern = self.pattern(first.map_or(0.0, |first| first.seconds)).map_err(cannot_read)?;
        Ok(results)
    }

    /// A pattern for a number in which the first run and the last one differ.
    fn pattern(&self, run_time_s: f64) -> io::Result<Option<String>> {
        for (name, _) in STREAMS {
            let open = |run| File::open(self.file(run, name)).map(BufReader::new);
            let pattern = metric::pattern_for(open("first")?, open("run")?, run_time_s)?;
            if pattern.is_some() {
                return Ok(pattern);
            }
        }
        Ok(None)
    }

    /// One run. Every end but a success ends the trial. `first` is the first run, which had glibc's locks.
    fn one(&self, kind: Kind, first: Option<&FinishedProcess>) -> Result<FinishedProcess, Exit> {
        let words = words::Failure { command: &self.launch.command, kind, errors: &self.file("run", "err") };
        let file = |name| File::create(self.file("run", name)).map_err(|error| Exit::Failed(error.to_string()));
        let mut command = command(&self.launch, kind)?;
        let input = self.input.again().map_err(|error| Exit::Usage(format!("standard input: {error}")))?;
        command.stdin(input).stdout(file("out")?).stderr(file("err")?);
        let own_number = |command: &mut Command| give_own_number(command, &self.launch.command[0]);
        let running = ChildProcess::start_with(&mut command, libc::SIGKILL, own_number);
        let running = running.map_err(|error| Exit::OfProgram(words.not_started(&error), 126))?;
        // A program that hangs with the other locks must not hang this one.
        let limit =
            first.filter(|_| kind == Kind::Ondeck).map(|first| PATIENCE + Duration::from_secs_f64(first.seconds) * 10);
        let signal = || i32::try_from(self.signal.load(Relaxed)).ok().filter(|signal| *signal != 0);
        match running.finish(limit, signal) {
            Ok(ended) if ended.status.success() => Ok(ended),
            Ok(ended) if kind == Kind::Glibc => {
                Err(Exit::OfProgram(words.with_glibc(ended.status, first.is_some()), exit_code(ended.status)))
            }
            Ok(ended) => Err(Exit::Failed(words.with_ondeck(ended.status))),
            Err(RunFailure::Stopped(signal)) => {
                self.bar.finish_and_clear();
                say("stopped: the program has been ended, and nothing is compared");
                Err(Exit::Interrupted(signal))
            }
            Err(RunFailure::TooLong(limit)) => {
                Err(Exit::Failed(words.too_long(limit, first.map_or(0.0, |first| first.seconds))))
            }
            Err(RunFailure::WantsTerminal) => Err(Exit::Failed(
                "the program reads from the terminal, and a program that is run many times cannot be asked each time. Let it \
                 read a file instead: ondeck try -- PROGRAM < FILE"
                    .to_owned(),
            )),
            Err(RunFailure::Unknown(error)) => {
                Err(Exit::Failed(format!("cannot tell how the program has ended: {error}")))
            }
        }
    }

    /// The number that the run has printed. The first one says which unit all others must have.
    fn measure(&self, metric: &Metric, kind: Kind, measured: &mut Option<MetricValues>) -> Result<f64, Exit> {
        let [out, err] = STREAMS.map(|(name, _)| self.file("run", name));
        let number = metric.number(&[&out, &err]).map_err(cannot_read)?;
        let number = match measured {
            Some(MetricValues { first, .. }) => number.and_then(|number| number.with_unit_of(first)),
            None => number,
        };
        match number {
            Ok(number) => {
                let value = number.value;
                let is_less_better = metric.is_less_better;
                measured.get_or_insert_with(|| MetricValues { first: number, is_less_better, rounds: Vec::new() });
                Ok(value)
            }
            Err(fault) => {
                let words = words::NoNumber { command: &self.launch.command, metric, kind, outputs: [&out, &err] };
                let text = words.text(&fault);
                // The pattern fits the program, or it does not: that shows in the first run.
                Err(if measured.is_none() { Exit::Usage(text) } else { Exit::Failed(text) })
            }
        }
    }

    /// What the run has printed is what others are compared with.
    fn keep(&self) -> io::Result<()> {
        STREAMS.iter().try_for_each(|(name, _)| fs::rename(self.file("run", name), self.file("first", name)))
    }

    /// Compares what the run has printed with what the first one has.
    fn look_at_output(&self, kind: Kind, printed: &mut [OutputDifferences; 2]) -> io::Result<()> {
        for ((name, _), printed) in STREAMS.iter().zip(printed) {
            let place = match kind {
                Kind::Glibc => &mut printed.by_itself,
                Kind::Ondeck => &mut printed.by_locks,
            };
            if place.is_none() {
                *place = difference(&self.file("first", name), &self.file("run", name))?;
            }
        }
        Ok(())
    }

    fn file(&self, run: &str, stream: &str) -> PathBuf {
        self.directory.join(format!("{run}.{stream}"))
    }
}
