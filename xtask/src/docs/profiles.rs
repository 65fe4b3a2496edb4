//! docs/profile.md: what `ondeck profile` says of programs whose hot lock is known.

use super::programs::{introduction, parts, short};
use super::table::{code, table};
#[cfg(any(test, feature = "lab"))]
use ondeck_report::wording::duration_ns;
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(super) const PATH: &str = "docs/profile.md";
/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "profiles.csv";

/// What the profile of one run says of the lock that was waited for longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) program: String,
    pub(crate) setting: String,
    /// From the program's start to its end.
    pub(crate) seconds: f64,
    /// For all locks, by all threads together.
    pub(crate) waiting_s: f64,
    pub(crate) lock: String,
    /// The part of all waiting that is for it.
    pub(crate) share: f64,
    pub(crate) waiter: String,
    pub(crate) waiter_share: f64,
    pub(crate) holder: String,
    pub(crate) holder_share: f64,
    /// The part of the waiting for it whose stacks reach the thread's first function.
    pub(crate) whole_stacks: f64,
    /// The hot lock, by the program's sources.
    pub(crate) known: String,
    /// What is not as expected; empty if nothing.
    pub(crate) fault: String,
}

impl Row {
    /// In one line.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn line(&self) -> String {
        let Row { program, lock, waiter, holder, .. } = self;
        let [share, waiter_share, holder_share] = [self.share, self.waiter_share, self.holder_share].map(percent);
        format!(
            "{program}: {} of waiting in {}, {share} of it for `{lock}`; {waiter} waits ({waiter_share}), {holder} holds \
             ({holder_share}); {}",
            duration_ns(self.waiting_s * 1e9),
            duration_ns(self.seconds * 1e9),
            self.agreement()
        )
    }

    fn agreement(&self) -> String {
        if self.fault.is_empty() { "as expected".to_owned() } else { format!("not as expected: {}", self.fault) }
    }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--profiles", |file, rows: &[Row]| Ok(introduction(file, "one run each")? + &rows_of(rows)))
}

fn rows_of(rows: &[Row]) -> String {
    table(rows)
        .column("program", |row| code(&row.program))
        .column("threads", |row| &row.setting)
        .column("known from its sources", |row| &row.known)
        .column("waited, s", |row| short(row.waiting_s))
        .column("the first lock of the profile", |row| code(&row.lock))
        .column("share", |row| percent(row.share))
        .column("waits most", |row| format!("`{}` {}", row.waiter, percent(row.waiter_share)))
        .column("held meanwhile by", |row| format!("`{}` {}", row.holder, percent(row.holder_share)))
        .column("", |row| row.agreement())
        .text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_line() {
        let row = Row {
            program: "x".into(),
            setting: "16".into(),
            seconds: 2.0,
            waiting_s: 12.34,
            lock: "queue+0x8".into(),
            share: 0.98,
            waiter: "push".into(),
            waiter_share: 1.0,
            holder: "pop".into(),
            holder_share: 0.5,
            whole_stacks: 1.0,
            known: "the queue's mutex".into(),
            fault: String::new(),
        };
        let line =
            "| `x` | 16 | the queue's mutex | 12.34 | `queue+0x8` | 98 % | `push` 100 % | `pop` 50 % | as expected |\n";
        assert!(rows_of(std::slice::from_ref(&row)).ends_with(line), "{}", rows_of(&[row]));
        let line = "x: 12.3 s of waiting in 2.00 s, 98 % of it for `queue+0x8`; push waits (100 %), pop holds (50 %); ";
        assert!(row.line().starts_with(line) && row.line().ends_with("as expected"), "{}", row.line());
        let bad = Row { fault: "no".into(), ..row };
        assert!(bad.line().ends_with("not as expected: no"));
    }
}
