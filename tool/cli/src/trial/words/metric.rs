//! What is said of the number that a program prints.

use super::parts::{last_line, program};
use crate::trial::metric::{Fault, Metric, MetricValues};
use crate::trial::results::Kind;
use ondeck_kit::stats::Comparison;
use ondeck_kit::wording::{plain, quoted, times};
use std::ffi::OsString;
use std::path::Path;

/// What the number may look like, as an error ends with it.
const ACCEPTED: &str = "Accepted: a number above 0, like 1234, 1,234.5, 0.5 or 1.2e6";

impl Metric {
    /// The flag and its value as a shell wants them.
    pub(super) fn typed(&self) -> String {
        format!("{} {}", self.flag(), quoted(self.pattern.as_str()))
    }
}

impl MetricValues {
    /// The first sentences.
    pub(super) fn verdict(&self, program: &str, compared: &Comparison) -> String {
        let (before, after) = (self.shown(compared.before), self.shown(compared.after));
        let verb = if compared.after > compared.before { "rises" } else { "falls" };
        let change = format!(
            "with ondeck's locks the metric of {program} {verb} by a factor of {} ({after} instead of {before}).",
            times(compared.ratio())
        );
        let both = format!("the metric of {program} is {after} with ondeck's locks and {before} with glibc's.");
        let [better, worse] = ["Better", "Worse"].map(|how| format!("{how}: {change}"));
        super::verdict(compared, &better, &worse, &both, &|value| self.shown(value))
    }

    /// Where the numbers are from: a pattern may find another one than was meant.
    pub(super) fn source(&self) -> String {
        let better = if self.is_less_better { "Less" } else { "More" };
        let first = &self.first;
        format!(
            "The metric is the number {}{} in `{}`, in the first run. {better} is better.",
            first.digits,
            plain(&first.unit),
            first.matched
        )
    }
}

/// What is said of a run whose output has no number for us.
pub(in crate::trial) struct NoNumber<'a> {
    pub(in crate::trial) command: &'a [OsString],
    pub(in crate::trial) metric: &'a Metric,
    pub(in crate::trial) kind: Kind,
    /// Its standard output and its standard error.
    pub(in crate::trial) outputs: [&'a Path; 2],
}

impl NoNumber<'_> {
    pub(in crate::trial) fn text(&self, fault: &Fault) -> String {
        let who = format!("{} with {}'s locks", program(self.command), self.kind.name());
        let what = match fault {
            Fault::NoMatch => {
                let last = self.outputs.iter().find_map(|output| last_line(output));
                let printed =
                    last.map_or("It printed nothing".to_owned(), |line| format!("Its last line was `{line}`"));
                format!(
                    "no line printed by {who} matches. {printed}. Accepted: a regular expression that matches within one \
                     line, like 'ops/s: ([0-9.,]+)'"
                )
            }
            Fault::NoNumber { matched } => format!(
                "{who} printed `{matched}`, which has no number. Accepted: a pattern that matches the number too, like \
                 'ops/s: ([0-9.,]+)'"
            ),
            Fault::Cut { matched, number } => format!(
                "`{matched}`, printed by {who}, has only a part of the number {number}. Accepted: a pattern that matches \
                 the whole number, like ([0-9.,]+)"
            ),
            Fault::Unclear { digits } => {
                format!("it is not clear which number {digits} is, printed by {who}. {ACCEPTED}")
            }
            Fault::NotPositive { digits } => format!("{who} printed {digits}. {ACCEPTED}"),
            Fault::OtherUnit { first, this } => format!(
                "the first run printed {first}, and {who} printed {this}. Accepted: numbers with the same unit in all runs"
            ),
        };
        format!("{}: {what}", self.metric.typed())
    }
}
