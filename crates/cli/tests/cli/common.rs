//! Running the program as its users do.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a run left.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program with its arguments, in an environment without surprises.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    command.args(arguments).env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn ondeck(arguments: &[&str]) -> Run {
    let output = command(arguments).output().expect("the program can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is text");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A directory of its own for one test, removed afterwards.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("ondeck-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
        Scratch(directory)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path of plain characters").to_string()
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the temporary directory can be written");
        path
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        Scratch::names_in(self.0.to_str().expect("a path of plain characters"))
    }

    /// Names of all files of a directory, sorted.
    pub(crate) fn names_in(directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(directory).expect("the directory exists");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
