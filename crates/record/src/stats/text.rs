//! A snapshot in the text form that Prometheus reads.

use super::{Histogram, LockStatistics, Snapshot};
use core::fmt::{self, Write};
use std::string::String;
use std::time::Duration;

/// Of each lock: what it is called, what kind it is, what the help says, and its value.
type Metric = (&'static str, &'static str, &'static str, fn(&LockStatistics) -> f64);

const METRICS: [Metric; 7] = [
    ("ondeck_lock_waits_total", "counter", "Waits for the lock that are over.", |lock| lock.waits.count() as f64),
    ("ondeck_lock_gave_up_total", "counter", "Waits that ended by a timeout.", |lock| lock.gave_up as f64),
    ("ondeck_lock_acquisitions_total", "counter", "Acquisitions of the lock, estimated from a sample.", |lock| {
        lock.holds.count() as f64
    }),
    ("ondeck_lock_waiting_threads", "gauge", "Threads that sleep for the lock now.", |lock| lock.waiting.len() as f64),
    ("ondeck_lock_oldest_wait_seconds", "gauge", "How long the oldest of these threads has waited.", |lock| {
        seconds(lock.waiting.iter().map(|thread| thread.waited).max().unwrap_or_default())
    }),
    ("ondeck_lock_longest_wait_seconds", "gauge", "The longest wait that is over.", |lock| seconds(lock.longest_wait)),
    ("ondeck_lock_longest_hold_seconds", "gauge", "The longest hold that is known.", |lock| seconds(lock.longest_hold)),
];

/// What a histogram is called, what its help says, and where it is.
type Lengths = (&'static str, &'static str, fn(&LockStatistics) -> &Histogram);

const HISTOGRAMS: [Lengths; 2] = [
    ("ondeck_lock_wait_seconds", "How long threads waited for the lock.", |lock| &lock.waits),
    ("ondeck_lock_hold_seconds", "How long the lock was held, estimated from a sample.", |lock| &lock.holds),
];

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

impl Snapshot {
    /// Writes it in the text form of Prometheus, version 0.0.4, which OpenTelemetry's collector and others read too. The label
    /// `lock` has the name.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn prometheus(&self, to: &mut impl Write) -> fmt::Result {
        self.prometheus_with(&Labels::default(), to)
    }

    /// The same, with these labels on each line: several programs may be told of in one place.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn prometheus_with(&self, all: &Labels, to: &mut impl Write) -> fmt::Result {
        let labels: std::vec::Vec<String> = self.locks.iter().map(|lock| all.after("lock", &lock.lock)).collect();
        for (name, kind, help, value) in METRICS {
            write!(to, "# HELP {name} {help}\n# TYPE {name} {kind}\n")?;
            for (lock, label) in self.locks.iter().zip(&labels) {
                writeln!(to, "{name}{{{label}}} {}", value(lock))?;
            }
        }
        for (name, help, histogram) in HISTOGRAMS {
            write!(to, "# HELP {name} {help}\n# TYPE {name} histogram\n")?;
            for (lock, label) in self.locks.iter().zip(&labels) {
                write_histogram(to, name, label, histogram(lock))?;
            }
        }
        let (name, help) = ("ondeck_lock_missed_total", "Waits and holds that were not counted, for want of room.");
        writeln!(to, "# HELP {name} {help}\n# TYPE {name} counter\n{name}{all} {}", self.missed)
    }
}

fn write_histogram(to: &mut impl Write, name: &str, label: &str, histogram: &Histogram) -> fmt::Result {
    let mut so_far = 0;
    for (bucket, count) in histogram.buckets.iter().enumerate() {
        so_far += count;
        match Histogram::limit(bucket) {
            Some(limit) => writeln!(to, "{name}_bucket{{{label},le=\"{}\"}} {so_far}", seconds(limit))?,
            None => writeln!(to, "{name}_bucket{{{label},le=\"+Inf\"}} {so_far}")?,
        }
    }
    writeln!(to, "{name}_sum{{{label}}} {}", seconds(histogram.sum))?;
    writeln!(to, "{name}_count{{{label}}} {so_far}")
}

/// Labels in the text form of Prometheus. Shown, they stand in braces; no labels are no text.
#[derive(Clone, Debug, Default)]
pub struct Labels(std::vec::Vec<(String, String)>);

impl Labels {
    /// Adds a label. Its name has letters, digits and `_`, and is no other's.
    pub fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.into(), value.into()));
    }

    /// All of them behind another one, as they stand between the braces.
    #[must_use]
    pub fn after(&self, name: &str, value: &str) -> String {
        let mut text = std::format!("{name}=\"{}\"", escaped(value));
        for (name, value) in &self.0 {
            // A `String` takes all that is written.
            let _ = write!(text, ",{name}=\"{}\"", escaped(value));
        }
        text
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(((name, value), rest)) = self.0.split_first() else { return Ok(()) };
        write!(f, "{{{}}}", Labels(rest.to_vec()).after(name, value))
    }
}

/// As it stands between the quotes of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::WaitingThread;
    use super::*;

    #[test]
    fn a_lock_is_told_in_the_form_of_prometheus() {
        let waits = Histogram { buckets: core::array::from_fn(|at| (at % 2) as u64), sum: Duration::from_micros(1500) };
        let waiting = std::vec![WaitingThread { thread: 7, waited: Duration::from_millis(250) }];
        let lock = LockStatistics { lock: "a \"b\\\n".into(), waits, gave_up: 3, waiting, ..Default::default() };
        let mut text = String::new();
        Snapshot { locks: std::vec![lock], missed: 2 }.prometheus(&mut text).unwrap();
        let label = r#"lock="a \"b\\\n""#;
        for line in [
            "# TYPE ondeck_lock_waits_total counter".to_owned(),
            std::format!("ondeck_lock_waits_total{{{label}}} 8"),
            std::format!("ondeck_lock_gave_up_total{{{label}}} 3"),
            std::format!("ondeck_lock_waiting_threads{{{label}}} 1"),
            std::format!("ondeck_lock_oldest_wait_seconds{{{label}}} 0.25"),
            "# TYPE ondeck_lock_wait_seconds histogram".to_owned(),
            std::format!("ondeck_lock_wait_seconds_bucket{{{label},le=\"0.000001\"}} 0"),
            std::format!("ondeck_lock_wait_seconds_bucket{{{label},le=\"0.00003\"}} 2"),
            std::format!("ondeck_lock_wait_seconds_bucket{{{label},le=\"10\"}} 7"),
            std::format!("ondeck_lock_wait_seconds_bucket{{{label},le=\"+Inf\"}} 8"),
            std::format!("ondeck_lock_wait_seconds_sum{{{label}}} 0.0015"),
            std::format!("ondeck_lock_wait_seconds_count{{{label}}} 8"),
            "ondeck_lock_missed_total 2".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn labels_of_the_program_are_on_each_line() {
        let mut labels = Labels::default();
        labels.add("program", "a \"b");
        labels.add("file", "c");
        let lock = LockStatistics { lock: "d".into(), ..Default::default() };
        let mut text = String::new();
        Snapshot { locks: std::vec![lock], missed: 2 }.prometheus_with(&labels, &mut text).unwrap();
        for line in [
            r#"ondeck_lock_waits_total{lock="d",program="a \"b",file="c"} 0"#,
            r#"ondeck_lock_wait_seconds_bucket{lock="d",program="a \"b",file="c",le="+Inf"} 0"#,
            r#"ondeck_lock_missed_total{program="a \"b",file="c"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.all(|line| line.contains(r#"file="c""#)), "{text}");
    }
}
