//! Rows of result files, and what pages say of several rows: groups of them, a median with the range around it.

use ondeck_report::stats;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;

/// The rows of a CSV file.
pub(super) fn read<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, String> {
    let failed = |error: csv::Error| format!("{}: {error}", file.display());
    csv::Reader::from_path(file).map_err(failed)?.deserialize().map(|row| row.map_err(failed)).collect()
}

/// The rows as text.
#[cfg(any(test, feature = "lab"))]
pub(crate) fn to_csv(rows: &[impl serde::Serialize]) -> Result<String, String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(|error| error.to_string())?;
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Rows by what they have in common, in the order in which that comes first.
pub(super) fn grouped<R, K: PartialEq>(rows: impl IntoIterator<Item = R>, key: impl Fn(&R) -> K) -> Vec<(K, Vec<R>)> {
    let mut groups: Vec<(K, Vec<R>)> = Vec::new();
    for row in rows {
        let key = key(&row);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

/// A median and the range around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.into_iter().collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        stats::median(&values).map(|median| Spread { median, low, high })
    }

    /// With two digits behind the point.
    #[cfg(feature = "lab")]
    pub(crate) fn text(&self) -> String {
        self.to_string()
    }

    /// With as many digits as `of` gives.
    pub(super) fn with(&self, of: fn(f64) -> String) -> String {
        format!("{} ({} to {})", of(self.median), of(self.low), of(self.high))
    }

    /// The median in bold, if a reader should see it.
    pub(super) fn bold_if(&self, is_loud: bool) -> String {
        let text = self.to_string();
        text.split_once(' ').filter(|_| is_loud).map_or(text.clone(), |(median, range)| format!("**{median}** {range}"))
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(|value| format!("{value:.2}")))
    }
}
