//! What we know of the terminal, and how we write to it.

use crate::exit::Exit;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::io::{ErrorKind, Write};
use std::time::Duration;

/// Columns of a table where there is no terminal to ask.
const WIDTH_OF_A_PIPE: usize = 120;

/// Columns of the terminal.
pub fn width() -> usize {
    known_width().unwrap_or(WIDTH_OF_A_PIPE)
}

/// The same, if there is a terminal or the environment says how wide it is.
pub fn known_width() -> Option<usize> {
    let asked = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    asked.or_else(told).filter(|width| *width > 0)
}

/// Writes to standard output. A reader that has gone (`ondeck bench | head`) is no failure of ours.
pub fn print(text: &str) -> Result<(), Exit> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::BrokenPipe),
        Err(error) => Err(Exit::Failed(format!("cannot write to standard output: {error}"))),
    }
}

/// Commands that are told to be typed begin with `ondeck`: with the program's path in its place, if it was called by one.
pub fn as_typed(text: &str) -> String {
    let typed = std::env::args().next().filter(|typed| typed.contains('/'));
    let text = for_user(text);
    typed.map_or(text.clone(), |typed| with_path(&text, &typed))
}

/// Without `sudo` before our commands if the user is root: containers often have none.
pub fn for_user(text: &str) -> String {
    if is_root() { as_root(text) } else { text.to_owned() }
}

/// Whether the user is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What the program's own command may have stays.
fn as_root(text: &str) -> String {
    const OURS: [&str; 7] = ["ondeck", "apt-get", "dnf", "pacman", "zypper", "sysctl", "mount"];
    OURS.iter().fold(text.to_owned(), |text, word| text.replace(&format!("sudo {word} "), &format!("{word} ")))
}

fn with_path(text: &str, path: &str) -> String {
    /// What may be told to be typed.
    const COMMANDS: [&str; 7] = ["bench", "sim", "run", "profile", "top", "report", "compare"];
    let in_place = |line: &str| {
        let rest = line.trim_start().strip_prefix("ondeck ")?;
        COMMANDS.contains(&rest.split_whitespace().next()?).then(|| {
            let indent = &line[..line.len() - line.trim_start().len()];
            format!("{indent}{path} {rest}")
        })
    };
    text.split_inclusive('\n').map(|line| in_place(line).unwrap_or(line.to_owned())).collect()
}

/// Writes a line to standard error, for things that are not results. Nobody is left to be told if that fails.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A bar on standard error; invisible if that is not a terminal.
pub fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}{left}  {wide_msg}");
    let style = style.expect("a constant template is right or wrong on every machine");
    bar.with_style(style.with_key("left", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        if let Some(left) = left(state.pos(), state.len().unwrap_or(0), state.elapsed()) {
            let _ = write!(text, ", {} left", HumanDuration(left));
        }
    }))
}

/// How long the rest takes, once so much is done that its mean says something: rows differ, and come in an order drawn anew.
fn left(done: u64, total: u64, elapsed: Duration) -> Option<Duration> {
    const ENOUGH: f64 = 0.1;
    let part = done as f64 / total.max(1) as f64;
    (part >= ENOUGH && done > 1).then(|| elapsed.mul_f64(1.0 / part - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_typed_begins_as_it_was_typed() {
        let text =
            "Next, run more rounds:\nondeck bench --rounds 10\n  ondeck run -- ./server\n ondeck  1.00\nondeck bench";
        let typed = "Next, run more rounds:\n./o bench --rounds 10\n  ./o run -- ./server\n ondeck  1.00\n./o bench";
        assert_eq!(with_path(text, "./o"), typed);
    }

    #[test]
    fn root_needs_no_sudo_and_keeps_that_of_the_program() {
        let text = "Mount them: sudo mount -t tracefs\n  sudo ondeck profile --futex -- sudo -u nobody ./server";
        assert_eq!(as_root(text), "Mount them: mount -t tracefs\n  ondeck profile --futex -- sudo -u nobody ./server");
    }

    #[test]
    fn nothing_is_said_of_the_end_before_a_tenth_is_done() {
        let left = |done, total| left(done, total, Duration::from_secs(6));
        assert_eq!([left(0, 0), left(0, 100), left(1, 1), left(9, 100)], [None; 4]);
        assert_eq!(left(10, 100), Some(Duration::from_secs(54)));
        assert_eq!(left(60, 100), Some(Duration::from_secs(4)));
        assert_eq!(left(100, 100), Some(Duration::ZERO));
    }
}
