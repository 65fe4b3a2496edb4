//! The report as Markdown, for an issue or a pull request: all its figures, in tables.

use crate::board::{Board, Spread};
use crate::catalogue::Catalogue;
use crate::compare::compare;
use crate::document::{Document, Origin};
use crate::inputs::Source;
use crate::main_table::{MainTable, grid};
use crate::row::{
    CPUS, CTX_SWITCHES_PER_S, JAIN, MIN_SHARE, Metric, STARVE_MAX_NS, STARVE_P90_NS, STREAK_P90_NS, WAIT_MAX_NS,
    WAIT_P50_NS, WAIT_P99_NS, WAIT_P999_NS,
};
use ondeck_kit::Grid;
use ondeck_kit::wording::{count, duration_ns, escape, three_digits, times};

/// The text: what the figures say, the figures, and where they come from.
pub fn markdown(sources: &[Source], document: &Document, catalogue: &Catalogue) -> String {
    let mut text = format!("## {}\n", escape(&document.title));
    for finding in &document.findings {
        text += &format!("\n**{}**\n\n", escape(&finding.question));
        text.extend(finding.sentences.iter().map(|sentence| format!("- {}\n", escape(sentence))));
    }
    for (source, table) in sources.iter().zip(&document.tables) {
        text += &format!("\n### {}\n{}", escape(&table.title), figures(table, &source.board(catalogue)));
    }
    if let [first, others @ ..] = sources {
        text.extend(others.iter().map(|other| changes(first, other)));
    }
    text += "\n<details><summary>Where the figures come from</summary>\n";
    text.extend(document.origins.iter().map(origin));
    text + "\n</details>\n"
}

/// A figure, and how it is written.
type FormattedFigure = (Metric, fn(f64) -> String);

/// A table of some figures that belong together.
struct Topic {
    title: &'static str,
    figures: &'static [FormattedFigure],
}

/// What stands beside figures with the mark of a lower bound.
const CUT: &str = "the measurement ended before the wait did, so the wait was longer";

/// What stands in the tables beside the figure that a workload is about, which has a table of its own.
const TOPICS: [Topic; 4] = [
    Topic {
        title: "CPUs used / context switches a second",
        figures: &[(CPUS, three_digits), (CTX_SWITCHES_PER_S, count)],
    },
    Topic {
        title: "Waits: the time that 50 % / 99 % / 99.9 % of them stayed within / the longest",
        figures: &[
            (WAIT_P50_NS, duration_ns),
            (WAIT_P99_NS, duration_ns),
            (WAIT_P999_NS, duration_ns),
            (WAIT_MAX_NS, duration_ns),
        ],
    },
    Topic {
        title: "Smallest share of a thread, relative to an even share / Jain's index of the shares",
        figures: &[(MIN_SHARE, times), (JAIN, times)],
    },
    Topic {
        title: "Streaks: the time that 90 % of them stayed within / starve gaps: the same / the longest gap",
        figures: &[(STREAK_P90_NS, duration_ns), (STARVE_P90_NS, duration_ns), (STARVE_MAX_NS, duration_ns)],
    },
];

pub(crate) fn figures(MainTable { units, grid, legend, .. }: &MainTable, board: &Board) -> String {
    let main = format!("\n{units}\n\n{}\n{}\n", grid.markdown(), escape(legend));
    let topics = TOPICS.iter().map(|topic| {
        let grid = topic.grid(board);
        if grid.is_empty() {
            return String::new();
        }
        let (cells, title) = (grid.markdown(), topic.title);
        let legend = if cells.contains('>') { format!("\n&gt; {CUT}\n") } else { String::new() };
        format!("\n{title}\n\n{cells}{legend}")
    });
    std::iter::once(main).chain(topics).collect()
}

impl Topic {
    /// The settings that have one of the figures, with a column for each lock.
    fn grid(&self, board: &Board) -> Grid {
        grid(board, &["workload", "threads"], |setting, locks| {
            let cell = |lock: &&str| {
                let figures = self.figures.iter().map(|(metric, _)| board.spread(setting, lock, *metric));
                self.cell(&figures.collect::<Vec<Option<Spread>>>())
            };
            let cells = locks.iter().map(cell).collect();
            (vec![setting.workload.clone(), board.threads_cell(setting)], cells)
        })
    }

    /// `None` of no figures.
    fn cell(&self, figures: &[Option<Spread>]) -> Option<String> {
        if figures.iter().all(Option::is_none) {
            return None;
        }
        let written = figures
            .iter()
            .zip(self.figures)
            .map(|(figure, (_, write))| figure.map_or("-".to_string(), |it| it.written(write)));
        Some(written.collect::<Vec<String>>().join(" / "))
    }
}

fn changes(first: &Source, other: &Source) -> String {
    let comparison = compare(&first.results.rows, &other.results.rows);
    let heading = escape(&format!("{} to {}", first.label, other.label));
    format!("\n### {heading}\n\n{}", comparison.markdown(&first.label, &other.label))
}

fn origin(origin: &Origin) -> String {
    let mut facts = Grid::new([&origin.label], [""]).with_texts(1);
    origin.facts.iter().for_each(|(name, value)| facts.row([name.clone(), value.clone()]));
    let mut text = format!("\n{}", facts.markdown());
    if !origin.command.is_empty() {
        text += &format!("\n{}\n", fenced(&origin.command));
    }
    if !origin.warnings.is_empty() {
        text += "\nWarnings:\n\n";
        text.extend(origin.warnings.iter().map(|warning| format!("- {}\n", escape(warning))));
    }
    text
}

/// A block of code whose fence is longer than any row of backticks in it.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}sh\n{code}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Results;
    use crate::row::Row;

    fn row(lock: &str, threads: u32, round: u32, mega: f64) -> Row {
        let row = Row { workload: "w".into(), lock: lock.into(), threads, round, ..Row::default() };
        Row { ops_per_s: Some(mega * 1e6), ..row }
    }

    fn text(rows: Vec<Row>) -> String {
        let sources = [Source {
            label: "a|b.csv".into(),
            results: Results { rows, command: "ondeck bench --out '```'".into(), ..Results::default() },
            notes: vec!["odd_column".into()],
        }];
        let catalogue = Catalogue::new(&[], &[], &["std"]);
        markdown(&sources, &Document::new(&sources, &catalogue), &catalogue)
    }

    #[test]
    fn the_best_and_what_cannot_be_told_from_it_are_marked() {
        let mut rows = Vec::new();
        for (round, ondeck, std, pthread) in [(0, 10.0, 10.5, 4.0), (1, 10.2, 10.1, 5.0)] {
            rows.extend([
                row("ondeck", 2, round, ondeck),
                row("std", 2, round, std),
                row("pthread", 2, round, pthread),
            ]);
            rows.push(row("std", 1, round, 20.0));
        }
        let text = text(rows);
        let line = "| w | 2 | M/s | 10.1\\* (10.0 to 10.2) | 10.3\\* 52% (10.1 to 10.5) | 4.50 (4.00 to 5.00) |\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("| w | 1 | M/s | - | 20.0\\* (20.0 to 20.0) | - |\n"), "{text}");
    }

    #[test]
    fn one_round_of_one_lock_has_neither_mark_nor_range() {
        let text = text(vec![row("std", 2, 0, 10.0)]);
        assert!(text.contains("| w | 2 | M/s | 10.0 |\n"), "{text}");
        assert!(!text.contains("CPUs used") && !text.contains("Waits"), "{text}");
    }

    #[test]
    fn absent_figures_are_dashes() {
        let rows = vec![
            Row { cpus: Some(1.5), wait_max_ns: Some(2e6), ..row("std", 2, 0, 10.0) },
            Row { streak_p90_ns: Some(7.0), ops_per_s: None, ..row("ondeck", 2, 0, 1.0) },
        ];
        let text = text(rows);
        for line in
            ["| w | 2 | M/s | - | 10.0\\* |\n", "| w | 2 | - | 1.50 / - |\n", "| w | 2 | - | - / - / - / 2.00 ms |\n"]
        {
            assert!(text.contains(line), "no {line} in {text}");
        }
        assert!(text.contains("| w | 2 | 7.00 ns / - / - | - |\n"), "{text}");
    }

    #[test]
    fn names_are_nothing_but_names() {
        let rows = vec![row("<script>|`x`\n# @you **b** [l](u) &lt;", 2, 0, 10.0)];
        let text = text(rows);
        let name = "&lt;script>\\|\\`x\\` \\# @<!-- -->you \\*\\*b\\*\\* \\[l\\](u) &amp;lt;";
        assert!(text.contains(&format!("| workload | threads | unit | {name} |\n")), "{text}");
        assert!(!text.contains("<script") && !text.contains("[l]("), "{text}");
        assert!(text.contains("| a\\|b.csv |  |\n") && text.contains("- odd\\_column\n"), "{text}");
        assert!(text.contains("\n````sh\nondeck bench --out '```'\n````\n"), "{text}");
        for table_line in text.lines().filter(|line| line.starts_with("| w ")) {
            assert_eq!(table_line.replace("\\|", "").matches('|').count(), 5, "{table_line}");
        }
    }

    /// 20 workloads, each with a lock of its own: 20 lines instead of 400 cells.
    #[test]
    fn locks_that_never_meet_have_a_line_each() {
        let rows = (0..20).map(|n| Row { workload: format!("w{n}"), ..row(&format!("lock{n}"), 2, 0, 10.0) });
        let text = text(rows.map(|row| Row { cpus: Some(2.0), ..row }).collect());
        assert!(text.contains("| workload | threads | unit | lock | figure |\n|---|---|---|---|--:|\n"), "{text}");
        assert!(text.contains("| w7 | 2 | M/s | lock7 | 10.0\\* |\n"), "{text}");
        assert!(text.contains("| w7 | 2 | lock7 | 2.00 / - |\n"), "{text}");
        assert_eq!(text.matches("| M/s |").count(), 20, "{text}");
    }

    #[test]
    fn every_row_has_its_cell() {
        let mut rows = Vec::new();
        for (lock, workload) in (0..300).flat_map(|lock| [(lock, "a"), (lock, "b")]) {
            rows.push(Row { workload: workload.into(), ..row(&format!("lock{lock}"), 2, 0, f64::from(lock) + 0.5) });
        }
        let text = text(rows);
        for workload in ["a", "b"] {
            let line = text.lines().find(|line| line.starts_with(&format!("| {workload} | 2 | M/s |"))).unwrap();
            assert_eq!(line.matches(" | ").count(), 302);
            assert!(line.contains(" | 0.500 |") && line.ends_with(" | 300\\* |"), "{line}");
        }
    }
}
