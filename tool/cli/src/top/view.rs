//! The picture of `ondeck top`.

use super::history::{History, KEPT, Row as Lock};
use ondeck_report::wording::{counted, duration_ns, three_digits, whole, wrap};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};
use std::collections::VecDeque;

/// From here on, names of functions stand beside the lock and not below.
const WIDE: u16 = 130;
/// A hang takes so many lines at most.
const MOST_OF_HANG: usize = 6;
/// Columns of a figure.
const FIGURE: u16 = 8;
/// The least that shows a course.
const LEAST_COURSE: u16 = 10;
/// From nothing to most.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// All that is shown.
pub(super) struct View<'a> {
    /// What is watched.
    pub(super) title: &'a str,
    pub(super) history: &'a History,
    /// The number of the lock that is on top.
    pub(super) first: usize,
    /// What keys do, and where output goes.
    pub(super) footer: &'a str,
}

/// Draws the whole terminal.
pub(super) fn draw(frame: &mut Frame, view: &View) {
    let width = usize::from(frame.area().width);
    let hang = view.history.hang.as_ref().map_or(String::new(), |hang| wrap("", hang, width));
    let hang: Vec<Line> = hang.lines().take(MOST_OF_HANG).map(Line::from).collect();
    let heights =
        [Constraint::Length(2), Constraint::Length(hang.len() as u16), Constraint::Min(0), Constraint::Length(1)];
    let [head, stuck, body, foot] = Layout::vertical(heights).areas(frame.area());
    frame.render_widget(Paragraph::new(hang).style(Style::new().fg(Color::Red)), stuck);
    let headline = Paragraph::new(headline(view)).wrap(Wrap { trim: true });
    frame.render_widget(headline.style(Style::new().add_modifier(Modifier::BOLD)), head);
    frame.render_widget(Paragraph::new(view.footer).style(Style::new().add_modifier(Modifier::DIM)), foot);
    if view.history.rows.is_empty() {
        return frame.render_widget(Paragraph::new(nothing(view.history)).wrap(Wrap { trim: true }), body);
    }
    let table = if body.width >= WIDE { wide(view, body.width) } else { narrow(view, body.width) };
    frame.render_widget(table.header(header(body.width)), body);
}

/// In the first second, and later.
fn nothing(history: &History) -> &'static str {
    if history.n_snapshots == 0 {
        "The first figures come after a second."
    } else {
        "No thread has waited for a lock in the last minute. Only locks of the C library are seen."
    }
}

/// What is watched, and how much is waited in all.
fn headline(view: &View) -> String {
    format!("{}: {}", view.title, summary(view.history))
}

/// The last second in a sentence.
pub(super) fn summary(history: &History) -> String {
    let (waiting, waits) = history.sums();
    let locks = counted(history.rows.len(), "lock");
    format!("{} threads waiting, {} waits/s, {locks} in the last minute", amount(waiting), whole(waits))
}

/// Threads, on average.
pub(super) fn amount(waiting: f64) -> String {
    match waiting {
        _ if waiting <= 0.0 => "0".to_owned(),
        _ if waiting < 0.005 => "<0.01".to_owned(),
        _ if waiting < 99.95 => format!("{waiting:.2}"),
        _ => three_digits(waiting),
    }
}

/// The columns of figures.
pub(super) fn figures(lock: &Lock) -> [String; 3] {
    let longest = if lock.longest_ns > 0.0 { duration_ns(lock.longest_ns) } else { "-".to_owned() };
    [amount(lock.waiting), whole(lock.waits_per_s), longest]
}

/// How many seconds of the course fit.
fn seconds(width: u16) -> u16 {
    let most = KEPT as u16;
    if width >= WIDE { ((width - 80) / 3).clamp(LEAST_COURSE, most) } else { (width / 4).clamp(LEAST_COURSE, 20) }
}

fn header(width: u16) -> Row<'static> {
    let right = |text: &'static str| Cell::new(Text::from(text).right_aligned());
    let mut cells = vec![right("waiting"), right("waits/s"), right("longest")];
    cells.push(Cell::new(format!("last {} s", seconds(width))));
    cells.push(Cell::new("lock"));
    if width >= WIDE {
        cells.extend(["waits most", "held meanwhile by", "why"].map(Cell::new));
    }
    Row::new(cells).style(Style::new().add_modifier(Modifier::REVERSED))
}

/// Figures and course, which all widths have.
fn common(lock: &Lock, history: &History, width: u16) -> Vec<Cell<'static>> {
    let mut cells = figures(lock).map(|text| Cell::new(Text::from(text).right_aligned())).to_vec();
    let course = course(&lock.past, usize::from(seconds(width)), history.most());
    cells.push(Cell::new(course).style(Style::new().fg(Color::Cyan)));
    cells
}

fn widths(width: u16) -> Vec<Constraint> {
    let figures = [Constraint::Length(FIGURE); 3];
    [&figures[..], &[Constraint::Length(seconds(width))]].concat()
}

/// A line for each lock.
fn wide(view: &View, width: u16) -> Table<'static> {
    let history = view.history;
    let rows = history.rows.iter().skip(view.first).map(|lock| {
        let names = [&lock.name, &lock.waiter, &lock.holder, &lock.cause].map(|name| Cell::new(name.clone()));
        Row::new([common(lock, history, width), names.to_vec()].concat())
    });
    Table::new(rows, [widths(width), vec![Constraint::Fill(1); 4]].concat())
}

/// Four lines for each lock.
fn narrow(view: &View, width: u16) -> Table<'static> {
    let history = view.history;
    let rows = history.rows.iter().skip(view.first).map(|lock| {
        let lines = [
            lock.name.clone(),
            format!("  waits: {}", lock.waiter),
            format!("  holds: {}", lock.holder),
            format!("  why: {}", lock.cause),
        ];
        let name = Cell::new(Text::from(lines.map(Line::from).to_vec()));
        Row::new([common(lock, history, width), vec![name]].concat()).height(4)
    });
    Table::new(rows, [widths(width), vec![Constraint::Fill(1)]].concat())
}

/// The last seconds as bars, the last one at the right; `most` is a whole bar, the same for all locks.
fn course(past: &VecDeque<f64>, width: usize, most: f64) -> String {
    let bar = |waiting: &f64| {
        let level = (waiting / most.max(f64::MIN_POSITIVE) * (BARS.len() - 1) as f64).ceil();
        BARS[(level.max(0.0) as usize).min(BARS.len() - 1)]
    };
    let bars: String = past.iter().skip(past.len().saturating_sub(width)).map(bar).collect();
    format!("{bars:>width$}")
}

#[cfg(test)]
mod tests {
    use super::super::history::tests::snapshot;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn history() -> History {
        let mut history = History::default();
        for second in 0..70 {
            let (waits, hot) = (1000.0 + f64::from(second), 1e9 * f64::from(second % 10));
            let calm: &[_] = if second < 40 { &[("log_lock", 2, 3.0, 4e6, 20_000)] } else { &[] };
            let hot = ("query_cache+0x18 of a very long name that has no room", 1, waits, hot, 31_000_000);
            history.add(&snapshot(1.0, &[&[hot][..], calm].concat()));
        }
        history
    }

    fn drawn(history: &History, width: u16, height: u16) -> String {
        drawn_from(0, history, width, height)
    }

    fn drawn_from(first: usize, history: &History, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let view = View { title: "server (process 7)", history, first, footer: "q: end the program and quit" };
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_wide_terminal_has_a_line_for_each_lock() {
        insta::assert_snapshot!(drawn(&history(), 160, 8));
    }

    #[test]
    fn a_narrow_terminal_has_the_functions_below() {
        insta::assert_snapshot!(drawn(&history(), 80, 12));
    }

    #[test]
    fn a_list_that_is_scrolled_begins_further_down() {
        for width in [80, 160] {
            let (whole, rest) = (drawn(&history(), width, 12), drawn_from(1, &history(), width, 12));
            assert!(whole.contains("query_cache") && whole.contains("log_lock"), "{whole}");
            assert!(!rest.contains("query_cache") && rest.contains("log_lock"), "{rest}");
        }
        drawn_from(99, &history(), 80, 12);
    }

    #[test]
    fn a_hang_stands_above_the_locks() {
        let mut history = history();
        history.hang =
            Some("2 threads wait for `log_lock` since 3.00 s: thread 7 has it and is blocked in read.".repeat(9));
        for width in [80, 160] {
            let text = drawn(&history, width, 20);
            assert!(text.contains("thread 7 has it") && text.contains("query_cache"), "{text}");
        }
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        assert!(drawn(&History::default(), 80, 6).contains("after a second"));
        let mut idle = History::default();
        idle.add(&snapshot(1.0, &[]));
        assert!(drawn(&idle, 80, 6).contains("No thread has waited for a lock"));
    }

    #[test]
    fn any_size_can_be_drawn() {
        for (width, height) in [(1, 1), (10, 3), (WIDE - 1, 2), (WIDE, 40), (500, 5)] {
            drawn(&history(), width, height);
        }
    }

    #[test]
    fn a_course_shows_the_last_seconds_on_one_scale() {
        let past: VecDeque<f64> = [8.0, 0.0, 0.001, 4.0, 8.0].into();
        assert_eq!(course(&past, 7, 8.0), "  █ ▁▄█");
        assert_eq!(course(&past, 2, 16.0), "▂▄");
        assert_eq!(course(&VecDeque::new(), 3, 0.0), "   ");
    }

    #[test]
    fn amounts_have_no_more_digits_than_mean_something() {
        assert_eq!([0.0, 0.001, 0.01, 1.234, 123.4].map(amount), ["0", "<0.01", "0.01", "1.23", "123"]);
    }
}
