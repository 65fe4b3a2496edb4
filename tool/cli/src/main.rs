//! The program `ondeck`: words and flags. What they do is in the other crates of `tool/`; with the feature `lab`, in those of
//! `lab/` too.
//!
//! People run it. Begin with `args`, the words; each command has a file of its name.
//!
//! Exit codes: 0 done; 1 the run failed (a lock lost an update or hung, a file could not be written after all), and what
//! was ready before has been written; 2 the command line or an input file is wrong, in one line that says what is
//! accepted; 130 ended by Ctrl-C and 143 by SIGTERM, as 1 is. `ondeck run`, `ondeck profile` and `ondeck top` give their program's; 126 if
//! that cannot be run, 127 if there is none. `ondeck try` gives 1 if only ondeck's locks make it fail.

mod args;
mod compare;
mod demo;
mod profile;
mod run;
mod shell;
mod top;
mod trial;

use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use ondeck_kit::exit::{self, Exit};
use std::ffi::OsString;

/// Who started us may have had no interest in the ends of its children, and we inherit that. Then we would never hear how a
/// program ended that we run.
fn hear_of_children() {
    // SAFETY: takes numbers only, and there is no other thread yet.
    #[cfg(unix)]
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

fn main() {
    hear_of_children();
    let done = match Cli::try_parse_from(words()) {
        Ok(cli) => match cli.command {
            #[cfg(feature = "lab")]
            Command::Bench(args) => ondeck_lab::bench(&args),
            #[cfg(feature = "lab")]
            Command::Sim(args) => ondeck_lab::sim(&args),
            Command::Run(args) => run::run(&args),
            Command::Profile(args) => profile::run(&args),
            Command::Try(args) => trial::run(&args),
            Command::Top(args) => top::run(&args),
            #[cfg(feature = "lab")]
            Command::List(args) => ondeck_lab::list(&args),
            #[cfg(feature = "lab")]
            Command::Calibrate(args) => ondeck_lab::calibrate(&args),
            Command::Compare(args) => compare::run(&args),
            #[cfg(feature = "lab")]
            Command::Report(args) => profile::report(&args),
            Command::Demo(library) => demo::run(library.path.as_deref()),
            Command::DemoServer => demo::serve(),
            Command::Completions { shell } => shell::completions(shell),
            Command::Man { directory } => shell::man(&directory),
        },
        Err(error) => Err(explain(&error)),
    };
    // Leaving this way rather than by returning: threads of a lock that hangs cannot be ended otherwise.
    std::process::exit(exit::code(done));
}

/// The words of the command line, with `ondeck profile --try` as `ondeck try`.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if let Some(place) = place_of_try(&words) {
        words.remove(place);
        words[1] = "try".into();
    }
    words
}

/// Where `--try` stands among the flags of `profile`. Behind a word that is no flag, it is the program's.
fn place_of_try(words: &[OsString]) -> Option<usize> {
    /// Those of `try` that have a value behind them.
    const WITH_VALUE: [&str; 4] = ["--library", "--metric", "--metric-less", "--rounds"];
    let is_value = |place: usize| WITH_VALUE.iter().any(|flag| words[place - 1] == *flag);
    let is_flag = |place: usize| words[place] != "--" && words[place].as_encoded_bytes().starts_with(b"-");
    let mut flags = (2..words.len()).take_while(|place| is_flag(*place) || is_value(*place));
    if words.get(1)? == "profile" { flags.find(|place| words[*place] == "--try") } else { None }
}

/// Help and version as clap prints them; errors in one line, with what is accepted, or the usage where a word is missing.
fn explain(error: &clap::Error) -> Exit {
    let rendered = error.render().to_string();
    let hint = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.exit()
        }
        ErrorKind::InvalidSubcommand => {
            let command = Cli::command();
            let names: Vec<&str> = command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(clap::Command::get_name)
                .collect();
            format!("; accepted: {}", names.join(", "))
        }
        ErrorKind::UnknownArgument => "; --help names what is accepted".to_string(),
        ErrorKind::MissingRequiredArgument => {
            let usage = rendered.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("see --help");
            return Exit::Usage(format!("an argument is missing: {usage}"));
        }
        _ => String::new(),
    };
    Exit::Usage(one_line(&rendered) + &hint)
}

fn one_line(rendered: &str) -> String {
    let is_usage = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
    let lines = rendered.lines().map(str::trim).take_while(|line| !is_usage(line)).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<&str>>().join("; ");
    line.trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_of_the_program_is_its_own() {
        let place = |line: &str| place_of_try(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(place("ondeck profile --try -- ./job"), Some(2));
        assert_eq!(place("ondeck profile --library a.so --rounds 3 --try ./job --try"), Some(6));
        for line in
            ["ondeck profile ./job --try", "ondeck profile -- --try", "ondeck top --try", "ondeck profile", "ondeck"]
        {
            assert_eq!(place(line), None, "{line}");
        }
    }
}
