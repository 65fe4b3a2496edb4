//! The first thing to know, in one sentence that fits the first chart.

use super::speed::Lead;
use crate::FLAGSHIP;
use crate::board::{Board, Setting};
use crate::catalogue::Catalogue;
use crate::inputs::{Source, is_simulated};
use crate::row::main_metric;
use crate::wording::{list_some, plain, threads, times};

/// So many locks that are level are named.
const NAMED: usize = 3;

/// Who is ahead where most threads want the lock. `None` of several files, where the changes say more, and where no
/// workload is about the throughput of several threads.
pub(crate) fn verdict(sources: &[Source], catalogue: &Catalogue) -> Option<String> {
    let [source] = sources else { return None };
    let board = source.board(catalogue);
    let setting = most_contended(&board)?;
    let machine = if source.results.rows.iter().all(is_simulated) { " (simulated)" } else { "" };
    let place = format!("With {}{machine}", threads(setting.threads));
    let said = match Lead::of(&board, setting) {
        Some(lead) => format!("{place}, {}", ahead(&board, setting, &lead)),
        None => format!("{place}, {}", alone(&board, setting)?),
    };
    Some(plain(&said))
}

/// The workload of the first chart of throughput, with most threads.
fn most_contended<'a>(board: &'a Board) -> Option<&'a Setting> {
    let is_about_throughput = |settings: &&[Setting]| main_metric(&settings[0].workload).more_is_better;
    let last = |settings: &[Setting]| settings.len() - 1;
    let mut workloads = board.workloads().filter(is_about_throughput).map(|settings| &settings[last(settings)]);
    workloads.find(|setting| setting.threads > 1)
}

/// Who is fastest and by how much; and what the flagship does, if that is another.
fn ahead(board: &Board, setting: &Setting, lead: &Lead) -> String {
    let level: Vec<String> = std::iter::once(lead.best).chain(lead.level.iter().copied()).map(String::from).collect();
    let mut said = match (lead.level.is_empty(), lead.next) {
        (true, Some((next, ratio))) => {
            let once = if ratio.rounds == 1 { ", in one round" } else { "" };
            format!("{} is fastest{once}: {} times the throughput of the next, {next}", lead.best, times(ratio.median))
        }
        (_, Some((next, ratio))) => {
            let of_next = format!("{} has {} times the throughput of {next}", lead.best, times(ratio.median));
            format!("{} are level; {of_next}", list_some(&level, NAMED))
        }
        (_, None) => format!("{} are level", list_some(&level, NAMED)),
    };
    let is_named = level.iter().take(NAMED).any(|lock| lock == FLAGSHIP);
    let is_next = lead.next.is_some_and(|(next, _)| next == FLAGSHIP);
    if !is_named && !is_next {
        let of_best = board.ratio((setting, FLAGSHIP), (setting, lead.best));
        said += &of_best.map_or(String::new(), |ratio| format!("; {FLAGSHIP} has {} of it", times(ratio.median)));
    }
    said + "."
}

/// How much of one thread's throughput the only lock keeps.
fn alone(board: &Board, setting: &Setting) -> Option<String> {
    let lock = board.best(setting, |_| true)?;
    let kept = board.relative_to_one_thread(setting, lock)?;
    Some(format!("{lock} does {} times what one thread does.", times(kept.median)))
}
