//! A strict reader of the text form of Prometheus: what it refuses, a collector may refuse too.

use std::collections::{BTreeMap, BTreeSet};

/// What tells the lines of one program from those of others.
const OF_PROGRAM: [&str; 3] = ["program", "unit", "file"];

/// The labels of a sample, in their order.
type Labels = Vec<(String, String)>;

/// All samples of a text, by metric and labels.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    /// The kind of each metric.
    pub(super) kinds: BTreeMap<String, String>,
    pub(super) samples: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    #[track_caller]
    pub(super) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has an end: {text}");
        let (mut read, mut helped, mut current) = (Exposition::default(), None, String::new());
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split_once(' ').map(|(name, _)| name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a kind");
                assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
                assert_eq!(helped.take().as_deref(), Some(name), "help stands before the type");
                assert!(read.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes twice");
                name.clone_into(&mut current);
            } else {
                read.sample(line, &current);
            }
        }
        read.check_histograms();
        read
    }

    fn sample(&mut self, line: &str, current: &str) {
        let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels_of(labels)),
            None => (series, Labels::new()),
        };
        let is_histogram = self.kinds[current] == "histogram";
        let end = name.strip_prefix(current).unwrap_or_else(|| panic!("{line} stands under {current}"));
        let ends = if is_histogram { &["_bucket", "_sum", "_count"][..] } else { &[""] };
        assert!(ends.contains(&end), "{line} stands under {current}");
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(self.samples.insert((name.to_owned(), labels), value).is_none(), "{line} comes twice");
    }

    /// Buckets are cumulative, and the last one is the count.
    fn check_histograms(&self) {
        for (name, _) in self.kinds.iter().filter(|(_, kind)| *kind == "histogram") {
            for ((_, labels), count) in self.of(&format!("{name}_count")) {
                let mut buckets: Vec<(f64, f64)> = Vec::new();
                for ((_, of_bucket), value) in self.of(&format!("{name}_bucket")) {
                    let is_limit = |(key, _): &&(String, String)| key == "le";
                    let limit = of_bucket.iter().find(is_limit).expect("a bucket has a limit");
                    if of_bucket.iter().filter(|label| !is_limit(label)).eq(labels) {
                        buckets.push((limit.1.replace("+Inf", "inf").parse().unwrap(), *value));
                    }
                }
                buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
                assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{name} {labels:?}: {buckets:?}");
                assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name} {labels:?}");
                assert!(self.samples.contains_key(&(format!("{name}_sum"), labels.clone())), "{name} {labels:?}");
            }
        }
    }

    fn of<'e>(&'e self, name: &'e str) -> impl Iterator<Item = (&'e (String, Labels), &'e f64)> {
        self.samples.iter().filter(move |((other, _), _)| other == name)
    }

    /// The value of the only sample with these labels and no others but those of the program.
    #[track_caller]
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let mut wanted: Labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        wanted.sort();
        let is_it = |found: &Labels| {
            let is_own = |(key, _): &&(String, String)| !OF_PROGRAM.contains(&key.as_str());
            let mut found: Labels = found.iter().filter(is_own).cloned().collect();
            found.sort();
            found == wanted
        };
        let values: Vec<f64> = self.of(name).filter(|((_, found), _)| is_it(found)).map(|(_, value)| *value).collect();
        assert_eq!(values.len(), 1, "{name} {wanted:?} in {:?}", self.samples);
        values[0]
    }

    /// The values of that label, of all samples: each has it.
    #[track_caller]
    pub(super) fn all(&self, label: &str) -> BTreeSet<&str> {
        let of = |labels: &'_ Labels| labels.iter().position(|(key, _)| key == label);
        self.samples
            .keys()
            .map(|(name, labels)| labels[of(labels).unwrap_or_else(|| panic!("{name}"))].1.as_str())
            .collect()
    }

    /// The names of all locks.
    pub(super) fn locks(&self) -> Vec<&str> {
        let labels = self.of("ondeck_lock_waits_total").flat_map(|((_, labels), _)| labels);
        labels.filter(|(key, _)| key == "lock").map(|(_, name)| name.as_str()).collect()
    }

    /// Samples of an earlier text that have decreased or gone, though they are counts.
    pub(super) fn lost_since(&self, earlier: &Exposition) -> Vec<String> {
        let kind = |name: &str| {
            let ends = ["", "_bucket", "_sum", "_count"];
            ends.iter().find_map(|end| earlier.kinds.get(name.strip_suffix(end)?)).expect("each has a type")
        };
        let counts = earlier.samples.iter().filter(|((name, _), _)| kind(name) != "gauge");
        let lost = counts.filter(|(key, before)| self.samples.get(key).is_none_or(|now| now < before));
        lost.map(|(key, before)| format!("{key:?}: {before}, then {:?}", self.samples.get(key))).collect()
    }
}

/// `a="b",c="d"}` with what is escaped.
fn labels_of(text: &str) -> Labels {
    let mut rest = text.strip_suffix('}').expect("a brace is closed");
    let mut labels = Labels::new();
    while !rest.is_empty() {
        let (key, quoted) = rest.split_once("=\"").expect("a label has a value in quotes");
        let (mut value, mut characters) = (String::new(), quoted.char_indices());
        let end = loop {
            match characters.next().expect("a quote is closed") {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, escaped @ ('\\' | '"'))) => escaped,
                    other => panic!("{other:?} is escaped in {text}"),
                }),
                (_, character) => value.push(character),
            }
        };
        labels.push((key.to_owned(), value));
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    labels
}
