//! The workspace's own tools, `cargo xtask NAME`: what no stock tool checks.
//!
//! Each is also a step of `.ci/run`, and there is no other list of steps.

mod asm;
mod browser;
mod docs;
mod figures;
mod lexer;
mod models;
mod mutants;
mod net;
mod package;
mod sanitize;
mod scaling;
mod tidy;
mod validate;
mod verdicts;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TOOL

  tidy       the rules of STYLE.md that a program can check
  asm        machine code of the fast paths: one locked instruction each
  docs       writes the generated part of docs/, or says whether it is stale [--check]
  figures    computes what docs/scaling.md shows, every lock on simulated machines, and draws it
  browser    the page of `ondeck report` in a real Chromium [--shots DIRECTORY] [TEST]
  models     the TLA+ models of spec/, each with the outcome that it must have [--module NAME] [--all]
  mutants    breaks the locks one edit at a time; some test must notice [--lock NAME]... [--all]
  net        breaks the flagship in every way that an operator can [--kind orderings|decisions] [--file NAME]
             [--only TEXT] [--budget SECONDS] [--minutes N] [--long] [--write]
  package    the crates that are published, as their users get them
  scaling    the flagship on simulated machines, against what is on record [--write | --all]
  validate   the simulator beside published tables; minutes [--check]
  sanitize   the hardware tests under the sanitizers [address|thread]
  verdicts   models, mutants and scaling, which keep what they find in results/verdicts [--all]
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.first().map(String::as_str) {
        Some("tidy") => tidy::run(&root()),
        Some("asm") => asm::run(&root()),
        Some("docs") => docs::run(&root(), &words[1..]),
        Some("figures") => figures::run(&root(), &words[1..]),
        Some("browser") => browser::run(&root(), &words[1..]),
        Some("models") => models::run(&root(), &words[1..]),
        Some("mutants") => mutants::run(&root(), &words[1..]),
        Some("net") => net::run(&root(), &words[1..]),
        Some("package") => package::run(&root()),
        Some("scaling") => scaling::run(&root(), &words[1..]),
        Some("validate") => validate::run(&root(), &words[1..]),
        Some("sanitize") => sanitize::run(&root(), &words[1..]),
        Some("verdicts") => verdicts::run(&root(), &words[1..]),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of the workspace, which holds the one of this crate. Cargo says at run time which that is: several
/// clones may share a target directory, and so this very program.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}
