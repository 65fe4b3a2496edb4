//! `cargo xtask models`: runs the TLA+ models of `spec/` through TLC and demands of each what its configuration expects.
//!
//! A configuration that expects a fault is as good a test as one that expects none: it shows that the model can notice
//! that fault. `spec/README.md` has the conventions, [`config`] checks them. TLC is run with one worker and fixed
//! numbers, so what it finds is the same each time.

pub(crate) mod config;
mod tlc;

use self::config::Config;
use self::tlc::{Run, Tlc};
use crate::files::{At, names, read};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::Instant;

/// Each run has one worker, which makes it reproducible, and up to 2 GB; so many are under way at once.
const MOST_AT_ONCE: usize = 2;
/// Lines of a failed run's log that are shown: the end of the trace and the counts.
const LOG_LINES: usize = 60;

/// Runs all models, or those of the module that is named.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let spec = root.join("spec");
    let all = load(&spec)?;
    config::check_modules(&all).map_err(|faults| faults.join("\n"))?;
    let modules: Vec<&str> = config::modules(&all).collect();
    let chosen: Vec<&Config> = all.iter().filter(|config| only.is_none_or(|only| only == config.module)).collect();
    if chosen.is_empty() {
        return Err(format!("--module takes one of: {}", modules.join(", ")));
    }
    let tlc = Tlc::obtain(root)?;
    let start = Instant::now();
    let failures = run_all(&tlc, &spec, &chosen)?;
    let n_modules = config::modules(chosen.iter().copied()).count();
    let seconds = start.elapsed().as_secs_f64();
    println!("{n_modules} modules, {} models, {} not as expected, {seconds:.0} s", chosen.len(), failures.len());
    if failures.is_empty() { Ok(()) } else { Err(failures.concat()) }
}

/// All configurations of a directory, if they and their modules follow the rules.
pub(crate) fn load(spec: &Path) -> Result<Vec<Config>, String> {
    let mut files = Vec::new();
    for name in names(spec)?.into_iter().filter(|name| name.ends_with(".cfg") || name.ends_with(".tla")) {
        let text = read(&spec.join(&name))?;
        files.push((name, text));
    }
    config::parse_all(&files).map_err(|faults| faults.join("\n"))
}

/// Runs the models side by side, and prints a line for each, in order. What is returned tells of those that failed.
fn run_all(tlc: &Tlc, spec: &Path, configs: &[&Config]) -> Result<Vec<String>, String> {
    let width = |of: fn(&Config) -> &str| configs.iter().map(|config| of(config).len()).max().unwrap_or(0);
    let (modules, purposes) = (width(|config| &config.module), width(|config| &config.purpose));
    let n_workers = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
    let (senders, receivers): (Vec<_>, Vec<_>) = configs.iter().map(|_| mpsc::channel()).unzip();
    let open = Mutex::new(configs.iter().zip(senders));
    let next = || open.lock().expect("nobody panics while holding it").next();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            // Ended by the last model, or by a main thread that has gone because one could not be run at all.
            scope.spawn(|| {
                while let Some((config, sender)) = next() {
                    if sender.send(tlc.run(spec, config)).is_err() {
                        break;
                    }
                }
            });
        }
        for (config, receiver) in configs.iter().zip(receivers) {
            let run = receiver.recv().at("a worker")??;
            println!("{:modules$}  {:purposes$}  {}", config.module, config.purpose, line(config, &run));
            failures.extend(failure(config, &run));
        }
        Ok(failures)
    })
}

fn line(config: &Config, run: &Run) -> String {
    let Run { distinct_states, depth, seconds, .. } = run;
    let verdict = match &run.verdict {
        Ok(found) if *found == config.expected => found.finding(),
        Ok(found) => format!("FAILED: expected {}, {}", config.expected, found.finding()),
        Err(reason) => format!("FAILED: expected {}, but {reason}", config.expected),
    };
    let [states, depth] = [distinct_states, depth].map(|n| n.map_or("-".to_owned(), |n| n.to_string()));
    format!("{states:>9} states  depth {depth:>3}  {seconds:5.1} s  {verdict}")
}

/// What somebody who sees only this output needs of a run that is not as expected.
fn failure(config: &Config, run: &Run) -> Option<String> {
    if run.verdict.as_ref() == Ok(&config.expected) {
        return None;
    }
    let log = read(&run.log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    Some(format!("\n{}: {}\nThe end of {}:\n{tail}\n", config.file(), config.shows, run.log.display()))
}
