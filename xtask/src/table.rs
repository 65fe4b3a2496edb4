//! The table of locks as text, for tools that look at sources without building them.

/// Where it is.
pub(crate) const PATH: &str = "lab/lineage/src/table.rs";

/// A row.
pub(crate) struct Row<'a> {
    pub(crate) file: &'a str,
    pub(crate) lock: &'a str,
    /// What it can do.
    pub(crate) words: Vec<&'a str>,
}

/// All rows of the text.
pub(crate) fn rows(text: &str) -> Vec<Row<'_>> {
    text.lines().filter_map(row).collect()
}

/// The text without the rows of locks that are not wanted: each that is left in costs seconds of compiling.
pub(crate) fn with_only(text: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    text.split_inclusive('\n').filter(|line| row(line).is_none_or(|row| is_wanted(row.file))).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let (file, rest) = line.trim_start().strip_prefix("$crate::row!($each [$($word)*] ")?.split_once(", ")?;
    let (lock, words) = rest.split_once(':').filter(|_| !file.starts_with('$'))?;
    Some(Row { file, lock, words: words.split_once(')')?.0.split_whitespace().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_of_the_table() {
        let text = std::fs::read_to_string(crate::root().join(PATH)).expect("readable");
        let names = rows(&text).into_iter().map(|row| row.file.replace('_', "-"));
        assert!(names.eq(ondeck_lineage::LOCKS.iter().map(|entry| entry.name)));
        for (row, entry) in rows(&text).into_iter().zip(ondeck_lineage::LOCKS) {
            assert_eq!(row.words.contains(&"sleeps"), entry.promises.sleeps, "{}", row.file);
        }
        let short = with_only(&text, |file| file == "mcs");
        assert_eq!(rows(&short).into_iter().map(|row| row.lock).collect::<Vec<_>>(), ["RawMcs"]);
        let without =
            |text: &str| text.lines().filter(|line| row(line).is_none()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(without(&short), without(&text), "nothing but rows is gone");
    }
}
