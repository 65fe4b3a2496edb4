//! The workspace's own tools, `cargo xtask NAME`: what no stock tool checks.
//!
//! Each is also a step of `.ci/run`, and there is no other list of steps.

mod asm;
mod book;
mod browser;
mod build_cost;
mod capi;
mod deb;
mod docs;
#[cfg(feature = "lab")]
mod figures;
mod install;
mod kept;
mod lexer;
#[cfg(feature = "lab")]
mod matrix;
mod models;
mod mutants;
mod net;
mod package;
mod patched;
#[cfg(feature = "lab")]
mod ports;
#[cfg(feature = "lab")]
mod programs;
mod sanitize;
#[cfg(feature = "lab")]
mod scaling;
mod table;
mod tidy;
mod times;
#[cfg(feature = "lab")]
mod validate;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TOOL

  tidy       the rules of STYLE.md that a program can check
  asm        machine code of the fast paths: one locked instruction each
  docs       writes the generated part of docs/, or says whether it is stale [--check]
  figures    computes what docs/scaling.md and docs/policies.md show, on simulated machines, and draws it [--policies]
  build-cost what a clean build and a small change cost, and how large the program is; minutes
  book       docs/ as a book, by mdBook
  browser    the page of `ondeck report` in a real Chromium [--shots DIRECTORY] [TEST]
  capi       the C and C++ interface: installed, compiled in every way that users have, and run
  deb        a Debian package of program and libraries; with --check installed into a directory, and used
  install    the libraries for C and C++, with headers, pkg-config and CMake files: --prefix DIRECTORY
  kept       steps of the gate that are left out while their input is as it was: STEP... [--all]
  matrix     every lock in sections of every length, and as one of many, on every large simulated machine; an hour and a half
             [--machine NAME]... [--lock NAME]... [--missing] [--shard i/n | --gather]
  models     the TLA+ models of spec/, each with the outcome that it must have [--module NAME] [--all]
  mutants    breaks the locks one edit at a time; some test must notice [--lock NAME]... [--all]
  net        breaks the flagship, or what is preloaded, in every way that an operator can [--subject lock|preloaded]
             [--only TEXT] [--budget SECONDS] [--minutes N] [--survivors] [--long] [--write]
  package    the crates that are published, as their users get them
  patched    crates/parking_lot in the place of parking_lot: in parking_lot's own tests, and in those of tokio, moka and
             dashmap; half an hour from nothing [parking_lot|tokio|moka|dashmap|dashmap-rwlock]... [--test GLOB]...
             [--bench [ROUNDS]]
  ports      our texts of other libraries' mutexes beside the originals, on this machine; ten minutes
  programs   other people's programs with glibc's locks and with ours preloaded, in turn; a quarter of an hour
             [--only NAME,...] [--rounds N] [--library PATH] [--lock NAME] [--check] [--predict]
             [--profiles [--check]] [--advice] [--overhead] [--responses] [--small]
  scaling    the flagship on simulated machines, against what is on record [--write | --all]
  validate   the simulator beside published tables; minutes [--check]
  sanitize   the hardware tests under the sanitizers [address|thread]
  times      writes how long the steps of the last .ci/run took into CONTRIBUTING.md
  verdicts   models, mutants and scaling, which keep what they find in results/verdicts [--all]
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match tool(&root(), &words) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Does what the words say; `None` if no tool has that name.
fn tool(root: &Path, words: &[String]) -> Option<Result<(), String>> {
    let (name, rest) = words.split_first()?;
    Some(match name.as_str() {
        "tidy" => tidy::run(root),
        "docs" => docs::run(root, rest),
        "asm" => asm::run(root),
        "build-cost" => build_cost::run(root),
        "book" => book::run(root, rest),
        "browser" => browser::run(root, rest),
        "capi" => capi::run(root),
        "deb" => deb::run(root, rest),
        "install" => install::run(root, rest),
        "kept" => kept::run(root, rest),
        "models" => models::run(root, rest),
        "mutants" => mutants::run(root, rest),
        "net" => net::run(root, rest),
        "package" => package::run(root),
        "patched" => patched::run(root, rest),
        "sanitize" => sanitize::run(root, rest),
        "times" => times::run(root, rest),
        "verdicts" => verdicts::run(root, rest),
        "figures" | "matrix" | "ports" | "programs" | "scaling" | "validate" => with_lab(root, words),
        _ => return None,
    })
}

/// One of the tools that run locks or draw figures.
#[cfg(feature = "lab")]
fn with_lab(root: &Path, words: &[String]) -> Result<(), String> {
    let rest = &words[1..];
    match words[0].as_str() {
        "figures" => figures::run(root, rest),
        "matrix" => matrix::run(root, rest),
        "ports" => ports::run(root, rest),
        "programs" => programs::run(root, rest),
        "scaling" => scaling::run(root, rest),
        _ => validate::run(root, rest),
    }
}

/// Builds these tools with what they need, and lets them do it.
#[cfg(not(feature = "lab"))]
fn with_lab(root: &Path, words: &[String]) -> Result<(), String> {
    let mut cargo = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = cargo.args(["run", "--quiet", "--package", "xtask", "--"]).args(words).current_dir(root).status();
    let status = status.map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo xtask {}` failed", words.join(" "))) }
}

/// The directory of the workspace, which holds the one of this crate. Cargo says at run time which that is: several
/// clones may share a target directory, and so this very program.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}
