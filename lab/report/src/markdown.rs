//! The report as Markdown, for an issue or a pull request: all its figures, in tables.

use crate::board::{Board, Setting, Spread};
use crate::catalogue::Catalogue;
use crate::compare::compare;
use crate::document::{Document, Origin};
use crate::inputs::Source;
use crate::row::{
    CPUS, CTX_SWITCHES_PER_S, JAIN, MIN_SHARE, Metric, QUEUES, STARVE_MAX_NS, STARVE_P90_NS, STREAK_P90_NS,
    WAIT_MAX_NS, WAIT_P50_NS, WAIT_P99_NS, WAIT_P999_NS, main_metric, main_unit,
};
use crate::run_tables::{CUT, is_among_best, units};
use crate::timeline::Lanes;
use ondeck_kit::Grid;
use ondeck_kit::wording::{count, duration_ns, escape, three_digits, times};

/// The text: what the figures say, the figures, and where they come from.
pub fn markdown(sources: &[Source], document: &Document, catalogue: &Catalogue) -> String {
    let mut text = format!("## {}\n", escape(&document.title));
    for finding in &document.findings {
        text += &format!("\n**{}**\n\n", escape(&finding.question));
        text.extend(finding.sentences.iter().map(|sentence| format!("- {}\n", escape(sentence))));
    }
    text.extend(document.timelines.iter().map(timeline));
    for source in sources {
        let heading = if sources.len() > 1 { format!("Figures of {}", source.label) } else { "Figures".to_string() };
        text += &format!("\n### {}\n{}", escape(&heading), figures(&source.board(catalogue)));
    }
    if let [first, others @ ..] = sources {
        text.extend(others.iter().map(|other| changes(first, other)));
    }
    text += "\n<details><summary>Where the figures come from</summary>\n";
    text.extend(document.origins.iter().map(origin));
    text + "\n</details>\n"
}

/// What a trace shows, in words and numbers.
fn timeline(lanes: &Lanes) -> String {
    let [title, caption, text] = [&lanes.title, &lanes.caption, &lanes.text].map(|text| escape(text));
    format!("\n### {title}\n\n{caption}\n\n{}\n{text}\n", lanes.table().markdown())
}

/// A figure, and how it is written.
type FormattedFigure = (Metric, fn(f64) -> String);

/// A table of some figures that belong together.
struct Topic {
    title: &'static str,
    figures: &'static [FormattedFigure],
}

/// A table in which only one of so many cells says something is hard to read, and long.
const MOST_EMPTY: usize = 8;

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

pub(crate) fn figures(board: &Board) -> String {
    let main = format!("\n{}\n\n{}\n{}\n", units(board), main_grid(board).markdown(), legend(board));
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

fn legend(board: &Board) -> String {
    let one_thread = board.settings.iter().any(|setting| setting.threads == 1);
    let has_queues = board.settings.iter().any(|setting| board.has_queues(setting));
    let queues = format!("! {QUEUES}");
    let parts = [
        (board.locks.len() > 1).then_some("\\* best of its row"),
        (board.locks.len() > 1 && board.rounds > 1).then_some("or perhaps as good: the rounds disagree"),
        one_thread.then_some("% relative to the same lock with 1 thread"),
        (board.rounds > 1).then_some("in parentheses the lowest and the highest round"),
        has_queues.then_some(&queues),
    ];
    parts.into_iter().flatten().collect::<Vec<&str>>().join("; ")
}

/// The figure that each workload is about, with a column for each lock.
fn main_grid(board: &Board) -> Grid {
    grid(board, &["workload", "threads", "unit"], |setting, locks| {
        let (metric, unit) = (main_metric(&setting.workload), main_unit(&setting.workload));
        let best = board.best(setting, |_| true);
        let cell = |lock: &&str| {
            let spread = board.spread(setting, lock, metric)?;
            Some(main_cell(board, (setting, lock), best, scaled(spread, unit.size)))
        };
        let names = vec![setting.workload.clone(), board.threads_cell(setting), unit.name.to_string()];
        (names, locks.iter().map(cell).collect())
    })
}

fn scaled(spread: Spread, size: f64) -> Spread {
    Spread { median: spread.median / size, low: spread.low / size, high: spread.high / size, ..spread }
}

fn main_cell(board: &Board, (setting, lock): (&Setting, &str), best: Option<&str>, spread: Spread) -> String {
    let mark = if is_among_best(board, (setting, lock), best) { "*" } else { "" };
    let relative = board.relative_to_one_thread(setting, lock);
    let relative = relative.map_or(String::new(), |ratio| format!(" {}", percentage(ratio.median)));
    let range = match spread.rounds {
        1 => String::new(),
        _ if spread.is_bistable => {
            format!(" (bistable, {} to {})", three_digits(spread.low), three_digits(spread.high))
        }
        _ => format!(" ({} to {})", three_digits(spread.low), three_digits(spread.high)),
    };
    format!("{}{mark}{relative}{range}", three_digits(spread.median))
}

/// `95%`, and three digits of what no machine does.
fn percentage(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < 1e4 { format!("{percent:.0}%") } else { format!("{}%", three_digits(percent)) }
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

/// The settings of which there is something to write. `row` gives the names of a setting and what is written of each of
/// these locks there.
fn grid(
    board: &Board,
    leading: &[&str],
    row: impl Fn(&Setting, &[&str]) -> (Vec<String>, Vec<Option<String>>),
) -> Grid {
    let all: Vec<&str> = board.locks.iter().map(String::as_str).collect();
    if is_sparse(board) {
        let mut grid = Grid::new([leading, &["lock"]].concat(), ["figure"]);
        for setting in &board.settings {
            let locks = board.locks_in(setting);
            let (names, cells) = row(setting, &locks);
            for (lock, cell) in locks.iter().zip(cells).filter_map(|(lock, cell)| Some((lock, cell?))) {
                grid.row(names.iter().cloned().chain([lock.to_string(), cell]));
            }
        }
        return grid;
    }
    let mut grid = Grid::new(leading.iter().copied(), all.iter().copied());
    for setting in &board.settings {
        let (names, cells) = row(setting, &all);
        if cells.iter().any(Option::is_some) {
            grid.row(names.into_iter().chain(cells.into_iter().map(|cell| cell.unwrap_or("-".into()))));
        }
    }
    grid
}

/// Whether a column for each lock would leave most of a table empty: then each lock has a line in each setting.
fn is_sparse(board: &Board) -> bool {
    board.settings.len() * board.locks.len() > MOST_EMPTY * board.n_cells()
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
        markdown(&sources, &Document::new(&sources, &[], &catalogue), &catalogue)
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
