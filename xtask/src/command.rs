//! Commands of others, with errors that say which and why.

use crate::files::At;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The cargo that runs us, in a directory.
pub(crate) fn cargo(directory: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(directory);
    cargo
}

/// What cargo knows of the members of a workspace.
#[cfg(feature = "lab")]
pub(crate) fn metadata(root: &Path) -> Result<serde_json::Value, String> {
    let json = output(cargo(root).args(["metadata", "--format-version=1", "--no-deps", "--locked"]))?;
    serde_json::from_str(&json).at("cargo metadata")
}

/// Runs it where the user sees what it says.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status().at(command.get_program())?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}; its report is above", words(command))) }
}

/// What it prints; if it fails, the error has what it has said.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&said(command)?.stdout).into_owned())
}

/// What it prints and what it says besides.
pub(crate) fn said(command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output().at(command.get_program())?;
    if output.status.success() {
        return Ok(output);
    }
    let report = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    Err(format!("{}\n`{}` failed: {}", String::from_utf8_lossy(report).trim_end(), words(command), output.status))
}

/// Whether a program is there, and says its version.
pub(crate) fn is_there(program: &str) -> bool {
    said(Command::new(program).arg("--version")).is_ok()
}

/// What it prints and says until it ends, and whether that was in time; if not, it was killed with all that it had begun.
pub(crate) fn within(command: &mut Command, patience: Duration) -> Result<(Output, bool), String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().at(command.get_program())?;
    let group = format!("-{}", child.id());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let early = receiver.recv_timeout(patience).ok();
    let in_time = early.is_some();
    if !in_time {
        Command::new("kill").args(["-KILL", "--", &group]).status().at("kill")?;
    }
    let output = early.map_or_else(|| receiver.recv(), Ok).at(command.get_program())?;
    Ok((output.at(command.get_program())?, in_time))
}

/// What a command has printed, then what it has said besides.
pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_too_long_is_killed_with_its_children_and_what_it_has_printed_is_kept() {
        let begin = std::time::Instant::now();
        let sleeper = |seconds: u32| format!("echo first; sleep {seconds} & sleep {seconds}; exit 3");
        let run = |seconds| within(Command::new("sh").args(["-c", &sleeper(seconds)]), Duration::from_secs(2)).unwrap();
        let (output, in_time) = run(0);
        assert_eq!((text(&output).as_str(), output.status.code(), in_time), ("first\n", Some(3), true));
        let (output, in_time) = run(600);
        assert_eq!((text(&output).as_str(), output.status.code(), in_time), ("first\n", None, false));
        // The child has the pipe: it would be waited for.
        assert!(begin.elapsed() < Duration::from_secs(300));
    }
}
