//! A strict reader of the text form of Prometheus: what it refuses, a collector may refuse too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What tells the lines of one program from those of others.
const OF_PROGRAM: [&str; 3] = ["program", "unit", "file"];

/// The labels of a sample, by name.
type Labels = BTreeMap<String, String>;

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
        let (mut read, mut helped, mut current) = (Exposition::default(), None, "");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split_once(' ').map(|(name, _)| name);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a kind");
                assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
                assert_eq!(helped.take(), Some(name), "help stands before the type");
                assert!(read.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes twice");
                current = name;
            } else {
                read.sample(line, current);
            }
        }
        read.check_histograms();
        read
    }

    fn sample(&mut self, line: &str, current: &str) {
        let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
        let (name, labels) = series.split_once('{').map_or((series, Labels::new()), |(name, of)| (name, labels_of(of)));
        let end = name.strip_prefix(current).unwrap_or_else(|| panic!("{line} stands under {current}"));
        let ends = if self.kinds[current] == "histogram" { &["_bucket", "_sum", "_count"][..] } else { &[""] };
        assert!(ends.contains(&end), "{line} stands under {current}");
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(self.samples.insert((name.to_owned(), labels), value).is_none(), "{line} comes twice");
    }

    /// Buckets are cumulative, and the last one is the count.
    fn check_histograms(&self) {
        for (name, _) in self.kinds.iter().filter(|(_, kind)| *kind == "histogram") {
            let (mut buckets, mut counts) = (BTreeMap::<Labels, Vec<(f64, f64)>>::new(), BTreeMap::new());
            for (labels, value) in self.of(&format!("{name}_bucket")) {
                let mut labels = labels.clone();
                let limit = labels.remove("le").expect("a bucket has a limit").replace("+Inf", "inf");
                buckets.entry(labels).or_default().push((limit.parse().unwrap(), value));
            }
            for (labels, buckets) in &mut buckets {
                buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
                assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{name} {labels:?}: {buckets:?}");
                counts.extend(buckets.last().filter(|last| last.0 == f64::INFINITY).map(|last| (labels, last.1)));
            }
            assert_eq!(counts, self.of(&format!("{name}_count")).collect(), "{name}");
            assert!(self.of(&format!("{name}_sum")).map(|(labels, _)| labels).eq(counts.into_keys()), "{name}");
        }
    }

    fn of<'e>(&'e self, name: &str) -> impl Iterator<Item = (&'e Labels, f64)> {
        self.samples.iter().filter(move |((other, _), _)| other == name).map(|((_, labels), value)| (labels, *value))
    }

    /// The value of the only sample with these labels and no others but those of the program.
    #[track_caller]
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted = labels.iter().copied().collect::<BTreeMap<&str, &str>>();
        let own = |found: &Labels| {
            !found.keys().any(|key| !OF_PROGRAM.contains(&key.as_str()) && !wanted.contains_key(&**key))
        };
        let is_it = |found: &Labels| {
            own(found) && wanted.iter().all(|(key, value)| found.get(*key).is_some_and(|it| it == value))
        };
        let values: Vec<f64> = self.of(name).filter(|(found, _)| is_it(found)).map(|(_, value)| value).collect();
        assert_eq!(values.len(), 1, "{name} {wanted:?} in {:?}", self.samples);
        values[0]
    }

    /// The values of that label, of all samples: each has it.
    #[track_caller]
    pub(super) fn all(&self, label: &str) -> BTreeSet<&str> {
        let all = self.samples.keys();
        all.map(|(name, labels)| labels.get(label).unwrap_or_else(|| panic!("{name}")).as_str()).collect()
    }

    /// The names of all locks.
    pub(super) fn locks(&self) -> Vec<&str> {
        self.of("ondeck_lock_waits_total").filter_map(|(labels, _)| labels.get("lock")).map(String::as_str).collect()
    }

    /// Samples of an earlier text that have decreased or gone, though they are counts.
    pub(super) fn lost_since(&self, earlier: &Exposition) -> Vec<String> {
        let is_gauge = |name: &str| earlier.kinds.get(name).is_some_and(|kind| kind == "gauge");
        let counts = earlier.samples.iter().filter(|((name, _), _)| !is_gauge(name));
        let lost = counts.filter(|(key, before)| self.samples.get(key).is_none_or(|now| now < before));
        lost.map(|(key, before)| format!("{key:?}: {before}, then {:?}", self.samples.get(key))).collect()
    }
}

/// `a="b",c="d"}` with what is escaped.
fn labels_of(text: &str) -> Labels {
    static LABEL: LazyLock<regex_lite::Regex> =
        LazyLock::new(|| regex_lite::Regex::new(r#"([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"[,}]"#).unwrap());
    let plain =
        |value: &str| value.replace("\\\\", "\0").replace("\\n", "\n").replace("\\\"", "\"").replace('\0', "\\");
    let found: Vec<_> = LABEL.captures_iter(text).collect();
    assert_eq!(found.iter().map(|label| &label[0]).collect::<String>(), text, "all of it is labels");
    let labels: Labels = found.iter().map(|label| (label[1].to_owned(), plain(&label[2]))).collect();
    assert_eq!(labels.len(), found.len(), "each label comes once: {text}");
    labels
}
