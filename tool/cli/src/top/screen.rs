//! The terminal while `ondeck top` has all of it. It is left as it was found.

use ondeck_kit::exit::Exit;
use ondeck_profile::SortColumn;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Another screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// The one before, with its cursor.
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";
/// What Esc sends, and other keys first of all.
const ESC: u8 = 0x1b;

/// What somebody at the keyboard wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyCommand {
    /// To leave.
    Quit,
    /// To interrupt, as Ctrl-C does elsewhere.
    Interrupt,
    /// To see the list in that order.
    SortBy(SortColumn),
}

pub(super) struct Screen(Arc<Terminal>);

struct Terminal {
    keyboard: File,
    output: File,
    /// How the terminal treated keys.
    before: Termios,
    is_left: AtomicBool,
}

impl Screen {
    pub(super) fn open() -> Result<Screen, Exit> {
        let stdin = io::stdin();
        let keyboard = match stdin.is_terminal() {
            true => stdin.as_fd().try_clone_to_owned().map(File::from),
            false => File::open("/dev/tty"),
        };
        let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        keyboard.and_then(|keyboard| Screen::on(keyboard, output?)).map_err(failed)
    }

    fn on(keyboard: File, output: File) -> io::Result<Screen> {
        let before = tcgetattr(&keyboard)?;
        let mut raw = before.clone();
        raw.make_raw();
        // A read has what was typed until then, be it nothing.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        let terminal = Arc::new(Terminal { keyboard, output, before, is_left: AtomicBool::new(false) });
        let screen = Screen(terminal.clone());
        // What a panic says would be lost with this screen.
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            terminal.leave();
            usual(panic);
        }));
        tcsetattr(&screen.0.keyboard, OptionalActions::Now, &raw)?;
        (&screen.0.output).write_all(ENTER)?;
        Ok(screen)
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (usize, usize) {
        let (lines, columns) = console::Term::stdout().size();
        (columns.into(), lines.into())
    }

    /// Shows a text from the top on, and a line below all.
    pub(super) fn draw(&self, text: &str, last: &str) -> Result<(), Exit> {
        (&self.0.output).write_all(picture(text, last, self.size()).as_bytes()).map_err(failed)
    }

    /// What somebody wants who has not been heard yet.
    pub(super) fn commands(&self) -> Result<Vec<KeyCommand>, Exit> {
        let mut typed = [0; 256];
        let n = (&self.0.keyboard).read(&mut typed).map_err(failed)?;
        Ok(commands(&typed[..n]))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Terminal {
    /// At most once: what is printed later would be overwritten. Nobody is left to be told if it fails.
    fn leave(&self) {
        if !self.is_left.swap(true, Relaxed) {
            let _ = tcsetattr(&self.keyboard, OptionalActions::Now, &self.before);
            let _ = (&self.output).write_all(LEAVE);
        }
    }
}

fn failed(error: io::Error) -> Exit {
    Exit::Failed(format!("the terminal: {error}"))
}

/// What a terminal of that size draws over all that it shows. What has no room is cut off.
fn picture(text: &str, last: &str, (columns, lines): (usize, usize)) -> String {
    let text = text.lines().chain(std::iter::repeat("")).take(lines.saturating_sub(1));
    // Each line is erased before it is written: in the last column, the character there would go.
    let drawn = text.chain([last]).map(|line| "\x1b[2K".to_owned() + &line.chars().take(columns).collect::<String>());
    "\x1b[H".to_owned() + &drawn.collect::<Vec<_>>().join("\r\n")
}

fn commands(mut typed: &[u8]) -> Vec<KeyCommand> {
    let mut commands = Vec::new();
    while let [key, rest @ ..] = typed {
        let is_sequence = *key == ESC && !matches!(rest, [] | [ESC, ..]);
        if !is_sequence {
            commands.extend(command(*key));
        }
        typed = if is_sequence { after_sequence(rest) } else { rest };
    }
    commands
}

/// What comes after another key than Esc that begins with it: an arrow sends a bracket, perhaps digits, and a letter.
/// A key with Alt sends what it sends without.
fn after_sequence(typed: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| (b'@'..=b'~').contains(byte);
    match typed {
        [b'[' | b'O', rest @ ..] => rest.iter().position(is_end).map_or(&[], |end| &rest[end + 1..]),
        _ => &typed[1..],
    }
}

fn command(key: u8) -> Option<KeyCommand> {
    /// What Ctrl-C sends.
    const INTERRUPT: u8 = 3;
    match key.to_ascii_lowercase() {
        INTERRUPT => Some(KeyCommand::Interrupt),
        b'q' | ESC => Some(KeyCommand::Quit),
        b's' => Some(KeyCommand::SortBy(SortColumn::Share)),
        b'w' => Some(KeyCommand::SortBy(SortColumn::Waits)),
        b'l' => Some(KeyCommand::SortBy(SortColumn::Longest)),
        b'n' => Some(KeyCommand::SortBy(SortColumn::Name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn keys_have_their_usual_meanings() {
        let (quit, interrupt, sort) = (KeyCommand::Quit, KeyCommand::Interrupt, KeyCommand::SortBy);
        for (typed, meant) in [
            ("q", vec![quit]),
            ("\x1b", vec![quit]),
            ("\x1b\x1b", vec![quit, quit]),
            ("\x03", vec![interrupt]),
            ("c", vec![]),
            ("sWln", [SortColumn::Share, SortColumn::Waits, SortColumn::Longest, SortColumn::Name].map(sort).to_vec()),
            // An arrow, a page key and Alt-q, and a q after them.
            ("\x1b[A\x1b[6~\x1bOB\x1bqq", vec![quit]),
            ("\x1b[", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(commands(typed.as_bytes()), meant, "{typed:?}");
        }
    }

    #[test]
    fn a_picture_fills_the_terminal_and_no_more() {
        assert_eq!(picture("one\ntwo", "keys", (3, 4)), "\x1b[H\x1b[2Kone\r\n\x1b[2Ktwo\r\n\x1b[2K\r\n\x1b[2Kkey");
        for size in [(0, 0), (1, 1), (500, 5)] {
            let lines = picture(&"text\n".repeat(9), "last", size).matches("\x1b[2K").count();
            assert_eq!(lines, size.1.max(1));
        }
    }

    /// A terminal without a screen.
    fn terminal() -> (File, File) {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let name = ptsname(&near, Vec::new()).unwrap();
        let far = std::ffi::OsStr::from_bytes(name.as_bytes());
        (File::from(near), File::options().read(true).write(true).open(far).unwrap())
    }

    #[test]
    fn a_terminal_is_as_before_after_a_panic_too() {
        for panics in [false, true] {
            let (mut near, far) = terminal();
            let reads_lines = || tcgetattr(&far).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO);
            assert!(reads_lines());
            let screen = Screen::on(far.try_clone().unwrap(), far.try_clone().unwrap()).unwrap();
            assert!(!reads_lines());
            assert_eq!(screen.commands().ok(), Some(vec![]));
            let ended = panic::catch_unwind(panic::AssertUnwindSafe(|| {
                assert!(!panics, "as a test");
                drop(screen);
            }));
            assert_eq!((ended.is_err(), reads_lines()), (panics, true));
            let mut seen = [0; ENTER.len() + LEAVE.len()];
            near.read_exact(&mut seen).unwrap();
            assert_eq!(seen.as_slice(), [ENTER, LEAVE].concat());
        }
    }
}
