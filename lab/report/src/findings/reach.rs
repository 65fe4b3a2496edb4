//! How far the figures reach: what the rounds can tell, and how far simulated seeds lie apart.

use crate::board::{Board, Setting, Spread};
use crate::inputs::Source;
use crate::row::main_unit;
use ondeck_kit::wording::{counted, list_some, threads, three_digits};

/// So many figures on which seeds do not agree.
const NAMED_CELLS: usize = 4;
/// From this ratio on we say that seeds do not agree.
const FAR: f64 = 1.1;

/// What a run of one round cannot say.
pub(super) const ONE_ROUND: &str = "One round cannot show which differences are noise. Use --rounds 5 or more.";

/// What so many rounds can and cannot tell, and whether there are warnings.
pub(super) fn reach(source: &Source, board: &Board) -> Vec<String> {
    let rounds = match board.rounds {
        // As when the machine ran at another speed in all of them.
        0 => "None: no round counts.".to_string(),
        1 => ONE_ROUND.to_string(),
        // Of two equal locks, each further round agrees with the first with probability 1/2.
        n => {
            let by_chance =
                if n <= 20 { format!("1 of {} cases", 1_u32 << (n - 1)) } else { format!("1 of 2^{} cases", n - 1) };
            format!(
                "A lock counts as ahead if it is ahead in each of {n} rounds. For two equal locks, this happens by chance in \
                 {by_chance}."
            )
        }
    };
    let n_warnings = source.results.warnings.len() + source.notes.len();
    let warnings =
        (n_warnings > 0).then(|| format!("The figures came with {}; see the end.", counted(n_warnings, "warning")));
    std::iter::once(rounds).chain(between_seeds(board)).chain(warnings).collect()
}

/// How far the seeds of simulated runs lie apart: nothing but chance is between them.
pub(super) fn between_seeds(board: &Board) -> Option<String> {
    let cells =
        board.settings.iter().flat_map(|setting| board.locks_in(setting).into_iter().map(move |lock| (setting, lock)));
    let spread = |(setting, lock)| Some((setting, lock, board.seeds(setting, lock)?));
    let mut cells: Vec<(&Setting, &str, Spread)> = cells.filter_map(spread).collect();
    cells.sort_by(|a, b| b.2.width().total_cmp(&a.2.width()));
    let n_far = cells.iter().filter(|cell| cell.2.width() >= FAR).count();
    let (_, _, widest) = cells.first()?;
    if n_far == 0 {
        return Some(format!("No figure differs between seeds by more than {:.1} %.", (widest.width() - 1.0) * 100.0));
    }
    let told = |(setting, lock, spread): &(&Setting, &str, Spread)| {
        let unit = main_unit(&setting.workload);
        let [low, high] = [spread.low, spread.high].map(|value| three_digits(value / unit.size));
        let bistable = if spread.is_bistable { ", bistable" } else { "" };
        format!("{lock} {low} to {high} {} ({}, {}{bistable})", unit.name, setting.workload, threads(setting.threads))
    };
    let told: Vec<String> = cells[..n_far].iter().map(told).collect();
    let (of, told) = (cells.len(), list_some(&told, NAMED_CELLS));
    Some(format!("Seeds differ by 10 % or more in {n_far} of {of} figures: {told}."))
}
