//! The tables, as Markdown.

use super::controls::Control;
use super::{Declared, Group, Limit, Row, errors};
use ondeck_report::wording::whole_percent;

/// A table: the headings, then the cells of each row.
pub(super) fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.map(|row| line(&row)).collect();
    format!("{}|{}\n{rows}", line(&head.map(str::to_owned)), "---|".repeat(N))
}

/// A summary, then a table for each group, then the controls.
pub(super) fn tables(groups: &[Group], all: &[Control]) -> String {
    let each: String = groups.iter().map(|group| rows(&group.title, group.expected, &group.rows)).collect();
    format!("{}{each}{}", summary(groups), controls(all))
}

fn summary(groups: &[Group]) -> String {
    let head = ["group", "rows", "limit", "median error", "largest", "limit kept"];
    let line = |group: &Group| {
        let (median, most) = errors(&group.rows);
        let limit = match group.limit {
            Limit::Each(most) => format!("each {}", whole_percent(most)),
            Limit::MedianAndMost(median, most) => {
                format!("median {}, each {}", whole_percent(median), whole_percent(most))
            }
        };
        let is_declared = (group.declared == Declared::Held) == group.holds();
        let kept = yes_or_no(group.holds()) + if is_declared { "" } else { ", against what is declared" };
        [group.title.clone(), group.rows.len().to_string(), limit, percent(median), percent(most), kept]
    };
    table(head, groups.iter().map(line))
}

fn controls(all: &[Control]) -> String {
    let head = ["change", "figure", "as it is", "changed", "must be so", "is so"];
    let line = |control: &Control| {
        let Control { change, figure: of, before, after, claim, is_so, .. } = *control;
        [change.into(), of.into(), figure(before), figure(after), claim.into(), yes_or_no(is_so)]
    };
    format!("\n### T6 negative controls\n\n{}", table(head, all.iter().map(line)))
}

pub(super) fn rows(title: &str, expected: &str, rows: &[Row]) -> String {
    let line = |row: &Row| {
        let expected = format!("{} {}", figure(row.expected), row.unit);
        [row.what.clone(), expected, figure(row.simulated), format!("{:+.1} %", row.error() * 100.0)]
    };
    format!("\n### {title}\n\n{}", table(["row", expected, "simulated", "error"], rows.iter().map(line)))
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
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
