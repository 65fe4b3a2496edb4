//! Two profiles side by side: each lock's waits, waiting and share of both runs in one row.
//!
//! Locks of one kind are one row, as in the list ([`grouped`]). Locks of both runs are the same if they have the same name, or
//! come from the same function; its line may have moved. A profile is one run, and what another run of the same program would
//! give is not known. So all differences are shown, and none is called a change.

use crate::group::grouped;
use crate::names::{base, kind_of, lock_name, without_line};
use crate::profile::Profile;
use crate::words::{command, percent, share, waited};
use ondeck_report::Grid;
use ondeck_report::wording::{count, counted, duration_ns, plain, run_time, times, wrap};
use std::collections::BTreeMap;

/// Locks in the table. Those with less waiting are counted only.
const MOST_ROWS: usize = 20;
/// So much of a name has room beside the figures.
const NAME_WIDTH: usize = 40;
/// No run is shorter, in seconds: so that nothing is divided by zero.
const SHORTEST: f64 = 1e-9;

/// A lock, or all that are the same, in both runs.
#[derive(Default)]
struct Row {
    name: String,
    figures: [Option<Figures>; 2],
}

/// What is known of it in one run.
#[derive(Clone, Copy, Default)]
struct Figures {
    /// In each second.
    waits: f64,
    /// In each second, in ns.
    wait_ns: f64,
    /// The part of all waiting.
    share: f64,
}

/// Both profiles as text at most `width` columns wide. The names stand for their files.
pub fn compare(old: &Profile, new: &Profile, names: [&str; 2], width: usize) -> String {
    let runs = [old, new].map(|profile| grouped(profile.clone()));
    let mut text = String::new();
    for (when, (name, run)) in ["before", "after"].into_iter().zip(names.iter().zip(&runs)) {
        text += &wrap("", &format!("{when} ({name}): {}", head(run)), width);
    }
    let rows = rows(&runs);
    text += "\n";
    if rows.is_empty() {
        text += "no thread waited for a lock, in either run\n\n";
    } else {
        text += &format!("{}\n", table(&rows).render(width));
    }
    let n_hidden = rows.len().saturating_sub(MOST_ROWS + 1);
    if n_hidden > 0 {
        text += &wrap("", &format!("{} with less waiting: not shown", counted(n_hidden, "more lock")), width);
    }
    if old.cores != new.cores {
        let cores = format!("The numbers of cores differ: {} and {}.", old.cores, new.cores);
        text += &wrap("", &cores, width);
    }
    let one = "One run each: two runs of the same program differ too. Record both again, and trust a change only if it \
               appears both times.";
    text + &wrap("", one, width)
}

/// What the run was.
fn head(run: &Profile) -> String {
    let rate = if run.rate > 1 { format!("1 acquisition in {}", run.rate) } else { "each acquisition".to_string() };
    format!("{}, lock {}, {rate} recorded: {}", run_time(run.seconds), plain(&run.lock), command(run))
}

/// All locks together, then each that a thread waited for, those with the most waiting first; none where nobody waited.
fn rows(runs: &[Profile; 2]) -> Vec<Row> {
    let mut all = Row { name: "all locks".to_owned(), ..Row::default() };
    let mut by_key: BTreeMap<String, Row> = BTreeMap::new();
    for (side, run) in runs.iter().enumerate() {
        for (_, lock) in waited(run) {
            let row = by_key.entry(without_line(&kind_of(base(&lock.name, lock.address))).to_owned()).or_default();
            // As the new run has it. Of several, the one with the most waiting.
            if row.figures[side].is_none() {
                row.name.clone_from(&lock.name);
            }
            for row in [row, &mut all] {
                let seconds = run.seconds.max(SHORTEST);
                let figures = row.figures[side].get_or_insert_default();
                figures.waits += lock.waits / seconds;
                figures.wait_ns += lock.wait_ns / seconds;
                figures.share += share(run, lock.wait_ns);
            }
        }
    }
    if by_key.is_empty() {
        return Vec::new();
    }
    let mut rows: Vec<Row> = by_key.into_values().collect();
    let most = |row: &Row| row.figures.iter().flatten().map(|figures| figures.wait_ns).fold(0.0, f64::max);
    rows.sort_by(|one, other| most(other).total_cmp(&most(one)));
    rows.insert(0, all);
    rows
}

fn table(rows: &[Row]) -> Grid {
    let heads = ["waiting/s", "waits/s", "share"];
    let heads = heads.iter().flat_map(|head| ["before", "after"].map(|when| format!("{head}\n{when}")));
    let mut grid = Grid::new(["lock"], heads.chain(["waiting,\nratio".to_owned()]));
    for row in rows.iter().take(MOST_ROWS + 1) {
        let cells = |text: fn(&Figures) -> String| {
            row.figures.each_ref().map(|figures| figures.as_ref().map_or("-".to_owned(), text))
        };
        let [waiting, waits, shares] = [
            cells(|figures| duration_ns(figures.wait_ns)),
            cells(|figures| count(figures.waits)),
            cells(|figures| percent(figures.share)),
        ];
        let ratio = match row.figures {
            [Some(old), Some(new)] if old.wait_ns > 0.0 => times(new.wait_ns / old.wait_ns),
            [_, Some(_)] => "new".to_owned(),
            _ => "gone".to_owned(),
        };
        let name = lock_name(&plain(&row.name), NAME_WIDTH);
        grid.row([name].into_iter().chain(waiting).chain(waits).chain(shares).chain([ratio]));
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Origin, Spot};
    use crate::sample::Builder;

    fn text(old: &Profile, new: &Profile) -> String {
        compare(old, new, ["old.json", "new.json"], 200)
    }

    /// The line that begins with `name`, words apart by one space.
    #[track_caller]
    fn line(text: &str, name: &str) -> String {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// A run in which these locks were waited for 1000 times, for so many ns each time, each in a function of its name.
    fn run(seconds: f64, locks: &[(&str, f64)]) -> Profile {
        let mut builder = Builder::new(seconds);
        for (name, each_ns) in locks {
            let stack = builder.stack(&[name, "main"]);
            builder.lock(name, 1000.0, *each_ns, stack, stack);
        }
        let stack = builder.stack(&["quiet"]);
        builder.lock("never waited for", 0.0, 1.0, stack, stack);
        builder.0
    }

    #[test]
    fn figures_are_of_each_second() {
        let text = text(&run(2.0, &[("a", 3000.0), ("b", 1000.0)]), &run(4.0, &[("a", 3000.0), ("b", 5000.0)]));
        assert_eq!(line(&text, "all locks"), "all locks 2.00 ms 2.00 ms 1.00 k 500 100 % 100 % 1.00");
        assert_eq!(line(&text, "a "), "a 1.50 ms 750 us 500 250 75 % 38 % 0.50");
        assert_eq!(line(&text, "b "), "b 500 us 1.25 ms 500 250 25 % 62 % 2.50");
        assert!(!text.contains("never waited for"), "{text}");
        let heads = "before (old.json): 2.0 s, lock glibc, each acquisition recorded: ./server --port '80 80'\n\
                     after (new.json): 4.0 s";
        assert!(text.starts_with(heads) && text.contains("\nOne run each: "), "{text}");
    }

    #[test]
    fn new_and_vanished_locks_have_rows() {
        let text = text(&run(1.0, &[("a", 1000.0), ("b", 1000.0)]), &run(1.0, &[("a", 1000.0), ("c", 1000.0)]));
        assert_eq!(line(&text, "b "), "b 1.00 ms - 1.00 k - 50 % - gone");
        assert_eq!(line(&text, "c "), "c - 1.00 ms - 1.00 k - 50 % new");
    }

    /// There may be more of a kind, and in another line.
    #[test]
    fn locks_that_are_made_in_one_function_are_one_row() {
        let profile = |lines: &[u32]| {
            let mut builder = Builder::new(1.0);
            let push = builder.stack(&["insert", "main"]);
            for line in lines {
                let setup = builder.stack(&["table_init", "main"]);
                let name = format!("initialised in table_init (server.c:{line})");
                builder.lock(&name, 1000.0, 1000.0, push, push).origin =
                    Some(Origin { stack: setup, spot: Spot::Initialised });
            }
            builder.0
        };
        let text = text(&profile(&[7, 7]), &profile(&[9]));
        let row = "initialised in table_init (server.c:9) 2.00 ms 1.00 ms 2.00 k 1.00 k 100 % 100 % 0.50";
        assert_eq!((line(&text, "initialised"), text.matches("table_init").count()), (row.to_owned(), 1));
    }

    #[test]
    fn what_is_too_much_to_show_is_counted() {
        let names: Vec<String> = (0..25).map(|number| format!("lock{number}.")).collect();
        let locks: Vec<(&str, f64)> = names.iter().zip(1..).map(|(name, ns)| (name.as_str(), f64::from(ns))).collect();
        let text = text(&run(1.0, &locks), &run(1.0, &locks));
        assert!(text.contains(" lock5. ") && !text.contains(" lock4. "), "those with the most are shown: {text}");
        assert!(text.contains("5 more locks with less waiting: not shown"), "{text}");
    }

    #[test]
    fn nothing_to_compare_is_said() {
        let mut other = run(0.0, &[]);
        other.cores = 8;
        let text = text(&run(1.0, &[]), &other);
        assert!(text.contains("no thread waited for a lock, in either run"), "{text}");
        assert!(text.contains("The numbers of cores differ: 4 and 8."), "{text}");
    }

    #[test]
    fn hostile_names_are_text() {
        let name = "a::very::long::name::".repeat(20) + "\u{1b}[31m";
        let text = compare(&run(1.0, &[(&name, 1.0)]), &run(1.0, &[]), ["a", "b"], 80);
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
