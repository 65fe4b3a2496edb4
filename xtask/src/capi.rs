//! `cargo xtask capi`: the C and C++ interface, as its users get it.
//!
//! Installs into `capi/prefix` below the target directory, and from there on knows only what is installed: the headers under
//! the strictest warnings, the symbols of the libraries, and every example and test of `crates/capi`, compiled by gcc and by
//! clang, with the shared and the static library, found by pkg-config and by CMake, and run. A program says in its first
//! comment what it prints. A tool that is missing is named, and what needs it is left out.

mod programs;

use crate::command::{is_there, output};
use crate::files::{read, remove};
use crate::install::{self, Build};
use programs::Program;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compilers of C and of C++ that belong together.
const COMPILERS: [[&str; 2]; 2] = [["gcc", "g++"], ["clang", "clang++"]];

const STRICT: [&str; 5] = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// What is compiled without being linked: the standard, and a header or program of `crates/capi`.
const CHECKS: [(&str, &str); 9] = [
    ("c99", "include/ondeck.h"),
    ("c99", "examples/timed.c"),
    ("c99", "examples/queue.c"),
    ("c11", "include/ondeck.h"),
    ("c17", "include/ondeck.h"),
    ("c++11", "include/ondeck.h"),
    ("c++17", "include/ondeck.hpp"),
    ("c++20", "include/ondeck.hpp"),
    ("c++20", "tests/requirements.cpp"),
];

/// Where everything is.
struct Places {
    /// The crate, for sources.
    source: PathBuf,
    /// Where it is installed.
    prefix: PathBuf,
    /// For what is built.
    work: PathBuf,
}

/// Installs and tries; stops at the first fault.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        println!("capi: skipped, what it installs is for Linux");
        return Ok(());
    }
    let build = Build::ask(root)?;
    let work = build.target.join("capi");
    remove(&work)?;
    let places = Places { source: root.join("crates/capi"), prefix: work.join("prefix"), work };
    install::install(root, &places.prefix)?;
    println!("capi: installed into {}", places.prefix.display());

    let mut missing = Vec::new();
    let mut has = |tool: &'static str| {
        let is_there = is_there(tool);
        if !is_there {
            println!("capi: {tool} is not installed, and what needs it is skipped");
            missing.push(tool);
        }
        is_there
    };
    let compilers: Vec<[&str; 2]> = COMPILERS.into_iter().filter(|pair| pair.iter().all(|tool| has(tool))).collect();
    if has("nm") {
        check_symbols(&places, &build.soname())?;
    }
    let n_checks = check_headers(&places, &compilers)?;
    let finders = programs::Finders { pkg_config: has("pkg-config"), cmake: has("cmake") };
    let all = Program::all(&places.source)?;
    let n_runs = programs::try_all(&places, &all, &compilers, &finders)?;
    let skipped =
        if missing.is_empty() { "nothing skipped".into() } else { format!("skipped: {}", missing.join(", ")) };
    println!("capi: {n_checks} checks of headers, {} programs, {n_runs} runs, {skipped}", all.len());
    Ok(())
}

/// Compiles each header by itself, and some programs, for every standard.
fn check_headers(places: &Places, compilers: &[[&str; 2]]) -> Result<usize, String> {
    for [c, cpp] in compilers {
        for (standard, file) in CHECKS {
            let is_cpp = standard.starts_with("c++");
            let mut compiler = Command::new(if is_cpp { cpp } else { c });
            compiler.arg(format!("-std={standard}")).args(STRICT).arg("-fsyntax-only").arg("-I");
            compiler.arg(places.prefix.join("include")).args(["-x", if is_cpp { "c++" } else { "c" }]);
            output(compiler.arg(places.source.join(file)))?;
        }
    }
    Ok(compilers.len() * CHECKS.len())
}

/// The shared library has what the header declares and nothing else; neither has a symbol of pthread.
fn check_symbols(places: &Places, soname: &str) -> Result<(), String> {
    let library = places.prefix.join("lib");
    let declared = declared(&read(&places.prefix.join("include/ondeck.h"))?);
    let listing = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library.join(soname)))?;
    let exported: BTreeSet<String> = symbols(&listing).map(str::to_owned).collect();
    if let Some(name) = declared.symmetric_difference(&exported).next() {
        return Err(format!("capi: `{name}` is in one of ondeck.h and the shared library only"));
    }
    let listing = output(Command::new("nm").args(["--defined-only", "--quiet"]).arg(library.join("libondeck.a")))?;
    let in_archive: BTreeSet<&str> = symbols(&listing).collect();
    if let Some(name) = declared.iter().find(|name| !in_archive.contains(name.as_str())) {
        return Err(format!("capi: the static library has no `{name}`"));
    }
    if let Some(name) = in_archive.iter().find(|name| name.trim_start_matches('_').starts_with("pthread_")) {
        return Err(format!("capi: the static library has `{name}`, which is not ours"));
    }
    println!("capi: {} functions are exported, and nothing else", declared.len());
    Ok(())
}

/// The functions of the header, whose declarations begin their lines.
fn declared(header: &str) -> BTreeSet<String> {
    let names = header.lines().filter_map(|line| {
        let rest = line.strip_prefix("int ").or_else(|| line.strip_prefix("const char *"))?;
        Some(rest.split_once('(')?.0.to_owned())
    });
    names.collect()
}

/// The names in what nm prints.
fn symbols(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| line.split_whitespace().nth(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_and_symbols_are_read() {
        let header = "/* int a(b) */\nint ondeck_a(int b,\n    int c);\nconst char *ondeck_b(void);\n    uint64_t x;\n";
        assert_eq!(declared(header), BTreeSet::from(["ondeck_a".to_owned(), "ondeck_b".to_owned()]));
        let listing = "\nfile.o:\n00ff T ondeck_a\n00fe t other\n";
        assert_eq!(symbols(listing).collect::<Vec<_>>(), ["ondeck_a", "other"]);
    }

    #[test]
    fn the_header_declares_every_function_of_the_crate() {
        let read = |path: &str| read(&crate::root().join("crates/capi").join(path)).expect(path);
        let sources: String =
            ["lib", "mutex", "condvar", "monitor"].map(|name| read(&format!("src/{name}.rs"))).concat();
        let defined =
            sources.split("extern \"C\" fn ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0.to_owned()));
        assert_eq!(declared(&read("include/ondeck.h")), defined.collect());
    }
}
