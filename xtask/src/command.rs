//! Commands of others, with errors that say which and why.

use crate::files::ErrorContext;
use ondeck_launch::{ChildProcess, RunFailure};
use ondeck_report::wording::typed;
use std::io::{Read, pipe};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// The cargo that runs us, in a directory.
pub(crate) fn cargo(directory: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(directory);
    cargo
}

/// What cargo knows of a workspace and its packages.
pub(crate) fn metadata(cargo: &mut Command) -> Result<serde_json::Value, String> {
    serde_json::from_str(&output(cargo.args(["metadata", "--format-version=1"]))?).at("cargo metadata")
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

/// What it prints and says until it ends, and how it ended: `None` if that was not in time, and it was killed with all that it
/// had begun.
pub(crate) fn within(command: &mut Command, patience: Duration) -> Result<(String, Option<ExitStatus>), String> {
    let program = command.get_program().to_owned();
    let ((out, into_out), (err, into_err)) = (pipe().at(&program)?, pipe().at(&program)?);
    let running = ChildProcess::start(command.stdin(Stdio::null()).stdout(into_out).stderr(into_err), libc::SIGKILL);
    let running = running.at(&program)?;
    // Who reads would wait for our own ends of the pipes as well.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let reading = [out, err].map(|mut pipe| {
        std::thread::spawn(move || {
            let mut said = Vec::new();
            pipe.read_to_end(&mut said).map(|_| String::from_utf8_lossy(&said).into_owned())
        })
    });
    let status = match running.finish(Some(patience), || None) {
        Ok(ended) => Some(ended.status),
        Err(RunFailure::TooLong(_)) => None,
        Err(other) => return Err(format!("`{}` has not ended: {other:?}", words(command))),
    };
    let said = reading.map(|reading| reading.join().expect("a reader does not panic"));
    Ok((said.into_iter().collect::<Result<String, _>>().at(&program)?, status))
}

fn words(command: &Command) -> String {
    typed(&std::iter::once(command.get_program()).chain(command.get_args()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_too_long_is_killed_with_its_children_and_what_it_has_printed_is_kept() {
        let begin = std::time::Instant::now();
        let sleeper = |seconds: u32| format!("echo first; sleep {seconds} & sleep {seconds}; exit 3");
        let run = |seconds| within(Command::new("sh").args(["-c", &sleeper(seconds)]), Duration::from_secs(2)).unwrap();
        let (text, status) = run(0);
        assert_eq!((text.as_str(), status.and_then(|status| status.code())), ("first\n", Some(3)));
        assert_eq!(run(600), ("first\n".to_owned(), None));
        // The child has the pipe: it would be waited for.
        assert!(begin.elapsed() < Duration::from_secs(300));
    }
}
