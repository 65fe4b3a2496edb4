//! The table of a run: the figure that each workload is about.

use crate::FLAGSHIP;
use crate::board::{Board, Setting};
use crate::row::{QUEUES, Unit, main_metric, main_unit};
use ondeck_kit::Grid;
use ondeck_kit::wording::{broken, three_digits, wrap};

/// What stands beside the mark of settings whose seeds fall into two groups.
const BISTABLE: &str = "bistable: the seeds fall into two groups, so the median says little";
/// A column is hardly wider than its figures if the name above them is not wider than this.
const NAME_WIDTH: usize = 9;

/// The table, at most `width` columns wide where that is possible.
pub(super) fn table(board: &Board, width: usize) -> String {
    let has_one_thread = board.settings.iter().any(|setting| setting.threads == 1);
    let has_more = board.settings.iter().any(|setting| setting.threads > 1);
    let mut detail = if has_one_thread && has_more { Detail::Relative } else { Detail::Plain };
    let mut grid = main_grid(board, detail);
    if grid.width() > width {
        detail = Detail::Plain;
        grid = main_grid(board, detail);
    }
    let title = wrap("", &units(board), width);
    let legend: String = legend(board, detail).iter().map(|(mark, text)| wrap(mark, text, width)).collect();
    format!("{title}{}{legend}", grid.render(width))
}

/// What the main figures are, in which units, of how many rounds.
pub(super) fn units(board: &Board) -> String {
    let rounds = if board.rounds == 1 { "one round".to_string() } else { format!("median of {} rounds", board.rounds) };
    let mut units: Vec<Unit> = Vec::new();
    for unit in board.settings.iter().map(|setting| main_unit(&setting.workload)) {
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let units: Vec<String> = units.iter().map(|unit| format!("{} ({})", unit.meaning, unit.name)).collect();
    format!("Measured in {}; {rounds}", units.join(", "))
}

/// The marks in the main table and what they mean; only those that can occur.
fn legend(board: &Board, detail: Detail) -> Vec<(&'static str, &'static str)> {
    let best = match board.rounds {
        1 => "best of its row",
        _ => "best of its row, or perhaps as good: the rounds disagree (~ in the ratio)",
    };
    let mut legend = vec![(" *  ", best)];
    if detail == Detail::Relative {
        legend.push((" %  ", "relative to the same lock with 1 thread"));
    }
    if board.has_bistable_cell() {
        legend.push((" ?  ", BISTABLE));
    }
    if board.settings.iter().any(|setting| board.has_queues(setting)) {
        legend.push((" !  ", QUEUES));
    }
    legend
}

/// How much a cell of the main table says.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    /// The figure and its mark.
    Plain,
    /// Also the part of one thread's throughput.
    Relative,
}

fn main_grid(board: &Board, detail: Detail) -> Grid {
    let has_ratio =
        board.locks.iter().any(|lock| lock == FLAGSHIP) && board.locks.iter().any(|lock| board.is_peer(lock));
    let ratio = has_ratio.then(|| "ondeck /\nbest peer".to_string());
    let mut grid = Grid::new(["workload", "threads", "unit"], lock_heads(board).chain(ratio)).grouped();
    for setting in &board.settings {
        let unit = main_unit(&setting.workload).name.to_string();
        let best = board.best(setting, |_| true);
        let cells = board.locks.iter().map(|lock| main_cell(board, (setting, lock), best, detail));
        let names = [setting.workload.clone(), board.threads_cell(setting), unit];
        grid.row(names.into_iter().chain(cells).chain(has_ratio.then(|| ratio_cell(board, setting))));
    }
    grid
}

/// The names of the locks above their columns.
fn lock_heads(board: &Board) -> impl Iterator<Item = String> {
    board.locks.iter().map(|lock| broken(lock, NAME_WIDTH))
}

fn main_cell(board: &Board, (setting, lock): (&Setting, &str), best: Option<&str>, detail: Detail) -> String {
    let metric = main_metric(&setting.workload);
    let Some(spread) = board.spread(setting, lock, metric) else { return "-".to_string() };
    let shown = spread.median / main_unit(&setting.workload).size;
    let mark = match () {
        () if spread.is_bistable => "?",
        () if is_among_best(board, (setting, lock), best) => "*",
        () => " ",
    };
    let mut cell = format!("{}{mark}", three_digits(shown));
    if detail == Detail::Relative {
        let relative = board.relative_to_one_thread(setting, lock);
        cell += &relative.map_or("     ".to_string(), |ratio| format!("{:>4.0}%", ratio.median * 100.0));
    }
    cell
}

/// Whether the lock is the best of its row or cannot be told from it.
pub(super) fn is_among_best(board: &Board, (setting, lock): (&Setting, &str), best: Option<&str>) -> bool {
    match best {
        Some(best) if best == lock => board.locks.len() > 1,
        Some(best) => {
            board.ratio((setting, lock), (setting, best)).is_some_and(|ratio| ratio.rounds > 1 && !ratio.is_clear())
        }
        None => false,
    }
}

fn ratio_cell(board: &Board, setting: &Setting) -> String {
    let best = board.best(setting, |lock| board.is_peer(lock));
    let ratio = best.and_then(|peer| board.ratio((setting, FLAGSHIP), (setting, peer)));
    match ratio {
        Some(ratio) if ratio.rounds > 1 && !ratio.is_clear() => format!("~ {:.2}", ratio.median),
        Some(ratio) => format!("{:.2}", ratio.median),
        None => "-".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::main_table::MainTable;
    use crate::row::Row;

    /// Two rounds; std halves with 2 threads, ondeck does not.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for round in 0..2 {
            let noise = 1.0 + f64::from(round) / 100.0;
            for (lock, threads, speed) in [("ondeck", 1, 60e6), ("std", 1, 60e6), ("ondeck", 2, 57e6), ("std", 2, 9e6)]
            {
                let row =
                    Row { workload: "mutex-contention".into(), lock: lock.into(), threads, round, ..Row::default() };
                let row = Row { ops_per_s: Some(speed * noise), cpus: Some(1.5), wait_max_ns: Some(2e6), ..row };
                rows.push(row);
            }
            let row = Row { workload: "handoff-fast".into(), lock: "std".into(), threads: 2, round, ..Row::default() };
            rows.push(Row { ns_per_op: Some(158.0), ..row });
        }
        rows
    }

    fn markdown_of(board: &Board) -> String {
        crate::markdown::figures(&MainTable::new(String::new(), board), board)
    }

    #[test]
    fn more_threads_than_simulated_cpus_are_marked_with_the_reason() {
        let rows = rows();
        let text = |cpus| table(&Board::new(&rows, &Catalogue::default()).on_simulated(cpus), 100);
        let marked = text(Some(1));
        assert!(marked.contains(" 2!  ") && marked.contains(" !  more threads than simulated CPUs"), "{marked}");
        assert!(!marked.contains(" 1!  "), "{marked}");
        assert!(!text(Some(2)).contains('!') && !text(None).contains('!'));
        let markdown = markdown_of(&Board::new(&rows, &Catalogue::default()).on_simulated(Some(1)));
        assert!(markdown.contains("| 2! |") && markdown.contains("! more threads than simulated CPUs"), "{markdown}");
    }

    #[test]
    fn the_table_says_who_is_best_and_by_how_much() {
        let rows = rows();
        let board = Board::new(&rows, &Catalogue::new(&["mutex-contention"], &["ondeck", "std"], &["std"]));
        let text = table(&board, 100);
        assert!(text.contains("57.3*  95%  9.04   15%       6.33\n"), "{text}");
        assert!(text.contains(" handoff-fast      2        ns"), "{text}");
    }

    #[test]
    fn lower_bounds_and_two_states_are_marked() {
        let mut rows = rows();
        rows.extend(rows.clone().into_iter().filter(|row| row.round == 0).map(|row| Row { round: 2, ..row }));
        for row in &mut rows {
            row.platform = "sim".into();
            if row.lock == "std" && row.threads == 2 {
                row.at_least = "wait_max_ns".into();
                row.ops_per_s = row.ops_per_s.map(|speed| speed * [1.0, 4.0, 1.0][row.round as usize]);
            }
        }
        let text = table(&Board::new(&rows, &Catalogue::default()), 100);
        for shown in ["9.00?  15%", " ?  bistable: "] {
            assert!(text.contains(shown), "no {shown:?} in {text}");
        }
        let text = markdown_of(&Board::new(&rows, &Catalogue::default()));
        for shown in ["/ >2.00 ms |", "&gt; the measurement ended", "(bistable, 9.00 to 36.4)"] {
            assert!(text.contains(shown), "no {shown:?} in {text}");
        }
    }

    #[test]
    fn the_default_set_fits_120_columns_with_its_percentages() {
        let locks = ["ondeck", "std", "parking-lot", "pthread", "go-tristate-futex", "go-spinbit"];
        let mut rows = Vec::new();
        for (lock, threads) in locks.iter().flat_map(|lock| [(lock, 1), (lock, 64)]) {
            let row = Row { workload: "sections/cs20-out60".into(), lock: lock.to_string(), threads, ..Row::default() };
            rows.push(Row { ops_per_s: Some(f64::from(threads + 10) * 1e6), ..row });
        }
        let text = table(&Board::new(&rows, &Catalogue::new(&[], &locks, &["std"])), 120);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert_eq!(text.matches("sections").count(), 1, "the table is not cut in two: {text}");
        assert!(text.contains("74.0* 673%"), "{text}");
    }

    #[test]
    fn narrow_terminals_lose_the_percentages_first() {
        let rows = rows();
        let board = Board::new(&rows, &Catalogue::new(&[], &[], &["std"]));
        for width in [45, 50, 60, 80, 120] {
            let text = main_grid(&board, Detail::Plain).render(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
        assert!(!table(&board, 60).contains('%'));
        assert!(table(&board, 80).contains('%'));
    }
}
