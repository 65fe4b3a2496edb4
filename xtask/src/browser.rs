//! `cargo xtask browser`: the page of `ondeck report` in a real Chromium.
//!
//! The tests are the target `browser` of ondeck-cli, where cargo builds the program for them. They are ignored by `cargo
//! test`, as not every machine has a Chromium; here one is found, or installed where apt-get is there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const USAGE: &str = "\
usage: cargo xtask browser [--shots DIRECTORY] [TEST]

Runs the tests of the report's page, or those whose names contain TEST. The environment variable CHROMIUM says which
browser is used, if not the first of those in PATH. With --shots, pictures of the pages are left in the directory.";

/// What Chromium and its kin are called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What the words after `cargo xtask browser` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    shots: Option<PathBuf>,
    test: Option<String>,
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let wish = wish(words).ok_or(USAGE)?;
    let chromium = match find() {
        Some(chromium) => chromium,
        None => install()?,
    };
    println!("{}", version(&chromium)?);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--package", "ondeck-cli", "--test", "browser"]).args(wish.test);
    cargo.args(["--", "--include-ignored"]).current_dir(root).env("CHROMIUM", chromium);
    if let Some(shots) = wish.shots {
        // The tests run in a directory of their own.
        let shots = std::path::absolute(&shots).map_err(|error| format!("{}: {error}", shots.display()))?;
        cargo.env("ONDECK_SHOTS", shots);
    }
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the page does not do all that it should; the report is above".into()) }
}

fn wish(words: &[String]) -> Option<Wish> {
    let mut wish = Wish::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--shots" if wish.shots.is_none() => wish.shots = Some(words.next()?.into()),
            test if !test.starts_with('-') && wish.test.is_none() => wish.test = Some(test.to_owned()),
            _ => return None,
        }
    }
    Some(wish)
}

/// The browser that is asked for, or the first that there is.
fn find() -> Option<PathBuf> {
    if let Some(chromium) = std::env::var_os("CHROMIUM") {
        return Some(chromium.into());
    }
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| places.iter().map(move |place| place.join(name))).find(|file| file.is_file())
}

fn install() -> Result<PathBuf, String> {
    println!("there is no Chromium; installing Debian's");
    for words in [&["update", "-qq"][..], &["install", "-y", "-qq", "--no-install-recommends", "chromium"][..]] {
        let mut apt = as_root("apt-get");
        apt.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        let done = apt.status().is_ok_and(|status| status.success());
        if !done {
            return Err("there is no Chromium, and apt-get cannot install it; set CHROMIUM to the path of one".into());
        }
    }
    find().ok_or_else(|| "apt-get has installed chromium, but it is not in PATH".into())
}

fn as_root(program: &str) -> Command {
    let id = Command::new("id").arg("-u").output().map(|output| output.stdout);
    if id.is_ok_and(|id| id.starts_with(b"0")) {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.arg(program);
    sudo
}

fn version(chromium: &Path) -> Result<String, String> {
    let output = Command::new(chromium).arg("--version").stderr(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", chromium.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { Ok(version) } else { Err(format!("{} --version fails", chromium.display())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_refused() {
        let asked = |words: &[&str]| wish(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>());
        assert_eq!(asked(&[]), Some(Wish::default()));
        let both = Wish { shots: Some("here".into()), test: Some("printed".into()) };
        assert_eq!(asked(&["--shots", "here", "printed"]), Some(both));
        assert_eq!(asked(&["--shots"]), None);
        assert_eq!(asked(&["--help"]), None);
        assert_eq!(asked(&["one", "two"]), None);
    }
}
