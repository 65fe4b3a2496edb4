//! The list for the terminal: what to do, which locks were waited for longest, by whom, and who held them meanwhile.

use crate::findings::{Findings, LongWait, findings, lock_order, of_lock};
use crate::names::{brief, lock_name, shown};
use crate::profile::{Lock, LockKind, Profile, Site};
use crate::thread_time;
use crate::words::{
    conditions, kind, longest, not_seen, nothing, other_locks, others, others_head, p99, percent, program, share,
    waited, waiting, waits, warnings,
};
use crate::wrappers::Tops;
use ondeck_kit::Grid;
use ondeck_kit::wording::{duration_ns, plain, wrap};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// So many locks are listed.
const MOST_LOCKS: usize = 10;
/// So many where none matters.
const MOST_QUIET: usize = 3;
/// So many of them are explained.
pub(crate) const MOST_EXPLAINED: usize = 3;
/// So many pairs of locks that are taken in both orders.
const MOST_ORDERS: usize = 5;
/// The columns of figures.
const FIGURES: [&str; 5] = ["share", "waits", "mean", "p99", "longest"];
/// Where a name has less room than this, those of functions go below.
const LEAST_NAME: usize = 22;
/// The same where names say who reads and who writes.
const LEAST_NAME_AND_ACCESS: usize = 36;
/// The widest that a column of names is useful: then a lock's name loses its line.
const MOST_NAME: usize = 60;

/// The column that decides which lock comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortColumn {
    /// Most waiting first.
    Share,
    /// Most waits first.
    Waits,
    /// The longest wait first.
    Longest,
    /// By the lock's name.
    Name,
}

/// What a run ends with: the verdict, the locks that matter, why threads wait for the first of them, and what else there
/// is. Lines are at most `width` columns long, if that is enough for the figures.
pub fn table(profile: &Profile, width: usize) -> String {
    sorted_table(profile, SortColumn::Share, width)
}

/// The same with the locks in another order.
pub fn sorted_table(profile: &Profile, column: SortColumn, width: usize) -> String {
    let found = findings(profile);
    let mut text = first(profile, &found, width);
    if let Some(nothing) = nothing(profile).filter(|_| found.is_nothing) {
        text.extend(nothing.lines().map(|line| wrap("", line, width)));
    }
    if let Some(waiting) = waiting(profile) {
        text += &format!("\n{}", wrap("", &waiting, width));
    }
    if let Some(times) = thread_time::sentence(profile, &Tops::new(profile)) {
        text += &format!("\n{}", wrap("", &times, width));
    }
    let listed = listed(profile, &found, column);
    if !listed.is_empty() {
        text += &format!("\n{}", rows(profile, &listed, !found.locks.is_empty(), width));
        if let Some(others) = other_locks(profile, &listed) {
            text += &wrap("", &others, width);
        }
    }
    text += &stacks(profile, &found.stacks, width);
    text += &orders(profile, &found, width);
    text += &causes(profile, &found, width);
    if let Some(conditions) = conditions(profile) {
        text += &format!("\n{}", wrap("", &conditions, width));
    }
    if let Some(not_seen) = not_seen(profile).filter(|_| found.is_nothing) {
        text += &format!("\n{}", wrap("", not_seen, width));
    }
    text + &noted(profile, width)
}

/// The first paragraph in one line, and its command in another.
pub(crate) fn verdict(profile: &Profile) -> String {
    first(profile, &findings(profile), usize::MAX).trim_end().to_owned()
}

/// The verdict, with its command in a line of its own, so that it can be copied.
fn first(profile: &Profile, found: &Findings, width: usize) -> String {
    let said = wrap("", &format!("{}: {}", program(profile), found.verdict), width);
    match &found.command {
        Some(command) => format!("{said}  {}\n", plain(command)),
        None => said,
    }
}

/// The locks that matter; the first few of others where none does.
fn listed<'p>(profile: &'p Profile, found: &Findings, column: SortColumn) -> Vec<(usize, &'p Lock)> {
    let (mut locks, most) = match found.locks.as_slice() {
        [] => (waited(profile), MOST_QUIET),
        all => (all.iter().map(|index| (*index, &profile.locks[*index])).collect(), MOST_LOCKS),
    };
    locks.sort_by(|(_, one), (_, other)| match column {
        // They are in this order, and equals stay in it.
        SortColumn::Share => Ordering::Equal,
        SortColumn::Waits => other.waits.total_cmp(&one.waits),
        SortColumn::Longest => other.longest_ns.cmp(&one.longest_ns),
        SortColumn::Name => one.name.cmp(&other.name),
    });
    locks.truncate(most);
    locks
}

fn noted(profile: &Profile, width: usize) -> String {
    let mut text = String::new();
    for warning in warnings(profile) {
        let (said, command) = warning.split_once('\n').unwrap_or((&warning, ""));
        let line = if text.is_empty() { "\n" } else { "" };
        text += &format!("{line}{}", wrap("note: ", said, width));
        if !command.is_empty() {
            let _ = writeln!(text, "  {command}");
        }
    }
    text
}

/// The figures of a lock. Where no lock matters, parts of next to nothing would look like much.
fn figures(profile: &Profile, lock: &Lock, is_share: bool) -> [String; FIGURES.len()] {
    let time = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
    [
        if is_share { percent(share(profile, lock.wait_ns)) } else { duration_ns(lock.wait_ns) },
        waits(lock.waits, lock.wait_ns),
        time(lock.mean_wait_ns()),
        time(p99(&lock.wait_histogram, lock.longest_ns)),
        longest(lock.longest_ns, lock.wait_ns),
    ]
}

/// What stands above a column of names, and what in the row of a lock.
type Column<'a> = (&'a str, &'a dyn Fn(&Lock) -> String);

fn rows(profile: &Profile, locks: &[(usize, &Lock)], is_share: bool, width: usize) -> String {
    let tops = Tops::new(profile);
    let top = |sites: &[Site]| {
        tops.busiest(sites).map_or("-".to_string(), |(name, part)| format!("{} {}", shown(&name), percent(part)))
    };
    let first = if is_share { FIGURES[0] } else { "waited" };
    let grid = |names: &[Column]| {
        let heads = [&first].into_iter().chain(&FIGURES[1..]).chain(names.iter().map(|(head, _)| head));
        let mut grid = Grid::new([""; 0], heads.copied()).with_texts(names.len());
        for (_, lock) in locks {
            let figures = figures(profile, lock, is_share);
            grid.row(figures.into_iter().chain(names.iter().map(|(_, name_of)| name_of(lock))));
        }
        grid
    };
    let left = width.saturating_sub(grid(&[]).width());
    let head = others_head(profile);
    let waiter_of = |lock: &Lock| top(&lock.waiters);
    let other_of = |lock: &Lock| top(others(profile, lock));
    let each = (left / 3).saturating_sub(Grid::PADDING).min(MOST_NAME);
    let has_rwlock = locks.iter().any(|(_, lock)| lock.kind == LockKind::RwLock);
    if each >= if has_rwlock { LEAST_NAME_AND_ACCESS } else { LEAST_NAME } {
        let names =
            |most| grid(&[("lock", &|lock| name_of(lock, most)), ("waits most", &waiter_of), (head, &other_of)]);
        // Names that have no room below each other have room in lines of their own.
        if let Some(fits) = [MOST_NAME, each].map(names).into_iter().find(|grid| grid.width() <= width) {
            return fits.render(usize::MAX);
        }
    }
    let most = left.saturating_sub(Grid::PADDING).max(LEAST_NAME);
    let table = grid(&[("lock", &|lock| name_of(lock, most))]).render(usize::MAX);
    let mut lines = table.lines();
    let mut text: String = lines.by_ref().take(2).map(|line| format!("{line}\n")).collect();
    for (line, (_, lock)) in lines.zip(locks) {
        let _ = writeln!(text, "{line}");
        let _ = writeln!(text, "    waits most:        {}", waiter_of(lock));
        let _ = writeln!(text, "    {:<19}{}", format!("{head}:"), other_of(lock));
    }
    text
}

/// The lock's name, and its kind where that is not the usual one.
fn name_of(lock: &Lock, most: usize) -> String {
    let kind = kind(lock).map_or(String::new(), |kind| format!(", {kind}"));
    lock_name(&plain(&lock.name), most.saturating_sub(kind.len())) + &kind
}

/// Why threads wait for the first locks that matter.
fn causes(profile: &Profile, found: &Findings, width: usize) -> String {
    let tops = Tops::new(profile);
    let mut text = String::new();
    // The stacks of a program that hangs say more.
    let n = if found.stacks.is_empty() { MOST_EXPLAINED } else { 0 };
    for index in found.locks.iter().take(n) {
        let sentences = of_lock(profile, &tops, *index);
        if !sentences.is_empty() {
            let _ = writeln!(text, "\n{}", name_of(&profile.locks[*index], width.max(LEAST_NAME)));
        }
        text.extend(sentences.iter().map(|sentence| wrap("- ", &plain(sentence.trim_end_matches(':')), width)));
    }
    text
}

/// Locks that are taken in both orders.
fn orders(profile: &Profile, found: &Findings, width: usize) -> String {
    let mut text = String::new();
    for (at, (sentence, taken)) in lock_order::told(profile).into_iter().take(MOST_ORDERS).enumerate() {
        // The first may be the verdict.
        if at > 0 || !found.verdict.starts_with(&sentence) {
            text += &format!("\n{}", wrap("", &plain(&sentence), width));
        }
        text += &stacks(profile, &taken, width);
    }
    if profile.order.len() > MOST_ORDERS {
        let n = profile.order.len() - MOST_ORDERS;
        text += &format!("\n{}", wrap("", &format!("{n} more pairs or circles of locks: -o FILE.html has all"), width));
    }
    text
}

/// A wait that goes on, of [`long_waits`](crate::long_waits), with its stacks.
pub fn long_wait(profile: &Profile, wait: &LongWait, width: usize) -> String {
    wrap("", &format!("warning: {}", plain(&wait.verdict)), width) + &stacks(profile, &wait.stacks, width)
}

/// Stacks, each below its line.
fn stacks(profile: &Profile, stacks: &[(String, u32)], width: usize) -> String {
    let mut text = String::new();
    for (line, stack) in stacks {
        let _ = write!(text, "\n{}", wrap("", &plain(line), width));
        for frame in profile.frames_of(*stack) {
            let file = if frame.file.is_empty() { String::new() } else { format!(" ({}:{})", frame.file, frame.line) };
            let _ = writeln!(text, "    {}{}", plain(&brief(&frame.function)), plain(&file));
        }
    }
    text
}

#[cfg(test)]
mod tests;
