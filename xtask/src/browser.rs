//! `cargo xtask browser`: the page of `ondeck report` in a real Chromium.
//!
//! The tests are the target `browser` of ondeck-cli, where cargo builds the program for them. They are ignored by `cargo
//! test`, as not every machine has a Chromium; here one is found, or installed where apt-get is there.

use crate::command::{cargo, is_there, output, succeed};
use crate::files::At;
use std::path::Path;
use std::process::{Command, Stdio};

/// What Chromium and its kin are called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs the tests of the report's page, or those whose names contain `test`; leaves pictures of the pages in `shots`.
pub(crate) fn run(root: &Path, shots: Option<&Path>, test: Option<&str>) -> Result<(), String> {
    let chromium = find().map_or_else(install, Ok)?;
    print!("{}", output(Command::new(&chromium).arg("--version"))?);
    let mut cargo = cargo(root);
    cargo.args(["test", "--package", "ondeck-cli", "--test", "browser"]).args(test);
    cargo.args(["--", "--include-ignored"]).env("CHROMIUM", chromium);
    if let Some(shots) = shots {
        // The tests run in a directory of their own.
        cargo.env("ONDECK_SHOTS", std::path::absolute(shots).at(shots)?);
    }
    succeed(&mut cargo)
}

/// The browser that is asked for, or the first that there is.
fn find() -> Option<String> {
    let given = std::env::var("CHROMIUM").ok();
    given.or_else(|| NAMES.into_iter().find(|name| is_there(name)).map(str::to_owned))
}

fn install() -> Result<String, String> {
    const INSTALL: &str = "[ $(id -u) = 0 ] || as_root=sudo; export DEBIAN_FRONTEND=noninteractive
        $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends chromium";
    println!("there is no Chromium; installing Debian's");
    let installed = succeed(Command::new("sh").args(["-c", INSTALL]).stdin(Stdio::null()));
    installed.map_err(|_| "there is no Chromium, and apt-get cannot install it; set CHROMIUM to the path of one")?;
    find().ok_or_else(|| "apt-get has installed chromium, but it is not in PATH".into())
}
