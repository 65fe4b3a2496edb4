//! The tables, as Markdown; between markers they are part of `docs/validation.md`.

use super::controls::Control;
use super::{Declared, Group, Limit, Row, Validation, unfitted};
use crate::docs::between_markers;
use crate::docs::table::{table, yes_or_no};
use std::fs;
use std::path::Path;

const PATH: &str = "docs/validation.md";

/// Writes the page's tables, or compares them.
pub(super) fn keep(root: &Path, validation: &Validation, is_check: bool) -> Result<(), String> {
    let page = fs::read_to_string(root.join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
    let marked = |page: &str, name: &str, text: &str| {
        let missing = || format!("{PATH}: no `<!-- {name} -->` and `<!-- /{name} -->`");
        between_markers(page, name, text).ok_or_else(missing)
    };
    let text = marked(&page, "rows", &tables(validation))?;
    let text = marked(&text, "not-fitted", &unfitted::section(&validation.unfitted))?;
    if text == page {
        return Ok(());
    }
    if is_check {
        return Err(format!("{PATH} is stale; `cargo xtask validate` writes it"));
    }
    fs::write(root.join(PATH), text).map_err(|error| format!("{PATH}: {error}"))
}

/// A summary, then a table for each group, then the controls.
fn tables(validation: &Validation) -> String {
    let groups: String = validation.groups.iter().map(group).collect();
    format!("\n{}{groups}{}\n", summary(&validation.groups), controls(&validation.controls))
}

pub(super) fn controls(all: &[Control]) -> String {
    let table = table(all)
        .column("change", |control| control.change)
        .column("figure", |control| control.figure)
        .column("as it is", |control| figure(control.before))
        .column("changed", |control| figure(control.after))
        .column("must be so", |control| control.claim)
        .column("is so", |control| yes_or_no(control.is_so));
    format!("\n### T6 negative controls\n\n{}", table.text())
}

fn summary(groups: &[Group]) -> String {
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let limit = |limit| match limit {
        Limit::Each(most) => format!("each {}", percent(most)),
        Limit::MedianAndMost(median, most) => format!("median {}, each {}", percent(median), percent(most)),
    };
    let kept = |group: &Group| {
        let is_declared = (group.declared == Declared::Held) == group.holds();
        yes_or_no(group.holds()).to_owned() + if is_declared { "" } else { ", against what is declared" }
    };
    table(groups)
        .column("group", |group| &group.title)
        .column("rows", |group| group.rows.len())
        .column("limit", |group| limit(group.limit))
        .column("median error", |group| format!("{:.1} %", group.errors().0 * 100.0))
        .column("largest", |group| format!("{:.1} %", group.errors().1 * 100.0))
        .column("limit kept", |group| kept(group))
        .text()
}

pub(super) fn group(group: &Group) -> String {
    rows(&group.title, group.expected, &group.rows)
}

pub(super) fn rows(title: &str, expected: &str, rows: &[Row]) -> String {
    let table = table(rows)
        .column("row", |row| &row.what)
        .column(expected, |row| format!("{} {}", figure(row.expected), row.unit))
        .column("simulated", |row| figure(row.simulated))
        .column("error", |row| format!("{:+.1} %", row.error() * 100.0));
    format!("\n### {title}\n\n{}", table.text())
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
