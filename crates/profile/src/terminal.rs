//! The list for the terminal: which locks were waited for longest, by whom, and who held them meanwhile.

use crate::names::middle;
use crate::profile::{Lock, Profile, Site};
use crate::words::{conditions, headline, nothing, p99, percent, program, share, waited, warnings};
use crate::wrappers::Tops;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use ondeck_report::wording::{count, counted, duration_ns, plain, wrap};
use std::fmt::Write as _;

/// So many locks are listed.
const MOST_LOCKS: usize = 10;
/// The columns of figures.
const FIGURES: [&str; 5] = ["share", "waits", "mean", "p99", "longest"];
/// Where a name has less room than this, those of functions go below.
const LEAST_NAME: usize = 22;
/// The widest that a column of names is useful.
const MOST_NAME: usize = 60;
/// Between header and rows, as in the project's other tables.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));
/// Spaces that the library puts around each cell.
const PADDING: usize = 2;

/// What a run ends with: a headline, the first locks, what else there is. `advice` is what may be said of a lock, by its
/// index in the profile. Lines are at most `width` columns long, if that is enough for the figures.
pub fn table(profile: &Profile, advice: &[(usize, String)], width: usize) -> String {
    let mut text = wrap("", &format!("{}: {}", program(profile), headline(profile)), width);
    if let Some(nothing) = nothing(profile) {
        text.extend(nothing.lines().map(|line| wrap("", line, width)));
    }
    let locks = waited(profile);
    let (listed, rest) = locks.split_at(locks.len().min(MOST_LOCKS));
    if !listed.is_empty() {
        text += &format!("\n{}", rows(profile, listed, width));
    }
    if !rest.is_empty() {
        let ns: f64 = rest.iter().map(|(_, lock)| lock.wait_ns).sum();
        let _ = writeln!(text, "and {} more, with {} of all waiting", rest.len(), percent(share(profile, ns)));
    }
    let idle = profile.locks.len() - locks.len();
    if idle > 0 && !locks.is_empty() {
        let _ = writeln!(text, "{} had no waits", counted(idle, "other lock"));
    }
    text += &advised(profile, listed, advice, width);
    if let Some(conditions) = conditions(profile) {
        text += &format!("\n{}", wrap("", &conditions, width));
    }
    let warnings = warnings(profile);
    if !warnings.is_empty() {
        text.push('\n');
    }
    for warning in warnings {
        text += &wrap("note: ", &warning, width);
    }
    text
}

fn figures(profile: &Profile, lock: &Lock) -> [String; FIGURES.len()] {
    let time = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
    [
        percent(share(profile, lock.wait_ns)),
        count(lock.waits),
        time(lock.mean_wait_ns()),
        time(p99(&lock.wait_histogram, lock.longest_ns)),
        duration_ns(lock.longest_ns as f64),
    ]
}

fn rows(profile: &Profile, locks: &[(usize, &Lock)], width: usize) -> String {
    let tops = Tops::new(profile);
    let top = |sites: &[Site]| {
        tops.busiest(sites).map_or("-".to_string(), |(name, part)| format!("{name} {}", percent(part)))
    };
    let figures: Vec<_> = locks.iter().map(|(_, lock)| figures(profile, lock)).collect();
    let column = |at: usize| figures.iter().map(|row| row[at].chars().count()).fold(FIGURES[at].len(), usize::max);
    let taken: usize = (0..FIGURES.len()).map(|at| column(at) + PADDING).sum();
    let left = width.saturating_sub(taken);
    let named = |header: &str, of: &dyn Fn(&Lock) -> String, most: usize| -> Vec<String> {
        let cells = locks.iter().map(|(_, lock)| part_first(&of(lock), most));
        std::iter::once(header.to_string()).chain(cells).collect()
    };
    let lock_of = |lock: &Lock| plain(&lock.name);
    let waiter_of = |lock: &Lock| top(&lock.waiters);
    let holder_of = |lock: &Lock| top(&lock.holders);
    let each = (left / 3).saturating_sub(PADDING).min(MOST_NAME);
    if each >= LEAST_NAME {
        let names = [
            named("lock", &lock_of, each),
            named("waits most", &waiter_of, each),
            named("held meanwhile by", &holder_of, each),
        ];
        return render(&figures, &names);
    }
    let most = left.saturating_sub(PADDING).max(LEAST_NAME);
    let table = render(&figures, &[named("lock", &lock_of, most)]);
    let mut lines = table.lines();
    let mut text: String = lines.by_ref().take(2).map(|line| format!("{line}\n")).collect();
    for (line, (_, lock)) in lines.zip(locks) {
        let room = width.saturating_sub(24).max(LEAST_NAME);
        let _ = writeln!(text, "{line}");
        let _ = writeln!(text, "    waits most:        {}", part_first(&waiter_of(lock), room));
        let _ = writeln!(text, "    held meanwhile by: {}", part_first(&holder_of(lock), room));
    }
    text
}

/// The cells in columns: figures to the right, names to the left. Of names, the first is the header.
fn render(figures: &[[String; FIGURES.len()]], names: &[Vec<String>]) -> String {
    let cell = |text: &str, alignment| Cell::new(text).set_alignment(alignment);
    let row = |figures: &[&str], at: usize| {
        let figures = figures.iter().map(|text| cell(text, CellAlignment::Right));
        figures.chain(names.iter().map(|names| cell(&names[at], CellAlignment::Left))).collect::<Vec<Cell>>()
    };
    let mut table = Table::new();
    table.load_style(STYLE).set_header(row(&FIGURES, 0));
    for (index, figures) in figures.iter().enumerate() {
        table.add_row(row(&figures.each_ref().map(String::as_str), index + 1));
    }
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

/// The name in the room that it has; a part of a whole at its end stays.
fn part_first(name: &str, most: usize) -> String {
    match name.rsplit_once(' ').and_then(|(before, sign)| Some((before.rsplit_once(' ')?, sign))) {
        Some(((name, part), "%")) => {
            let part = format!(" {part} %");
            middle(name, most.saturating_sub(part.len())) + &part
        }
        _ => middle(name, most),
    }
}

/// What may be said of the locks that are listed. A command stands by itself and whole, so that it can be copied.
fn advised(profile: &Profile, listed: &[(usize, &Lock)], advice: &[(usize, String)], width: usize) -> String {
    let mut text = String::new();
    for (index, _) in listed {
        let sentences: Vec<&String> =
            advice.iter().filter(|(of, _)| of == index).map(|(_, sentence)| sentence).collect();
        if sentences.is_empty() {
            continue;
        }
        let name = plain(&profile.locks[*index].name);
        let _ = writeln!(text, "\n{}", middle(&name, width.max(LEAST_NAME)));
        for sentence in sentences {
            let (said, command) = sentence.split_once('\n').unwrap_or((sentence.as_str(), ""));
            text += &wrap("- ", &plain(said), width);
            if !command.is_empty() {
                let _ = writeln!(text, "  {}", plain(command));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests;
