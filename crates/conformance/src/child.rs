//! Tests that need a process of their own: they run this very test binary again with one test selected.

use std::process::Command;

/// A command that runs the ignored test `test` of the running test binary, and nothing else.
///
/// The test is ignored in an ordinary run, as it is only the child's half.
pub fn test_in_child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running test has a path"));
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).env("RUST_BACKTRACE", "0");
    command
}
