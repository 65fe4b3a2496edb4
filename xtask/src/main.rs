//! The workspace's own tools, `cargo xtask NAME`: what no stock tool checks.
//!
//! Who changes this project runs them, and so do `.ci/run` and `.ci/nightly`. Begin with `Tool`, the list of them; each has a
//! file of its name.

mod asm;
mod command;
mod docs;
mod files;
#[cfg(test)]
mod links;
#[cfg(feature = "lab")]
mod matrix;
mod models;
mod mutants;
mod patched;
#[cfg(feature = "lab")]
mod programs;
#[cfg(feature = "lab")]
mod scaling;
mod table;
mod tidy;

use clap::{Args, Parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The workspace's own tools
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Tool {
    /// Headers of algorithms against their code and their models, by the rules of STYLE.md
    Tidy,
    /// Machine code of the fast paths: one locked instruction each
    Asm,
    /// Writes the generated part of docs/, or says whether it is stale [--check]
    Docs(Words),
    /// Every lock in sections of every length, and as one of many, on every large simulated machine; an hour and a half
    /// [--machine NAME]
    Matrix(Words),
    /// The TLA+ models of proof/spec/, each with the outcome that it must have
    Models {
        /// Only those of this module, or these
        #[arg(long = "module", value_name = "NAME", value_delimiter = ',')]
        modules: Vec<String>,
        /// Only what the gate asks for: models of what is published or preloaded, but for the slow ones
        #[arg(long)]
        gate: bool,
    },
    /// Breaks the locks one edit at a time; some test must notice
    Mutants {
        /// Only those of this lock, or these
        #[arg(long = "lock", value_name = "NAME")]
        locks: Vec<String>,
    },
    /// crates/parking_lot in the place of parking_lot: in parking_lot's own tests, and in those of tokio, moka and dashmap;
    /// half an hour from nothing
    Patched(patched::Options),
    /// Other people's programs with glibc's locks and with ours preloaded, in turn; a quarter of an hour
    /// [--only NAME,...] [--rounds N | --check] [--lock NAME | --profiles]
    Programs(Words),
    /// The flagship on simulated machines, against what is on record [--write]
    Scaling(Words),
}

/// What a tool reads itself.
#[derive(Args)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

fn main() -> ExitCode {
    match run(&root(), Tool::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, tool: Tool) -> Result<(), String> {
    match tool {
        Tool::Tidy => tidy::run(root),
        Tool::Docs(Words { words }) => docs::run(root, &words),
        Tool::Asm => asm::run(root),
        Tool::Models { modules, gate } => models::run(root, &modules, gate),
        Tool::Mutants { locks } => mutants::run(root, &locks),
        Tool::Patched(options) => patched::run(root, &options),
        Tool::Matrix(Words { words }) => with_lab(root, "matrix", &words),
        Tool::Programs(Words { words }) => with_lab(root, "programs", &words),
        Tool::Scaling(Words { words }) => with_lab(root, "scaling", &words),
    }
}

/// One of the tools that run locks or draw figures.
#[cfg(feature = "lab")]
fn with_lab(root: &Path, tool: &str, words: &[String]) -> Result<(), String> {
    match tool {
        "matrix" => matrix::run(root, words),
        "programs" => programs::run(root, words),
        _ => scaling::run(root, words),
    }
}

/// Builds these tools with what they need, and lets them do it.
#[cfg(not(feature = "lab"))]
fn with_lab(root: &Path, tool: &str, words: &[String]) -> Result<(), String> {
    command::succeed(command::cargo(root).args(["run", "--quiet", "--package", "xtask", "--", tool]).args(words))
}

/// The directory of the workspace, which holds the one of this crate. Cargo says at run time which that is: several
/// clones may share a target directory, and so this very program.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}
