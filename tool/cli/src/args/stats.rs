//! The flags of `ondeck run` for statistics.

use super::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Write statistics of the program's locks into this file, again and again, for Prometheus
    ///
    /// The file is for the textfile collector of node_exporter, which reads files that end in .prom. It has lines for each
    /// lock that threads waited for: how many waits, how long, how many threads wait now. FILE.prom is replaced in one step,
    /// and written a last time when the program has ended.
    ///
    /// --lock is then ondeck or glibc. `ondeck` stays the program's parent, passes signals on, and ends with the program's exit
    /// code. In a service of systemd it becomes the program instead. docs/stats.md says what is counted and what is estimated.
    ///
    /// Example: ondeck run --stats /var/lib/node_exporter/locks.prom --lock glibc -- ./server
    #[arg(long = "stats", value_name = "FILE.prom")]
    pub(crate) file: Option<PathBuf>,

    /// With --stats: write the file at this interval, such as 500ms, 10s or 2m [default: 15s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) every: Option<Duration>,

    /// With --stats: warn while threads wait for a lock for this long, such as 500ms, 2s or 1m
    ///
    /// A line on standard error says which lock it is, who has it and what that thread does, with stacks.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) warn_after: Option<Duration>,

    /// With --stats: add a label to each line of the file; may be given several times
    ///
    /// Each line has the labels `program`, `file` and, in a service of systemd, `unit`. `program` is the program's name, `file`
    /// that of FILE.prom without .prom: so several programs can have their files in one directory. Another value for one of
    /// them replaces the value, and an empty one leaves the label out.
    ///
    /// Example: --label shop=berlin --label program=checkout
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
}

/// A label by the rules of Prometheus.
fn label(text: &str) -> Result<(String, String), String> {
    /// What the lines have of their own.
    const TAKEN: [&str; 4] = ["lock", "le", "what", "reason"];
    const ACCEPTED: &str = "accepted: NAME=VALUE, like shop=berlin";
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("there is no = between name and value; {ACCEPTED}"));
    };
    let is_first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !is_first || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(format!(
            "Prometheus does not take the name {name:?}; accepted: letters, digits and _, and no digit first, like shop"
        ));
    }
    if name.starts_with("__") {
        return Err(format!("Prometheus keeps names with two _ in front for itself; {ACCEPTED}"));
    }
    if TAKEN.contains(&name) {
        return Err(format!("the lines have a label {name} of their own; {ACCEPTED}"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_is_one_that_prometheus_takes() {
        for (text, value) in [("a=b", "b"), ("_a1=", ""), ("A_b=c=d \"e\"", "c=d \"e\"")] {
            let name = text.split('=').next().unwrap();
            assert_eq!(label(text), Ok((name.to_owned(), value.to_owned())));
        }
        for (text, why) in [
            ("a", "no ="),
            ("=b", "the name \"\""),
            ("1a=b", "no digit first"),
            ("a-b=c", "letters, digits and _"),
            ("\u{e4}=c", "letters, digits and _"),
            ("__name__=c", "two _"),
            ("lock=c", "a label lock of their own"),
        ] {
            let refused = label(text).expect_err(text);
            assert!(refused.contains(why) && refused.contains("accepted: "), "{text}: {refused}");
        }
    }
}
