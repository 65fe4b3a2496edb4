//! The figure that each workload is about, with the spread over rounds: the table of a page, and the first one of a report
//! in Markdown.

use crate::board::{Board, Setting, Spread};
use crate::row::QUEUES;
use crate::row::{main_metric, main_unit};
use crate::run_table::{is_among_best, units};
use ondeck_kit::Grid;
use ondeck_kit::wording::three_digits;

/// The table of one file.
#[derive(Clone, Debug)]
pub struct MainTable {
    /// Above the table: of which file it is, if there are several.
    pub title: String,
    /// What its figures are, of how many rounds.
    pub units: String,
    /// A row for each workload and number of threads.
    pub grid: Grid,
    /// What the marks in it mean.
    pub legend: String,
}

impl MainTable {
    /// Of what is on the board.
    pub fn new(title: String, board: &Board) -> MainTable {
        MainTable { title, units: units(board), grid: main_grid(board), legend: legend(board) }
    }
}

/// The marks in the table and what they mean; only those that can occur.
fn legend(board: &Board) -> String {
    let one_thread = board.settings.iter().any(|setting| setting.threads == 1);
    let has_queues = board.settings.iter().any(|setting| board.has_queues(setting));
    let queues = format!("! {QUEUES}");
    let parts = [
        (board.locks.len() > 1).then_some("* best of its row"),
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

/// A table in which only one of so many cells says something is hard to read, and long.
const MOST_EMPTY: usize = 8;

/// The settings of which there is something to write. `row` gives the names of a setting and what is written of each of
/// these locks there.
pub(super) fn grid(
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
