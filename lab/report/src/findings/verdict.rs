//! The first thing to know, in one sentence that fits the first chart.

use super::speed::Lead;
use crate::FLAGSHIP;
use crate::board::{Board, PHASES, Setting};
use crate::catalogue::Catalogue;
use crate::inputs::Source;
use crate::row::{is_simulated, main_metric};
use ondeck_kit::wording::{list_some, plain, threads, times};

/// So many locks that are level are named.
const NAMED: usize = 3;

/// Who is ahead where most threads want the lock. `None` where that cannot be said, and of several files.
pub(crate) fn verdict(sources: &[Source], catalogue: &Catalogue) -> Option<String> {
    let [source] = sources else { return None };
    let board = source.board(catalogue);
    let setting = most_contended(&board)?;
    let simulated = if source.results.rows.iter().all(is_simulated) { ", simulated" } else { "" };
    let place = format!("With {} ({}{simulated})", threads(setting.threads), setting.workload);
    let said = match Lead::of(&board, setting) {
        Some(lead) => ahead(&board, setting, &lead),
        None => alone(&board, setting)?,
    };
    Some(plain(&format!("{place}, {said}.")))
}

/// The most threads of the workload that the first chart shows, or of the only one that more than one thread had.
fn most_contended<'a>(board: &'a Board) -> Option<&'a Setting> {
    let is_about_throughput = |settings: &&[Setting]| {
        let workload = settings[0].workload.as_str();
        main_metric(workload).more_is_better && !PHASES.contains(&workload)
    };
    let is_contended = |settings: &&[Setting]| settings.last().is_some_and(|setting| setting.threads > 1);
    let contended: Vec<&[Setting]> = board.workloads().filter(is_about_throughput).filter(is_contended).collect();
    let shown = contended.iter().find(|settings| settings.len() > 1);
    let only = || (contended.len() == 1).then(|| &contended[0]);
    shown.or_else(only)?.last()
}

/// Who is fastest and by how much; and what the flagship does, if that is another.
fn ahead(board: &Board, setting: &Setting, lead: &Lead) -> String {
    let level: Vec<&str> = std::iter::once(lead.best).chain(lead.level.iter().copied()).collect();
    let names: Vec<String> = level.iter().map(|lock| (*lock).to_string()).collect();
    let mut said = match (lead.level.is_empty(), lead.next) {
        (true, Some((next, ratio))) => {
            let once = if ratio.rounds == 1 { " in the only round" } else { "" };
            format!("{} is fastest{once}: {} times the throughput of the next, {next}", lead.best, times(ratio.median))
        }
        (_, Some((next, ratio))) => {
            let of_next = format!("{} has {} times the throughput of {next}", lead.best, times(ratio.median));
            format!("{} are level; {of_next}", list_some(&names, NAMED))
        }
        (_, None) => format!("{} are level", list_some(&names, NAMED)),
    };
    let is_next = lead.next.is_some_and(|(next, _)| next == FLAGSHIP);
    let is_named = level.contains(&FLAGSHIP) || is_next;
    let of_best = if is_named { None } else { board.ratio((setting, FLAGSHIP), (setting, lead.best)) };
    if let Some(ratio) = of_best {
        said += &format!("; {FLAGSHIP} has {} times that of {}", times(ratio.median), lead.best);
    }
    said
}

/// How much of one thread's throughput the only lock keeps.
fn alone(board: &Board, setting: &Setting) -> Option<String> {
    let lock = board.best(setting, |_| true)?;
    let kept = board.relative_to_one_thread(setting, lock)?;
    Some(format!("{lock} does {} times what one thread does", times(kept.median)))
}
