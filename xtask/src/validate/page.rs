//! The tables, as Markdown; between markers they are part of `docs/validation.md`.

use super::controls::Control;
use super::{Declared, Group, Limit, Row, Validation};
use crate::docs::between_markers;
use std::fs;
use std::path::Path;

const PATH: &str = "docs/validation.md";

/// Writes the page's tables and the pictures, or compares them.
pub(super) fn keep(
    root: &Path,
    validation: &Validation,
    pictures: &[(String, String)],
    is_check: bool,
) -> Result<(), String> {
    let page = fs::read_to_string(root.join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
    let text = between_markers(&page, "rows", &tables(validation))
        .ok_or_else(|| format!("{PATH}: no `<!-- rows -->` and `<!-- /rows -->`"))?;
    for (path, text) in pictures.iter().map(|(path, text)| (path.as_str(), text)).chain([(PATH, &text)]) {
        if fs::read_to_string(root.join(path)).is_ok_and(|old| old == *text) {
            continue;
        }
        if is_check {
            return Err(format!("{path} is stale; `cargo xtask validate` writes it"));
        }
        fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// A summary, then a table for each group, then the controls.
pub(super) fn tables(validation: &Validation) -> String {
    let mut text =
        "\n| group | rows | limit | median error | largest | limit kept |\n|---|---|---|---|---|---|\n".to_owned();
    text.extend(validation.groups.iter().map(summary));
    text.extend(validation.groups.iter().map(group));
    text + &controls(&validation.controls) + "\n"
}

pub(super) fn controls(all: &[Control]) -> String {
    let mut text = "\n### T6 negative controls\n\n| change | figure | as it is | changed | must be so | is so |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    text.extend(all.iter().map(control));
    text
}

fn summary(group: &Group) -> String {
    let limit = match group.limit {
        Limit::Each(limit) => format!("each {:.0} %", limit * 100.0),
        Limit::MedianAndMost(median, most) => format!("median {:.0} %, each {:.0} %", median * 100.0, most * 100.0),
    };
    let (median, most) = group.errors();
    let kept = if group.holds() { "yes" } else { "no" };
    let surprise = if (group.declared == Declared::Held) == group.holds() { "" } else { ", against what is declared" };
    let (n, median, most) = (group.rows.len(), median * 100.0, most * 100.0);
    format!("| {} | {n} | {limit} | {median:.1} % | {most:.1} % | {kept}{surprise} |\n", group.title)
}

pub(super) fn group(group: &Group) -> String {
    let head =
        format!("\n### {}\n\n| row | {} | simulated | error |\n|---|---|---|---|\n", group.title, group.expected);
    head + &group.rows.iter().map(row).collect::<String>()
}

fn row(row: &Row) -> String {
    let (expected, simulated) = (figure(row.expected), figure(row.simulated));
    format!("| {} | {expected} {} | {simulated} | {:+.1} % |\n", row.what, row.unit, row.error() * 100.0)
}

fn control(control: &Control) -> String {
    let (before, after) = (figure(control.before), figure(control.after));
    let is_so = if control.is_so { "yes" } else { "no" };
    format!("| {} | {} | {before} | {after} | {} | {is_so} |\n", control.change, control.figure, control.claim)
}

/// Four digits that count.
fn figure(value: f64) -> String {
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 3) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_four_digits_that_count() {
        assert_eq!([2.234, 47.24, 735.71, 24960.4, 0.72].map(figure), ["2.234", "47.24", "735.7", "24960", "0.720"]);
    }
}
