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
mod models;
mod mutants;
mod patched;
mod tidy;

use clap::Parser;
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
    /// Writes the generated part of docs/
    Docs {
        /// Only says whether it is stale
        #[arg(long)]
        check: bool,
    },
    /// The TLA+ models of proof/spec/, each with the outcome that it must have
    Models {
        /// Only those of this module, or these
        #[arg(long = "module", value_name = "NAME", value_delimiter = ',')]
        modules: Vec<String>,
        /// Only what the gate asks for: models of what is published or preloaded that hold, but for the slow ones
        #[arg(long)]
        gate: bool,
    },
    /// Breaks what is published and the recorder one edit at a time; some test must notice
    Mutants {
        /// Only those of this list, or these
        #[arg(long = "lock", value_name = "NAME")]
        locks: Vec<String>,
    },
    /// crates/parking_lot in the place of parking_lot: in parking_lot's own tests, and in those of tokio, moka and dashmap;
    /// half an hour from nothing
    Patched(patched::Options),
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
        Tool::Docs { check } => docs::run(root, check),
        Tool::Asm => asm::run(root),
        Tool::Models { modules, gate } => models::run(root, &modules, gate),
        Tool::Mutants { locks } => mutants::run(root, &locks),
        Tool::Patched(options) => patched::run(root, &options),
    }
}

/// The directory of the workspace, which holds the one of this crate. Cargo says at run time which that is: several
/// clones may share a target directory, and so this very program.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}
