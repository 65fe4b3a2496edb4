//! Tells the program which commit it is of, for `ondeck --version`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Both change with a commit, and a checkout of another branch; outside of a clone there is nothing to know.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = git(&["rev-parse", "--short", "HEAD"]).map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=ONDECK_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
