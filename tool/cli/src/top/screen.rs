//! Where the figures are shown: a terminal, or a list each second.

use super::view::{self, View, figures};
use crate::exit::Exit;
use crate::terminal::{print, width};
use ondeck_report::Grid;
use ondeck_report::wording::wrap;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io;
use std::time::Duration;

/// So many locks are in a list without a terminal.
const MOST_LOCKS: usize = 10;

/// So many locks are a page.
const PAGE: isize = 10;

/// What somebody at the keyboard wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyCommand {
    /// To leave.
    Quit,
    /// To interrupt, as Ctrl-C does elsewhere.
    Interrupt,
    /// To see the same again, in another size.
    Redraw,
    /// To see what is so many lines further down, or up.
    Scroll(isize),
    /// To see the list in another order.
    Sort,
}

pub(super) trait Screen {
    /// Shows what is known, after a snapshot or in another size.
    fn show(&mut self, view: &View) -> Result<(), Exit>;
    /// What somebody wants who has not been heard yet.
    fn command(&mut self) -> Result<Option<KeyCommand>, Exit>;
}

/// A terminal, which is left as it was found.
pub(super) struct Picture(DefaultTerminal);

impl Picture {
    pub(super) fn open() -> Result<Picture, Exit> {
        ratatui::try_init().map(Picture).map_err(failed)
    }
}

fn failed(error: io::Error) -> Exit {
    Exit::Failed(format!("the terminal: {error}"))
}

impl Screen for Picture {
    fn show(&mut self, view: &View) -> Result<(), Exit> {
        self.0.draw(|frame| view::draw(frame, view)).map(|_| ()).map_err(failed)
    }

    fn command(&mut self) -> Result<Option<KeyCommand>, Exit> {
        while event::poll(Duration::ZERO).map_err(failed)? {
            let command = event::read().map(|event| command(&event)).map_err(failed)?;
            if command.is_some() {
                return Ok(command);
            }
        }
        Ok(None)
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn command(event: &Event) -> Option<KeyCommand> {
    match event {
        Event::Resize(..) => Some(KeyCommand::Redraw),
        Event::Key(key) if key.kind == KeyEventKind::Press => match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(KeyCommand::Interrupt),
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(KeyCommand::Quit),
            KeyCode::Char('s' | 'S') => Some(KeyCommand::Sort),
            KeyCode::Up | KeyCode::Char('k') => Some(KeyCommand::Scroll(-1)),
            KeyCode::Down | KeyCode::Char('j') => Some(KeyCommand::Scroll(1)),
            KeyCode::PageUp => Some(KeyCommand::Scroll(-PAGE)),
            KeyCode::PageDown => Some(KeyCommand::Scroll(PAGE)),
            KeyCode::Home => Some(KeyCommand::Scroll(isize::MIN)),
            KeyCode::End => Some(KeyCommand::Scroll(isize::MAX)),
            _ => None,
        },
        _ => None,
    }
}

/// No terminal: a list for each snapshot, on standard output.
pub(super) struct Lists;

impl Screen for Lists {
    fn show(&mut self, view: &View) -> Result<(), Exit> {
        if view.history.n_snapshots == 0 { Ok(()) } else { print(&list(view, width())) }
    }

    fn command(&mut self) -> Result<Option<KeyCommand>, Exit> {
        Ok(None)
    }
}

/// The locks that were waited for in the last second.
fn list(view: &View, width: usize) -> String {
    let mut head = wrap("", &format!("{}: {}", view.title, view::summary(view.history)), width);
    head.extend(view.history.hang.iter().map(|hang| wrap("", hang, width)));
    let mut grid = Grid::new(["lock"], ["waiting", "waits/s", "longest", "waits most", "held meanwhile by", "why"]);
    for lock in view.history.rows.iter().filter(|lock| lock.waiting > 0.0).take(MOST_LOCKS) {
        let [waiting, waits, longest] = figures(lock);
        let names = [&lock.waiter, &lock.holder, &lock.cause].map(String::clone);
        grid.row([lock.name.clone(), waiting, waits, longest].into_iter().chain(names));
    }
    if grid.is_empty() { head + "\n" } else { format!("{head}{}\n", grid.render(width)) }
}

#[cfg(test)]
mod tests {
    use super::super::history::History;
    use super::super::history::tests::snapshot;
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn keys_have_their_usual_meanings() {
        let key = |code, modifiers| command(&Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(KeyCommand::Quit));
        assert_eq!(key(KeyCode::Esc, KeyModifiers::NONE), Some(KeyCommand::Quit));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(KeyCommand::Interrupt));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(key(KeyCode::Char('s'), KeyModifiers::NONE), Some(KeyCommand::Sort));
        let scrolled = [KeyCode::Up, KeyCode::PageDown, KeyCode::End].map(|code| key(code, KeyModifiers::NONE));
        assert_eq!(scrolled, [-1, 10, isize::MAX].map(|lines| Some(KeyCommand::Scroll(lines))));
        assert_eq!(command(&Event::Resize(80, 25)), Some(KeyCommand::Redraw));
    }

    #[test]
    fn a_list_has_the_locks_of_the_last_second() {
        let mut history = History::default();
        history.add(&snapshot(1.0, &[("gone", 1, 1.0, 1e9, 9)]));
        let name = "n".repeat(50);
        history.add(&snapshot(1.0, &[("queue", 2, 1500.0, 1.5e9, 5_000_000), (&name, 3, 1.0, 1e6, 900)]));
        let view = View { title: "server (process 7)", history: &history, first: 0, footer: "" };
        insta::assert_snapshot!(list(&view, 130));
        let narrow = list(&view, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    }
}
