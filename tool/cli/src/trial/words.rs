//! What `ondeck try` says.

mod metric;
mod parts;

use super::metric::{Metric, MetricValues};
use super::output::Difference;
use super::results::{Kind, OutputDifferences, RUNS, Results, STREAMS};
pub(super) use metric::NoNumber;
use ondeck_kit::stats::{Comparison, Outcome, Round, compare_rounds, quantile, rounds_needed};
use ondeck_kit::wording::{percent, plain, quoted, run_time, times, wrap};
use ondeck_kit::{Grid, wording};
use parts::{last_line, program, seconds};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// The library makes a process start half a millisecond later; a script starts several processes.
const START_S: f64 = 0.005;
/// Of a shorter run, starting the program is a large part.
const SHORT_S: f64 = 0.1;
/// Where two runs with the same locks differ by more, "no difference" is no reason to keep them.
const NOISY: f64 = 0.15;
const ROUNDS_AGAINST_NOISE: usize = 10;

/// The command as a shell wants it, in one line.
fn typed(command: &[OsString]) -> String {
    plain(&wording::typed(command))
}

/// What is told at the end.
pub(super) struct TrialReport<'a> {
    pub(super) command: &'a [OsString],
    pub(super) library: Option<&'a Path>,
    pub(super) metric: Option<&'a Metric>,
    pub(super) results: &'a Results,
    pub(super) is_input_lost: bool,
}

impl TrialReport<'_> {
    /// Verdict, table, notes and what to do next.
    pub(super) fn text(&self, width: usize) -> String {
        let Results { wall, cpu, metric, .. } = self.results;
        let [Some(wall_s), Some(cpu_s)] = [wall, cpu].map(|rounds| compare_rounds(rounds, START_S)) else {
            return String::new();
        };
        let measured = metric.as_ref().and_then(|measured| Some((measured, measured.compared()?)));
        let (first, judged) = match &measured {
            Some((measured, compared)) => (measured.verdict(&program(self.command), compared), compared),
            None => (self.verdict(&wall_s), &wall_s),
        };
        let mut text = wrap("", &first, width);
        // A program that was thought to run for a fixed time may do more or less work with other locks.
        let run_time = measured.as_ref().and_then(|_| change_sentence(["Its run time changed"; 2], &wall_s));
        let cpu_time = change_sentence(["It used less CPU time", "It used more CPU time"], &cpu_s);
        for sentence in run_time.into_iter().chain(cpu_time) {
            text += &wrap("", &sentence, width);
        }
        let shown = |value: f64| metric.as_ref().map_or_else(String::new, |measured| measured.shown(value));
        let has_range = measured.is_none();
        let mut columns = vec![
            Column { head: "run time", rounds: wall, text: &seconds, has_range },
            Column { head: "CPU time", rounds: cpu, text: &seconds, has_range },
        ];
        if let Some(measured) = metric {
            columns.insert(0, Column { head: "metric", rounds: &measured.rounds, text: &shown, has_range: true });
        }
        let grid = table(&columns);
        text += &format!("\n{}\n", grid.render(width));
        for note in self.notes(&wall_s) {
            text += &wrap("", &note, width);
        }
        if self.fault().is_none() {
            text += &self.next(judged, wall_s.before < SHORT_S, width);
        }
        text
    }

    fn verdict(&self, wall: &Comparison) -> String {
        let (name, ratio) = (program(self.command), times(wall.ratio()));
        let (before, after) = (seconds(wall.before), seconds(wall.after));
        verdict(
            wall,
            &format!("Faster: ondeck's locks made {name} {ratio} times as fast ({after} instead of {before})."),
            &format!("Slower: with ondeck's locks {name} took {ratio} times as long ({after} instead of {before})."),
            &format!("{name} took {after} with ondeck's locks and {before} with glibc's."),
            &seconds,
        )
    }

    fn notes(&self, wall: &Comparison) -> Vec<String> {
        let n_runs = self.results.wall.len() * RUNS.len();
        let [out, err] = &self.results.printed;
        let mut notes: Vec<String> = self.results.metric.iter().map(MetricValues::source).collect();
        notes.extend(match out {
            // The number is one of the things that differ.
            OutputDifferences { by_itself: Some(_), .. } if self.metric.is_some() => None,
            OutputDifferences { by_itself: Some(difference), .. } => Some(format!(
                "The outputs cannot be compared, because this program's output varies with the same locks too. {}",
                where_it_differs(STREAMS[0].1, difference, ["in one run", "in another"])
            )),
            OutputDifferences { by_locks: None, .. } => {
                Some(format!("Standard output and exit code were the same in all {n_runs} runs."))
            }
            OutputDifferences { by_locks: Some(difference), .. } if self.metric.is_some() => {
                Some(where_it_differs(STREAMS[0].1, difference, KINDS))
            }
            // That is a fault.
            _ => None,
        });
        if let OutputDifferences { by_itself: None, by_locks: Some(difference) } = err {
            notes.push(where_it_differs(STREAMS[1].1, difference, KINDS));
        }
        if self.is_input_lost {
            notes.push(
                "Each run had an empty standard input, because yours is not a file. To let each run read the same, \
                 use `< FILE`."
                    .to_owned(),
            );
        }
        if wall.before < SHORT_S {
            notes.push(
                "These runs are short, and starting the program is a large part of them. Give it more work to see what \
                 the locks change."
                    .to_owned(),
            );
        }
        notes
    }

    /// What to type next, in a line of its own. `is_short` if the runs were too short to say much.
    fn next(&self, judged: &Comparison, is_short: bool, width: usize) -> String {
        let library = self.library.map(|path| format!("--library {} ", quoted(&path.display().to_string())));
        let rest = format!("{}-- {}\n", library.unwrap_or_default(), typed(self.command));
        let paragraph = |text: &str| format!("\n{}", wrap("", text, width));
        // `ondeck profile` may have sent the reader here, and is no next step then.
        let advice = "keep glibc's locks. What helps instead is a change of the program: hold its locks for a shorter time, \
                      or lock less often. To see which locks threads wait for, and who holds them, run this if you have \
                      not yet:";
        let keep = format!("ondeck profile {rest}");
        let more_rounds = |n: usize| {
            let metric = self.metric.map_or(String::new(), |metric| format!("{} ", metric.typed()));
            format!("ondeck try --rounds {n} {metric}{rest}")
        };
        match judged.outcome {
            Outcome::Faster => format!("\nNext, run it with ondeck's locks:\nondeck run {rest}"),
            Outcome::TooFew => format!("\nNext, run more rounds:\n{}", more_rounds(rounds_needed(2))),
            Outcome::Same if is_short => String::new(),
            Outcome::Same if judged.groups.is_some() => {
                let text = "With the same locks, chance decides into which group a run falls. To see whether ondeck's locks change \
                            that, run more rounds:";
                let needed = judged.rounds_against_groups().unwrap_or_default();
                paragraph(text) + &more_rounds(needed.max(ROUNDS_AGAINST_NOISE).max(2 * self.results.wall.len()))
            }
            Outcome::Same if judged.own > NOISY => {
                let text = "Runs with the same locks differ so much that a smaller difference does not show. Run more rounds, \
                            while this machine does nothing else:";
                paragraph(text) + &more_rounds(ROUNDS_AGAINST_NOISE.max(2 * self.results.wall.len()))
            }
            Outcome::Same if self.metric.is_none() => {
                let text = "If the program runs for a fixed time, its run time shows nothing. Compare a number that it \
                            prints instead. --metric takes a regular expression that finds this number, for example:";
                let pattern = quoted(self.results.pattern.as_deref().unwrap_or("ops/s: ([0-9.,]+)"));
                let metric = format!("ondeck try --metric {pattern} {rest}");
                paragraph(text) + &metric + &paragraph(&format!("Otherwise, {advice}")) + &keep
            }
            Outcome::Same | Outcome::Slower => paragraph(&advice.replacen("keep", "Keep", 1)) + &keep,
        }
    }

    /// What makes the figures worthless: another result.
    pub(super) fn fault(&self) -> Option<String> {
        // It prints a number that is expected to be another.
        if self.metric.is_some() {
            return None;
        }
        let [OutputDifferences { by_itself: None, by_locks: Some(difference) }, _] = &self.results.printed else {
            return None;
        };
        Some(format!(
            "{} prints something else with ondeck's locks, and the same in all runs with glibc's. {} If its output may \
             not vary, don't use `ondeck run` for it.",
            program(self.command),
            where_it_differs(STREAMS[0].1, difference, KINDS)
        ))
    }
}

/// What is compared, as a text ends with it.
const KINDS: [&str; 2] = ["with glibc's locks", "with ondeck's"];

fn where_it_differs(stream: &str, difference: &Difference, kinds: [&str; 2]) -> String {
    let shown = |text: &Option<String>| text.as_ref().map_or("nothing".to_owned(), |text| format!("`{text}`"));
    let [one, other] = difference.texts.each_ref().map(shown);
    let [first, second] = kinds;
    format!("The first difference is in line {} of {stream}: {one} {first}, {other} {second}.", difference.line)
}

/// The first sentences: what is better or worse beyond chance, or `both` where nothing is.
fn verdict(compared: &Comparison, better: &str, worse: &str, both: &str, shown: &dyn Fn(f64) -> String) -> String {
    let said = match compared.outcome {
        Outcome::Faster => better.to_owned(),
        Outcome::Slower => worse.to_owned(),
        Outcome::Same => format!("No difference beyond the noise: {both}"),
        Outcome::TooFew => format!("Too few rounds to tell: {both}"),
    };
    let Some([low, high]) = compared.groups else {
        return format!("{said} Two runs with glibc's locks differ by {}.", percent(compared.own));
    };
    let [low, high] = [low, high].map(|group| format!("{} near {}", group.n, shown(group.median)));
    format!("{said} The runs with glibc's locks fall into two groups: {low}, and {high}.")
}

/// What a time is now instead of before, if that is more than chance. It begins by whether it is less or more.
fn change_sentence([less, more]: [&str; 2], time: &Comparison) -> Option<String> {
    let what = match time.outcome {
        Outcome::Faster => less,
        Outcome::Slower => more,
        Outcome::Same | Outcome::TooFew => return None,
    };
    Some(format!("{what}: {} instead of {}.", seconds(time.after), seconds(time.before)))
}

/// A figure of the table, with its least and its most if it has a range.
struct Column<'a> {
    head: &'a str,
    rounds: &'a [Round],
    text: &'a dyn Fn(f64) -> String,
    has_range: bool,
}

/// A row for each kind of locks, with the medians of its runs.
fn table(columns: &[Column]) -> Grid {
    let range = |column: &Column| if column.has_range { &["least", "most"][..] } else { &[] };
    let heads = columns.iter().flat_map(|column| [column.head].into_iter().chain(range(column).iter().copied()));
    let mut grid = Grid::new(["lock"], ["runs"].into_iter().chain(heads));
    for kind in [Kind::Glibc, Kind::Ondeck] {
        let values = |rounds: &[Round]| -> Vec<f64> {
            match kind {
                Kind::Glibc => rounds.iter().flat_map(|round| round.before).collect(),
                Kind::Ondeck => rounds.iter().map(|round| round.after).collect(),
            }
        };
        let n_runs = columns.first().map_or(0, |column| values(column.rounds).len());
        let mut cells = vec![kind.name().to_owned(), n_runs.to_string()];
        for Column { rounds, text, has_range, .. } in columns {
            let values = values(rounds);
            let parts = if *has_range { &[0.5, 0.0, 1.0][..] } else { &[0.5] };
            cells.extend(parts.iter().map(|part| quantile(&values, *part).map_or_else(String::new, text)));
        }
        grid.row(cells);
    }
    grid
}

/// What is said of a run after which nothing can be compared.
pub(super) struct Failure<'a> {
    pub(super) command: &'a [OsString],
    pub(super) kind: Kind,
    /// Its standard error.
    pub(super) errors: &'a Path,
}

impl Failure<'_> {
    pub(super) fn not_started(&self, error: &io::Error) -> String {
        format!("{}: {error}", program(self.command))
    }

    /// `is_later` if it has succeeded before.
    pub(super) fn with_glibc(&self, status: ExitStatus, is_later: bool) -> String {
        let (name, how, last) = (program(self.command), how_it_ended(status), self.last_words());
        let when = if is_later { ", but not in its first run" } else { "" };
        let in_a_shell = quoted(&format!("{}; true", typed(self.command)));
        format!(
            "{name} {how} with glibc's own locks{when}, so nothing is compared{last}. If that is no failure, run: \
             ondeck try -- sh -c {in_a_shell}"
        )
    }

    pub(super) fn with_ondeck(&self, status: ExitStatus) -> String {
        let (name, how, last) = (program(self.command), how_it_ended(status), self.last_words());
        format!("with ondeck's locks {name} {how}, and with glibc's it succeeded{last}. Don't use `ondeck run` for it")
    }

    pub(super) fn too_long(&self, limit: Duration, first_s: f64) -> String {
        let (name, last) = (program(self.command), self.last_words());
        let limit = run_time(limit.as_secs_f64());
        format!(
            "with {}'s locks {name} had not ended after {limit} and was killed, and with glibc's it took {}{last}. \
             Don't use `ondeck run` for it",
            self.kind.name(),
            seconds(first_s)
        )
    }

    /// The last line of its standard error.
    fn last_words(&self) -> String {
        last_line(self.errors).map_or(String::new(), |line| format!(" (it printed: `{line}`)"))
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("was killed by {name}"),
            None => format!("was killed by signal {signal}"),
        },
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

#[cfg(test)]
mod tests;
