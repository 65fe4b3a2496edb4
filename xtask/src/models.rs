//! `cargo xtask models`: runs the TLA+ models of `spec/` through TLC and demands of each what its configuration expects.
//!
//! A configuration that expects a fault is as good a test as one that expects none: it shows that the model can notice
//! that fault. `spec/README.md` has the conventions, [`config`] checks them. TLC is run with one worker and fixed
//! numbers, so what it finds is kept (`verdicts.rs`) with the hash of module, configuration and jar.

pub(crate) mod config;
mod tlc;

use self::config::Config;
use self::tlc::{Run, Tlc};
use crate::verdicts::{ALL, Input, Verdicts};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Instant;

/// Each run has one worker, which makes it reproducible, and up to 2 GB; so many are under way at once.
const MOST_AT_ONCE: usize = 2;
/// Lines of a failed run's log that are shown: the end of the trace and the counts.
const LOG_LINES: usize = 60;

/// Runs all models, or those of the module that `--module NAME` names; with `--all` also those whose verdict is kept.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let is_all = words.last().is_some_and(|word| word == ALL);
    let only = match &words[..words.len() - usize::from(is_all)] {
        [] => None,
        [flag, module] if flag == "--module" => Some(module.as_str()),
        _ => return Err("usage: cargo xtask models [--module NAME] [--all]".into()),
    };
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
    let mut verdicts = Verdicts::read(root, "models", is_all)?;
    let inputs = chosen.iter().map(|config| input(root, &tlc, config)).collect::<Result<Vec<Input>, String>>()?;
    let kept = chosen.iter().zip(&inputs).map(|(config, input)| verdicts.take(&config.file(), input));
    let kept: Vec<Option<Run>> = kept.map(|text| text.and_then(|text| Run::of_kept(&text))).collect();
    let (runs, mut failures) = run_all(&tlc, &spec, &chosen, &kept)?;
    for ((config, input), run) in chosen.iter().zip(&inputs).zip(&runs) {
        failures.extend(run.to_keep().and_then(|text| verdicts.keep(&config.file(), input, &text).err()));
    }
    verdicts.write(|file| all.iter().any(|config| config.file() == file))?;
    let n_modules = config::modules(chosen.iter().copied()).count();
    let seconds = start.elapsed().as_secs_f64();
    println!("{n_modules} modules, {} models, {} not as expected, {seconds:.0} s", chosen.len(), failures.len());
    if failures.is_empty() { Ok(()) } else { Err(failures.concat()) }
}

/// What the outcome of a model depends on: its module and those that this one names, its configuration, and TLC.
fn input(root: &Path, tlc: &Tlc, config: &Config) -> Result<Input, String> {
    // Also one that others only extend, which has no configuration.
    let is_module = |name: &str| root.join(format!("spec/{name}.tla")).is_file();
    let mut modules = vec![config.module.clone()];
    let mut next = 0;
    while let Some(module) = modules.get(next) {
        let path = root.join(format!("spec/{module}.tla"));
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for name in words {
            if is_module(name) && modules.iter().all(|known| known != name) {
                modules.push(name.to_owned());
            }
        }
        next += 1;
    }
    modules.sort_unstable();
    let files = modules.iter().map(|module| format!("spec/{module}.tla")).chain([format!("spec/{}", config.file())]);
    files.fold(tlc.input(), |input, file| input?.and_files(root, &file))
}

/// All configurations of a directory, if they and their modules follow the rules.
pub(crate) fn load(spec: &Path) -> Result<Vec<Config>, String> {
    let entries = fs::read_dir(spec).map_err(|error| format!("{}: {error}", spec.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut files: Vec<(String, String)> = Vec::new();
    for name in names.filter(|name| name.ends_with(".cfg") || name.ends_with(".tla")) {
        let text = fs::read_to_string(spec.join(&name)).map_err(|error| format!("spec/{name}: {error}"))?;
        files.push((name, text));
    }
    files.sort();
    config::parse_all(&files).map_err(|faults| faults.join("\n"))
}

/// Runs the models that are not `kept`, side by side, and prints a line for each, in order. What is returned is what they
/// gave, and tells of those that failed.
fn run_all(
    tlc: &Tlc,
    spec: &Path,
    configs: &[&Config],
    kept: &[Option<Run>],
) -> Result<(Vec<Run>, Vec<String>), String> {
    let width = |of: fn(&Config) -> &str| configs.iter().map(|config| of(config).len()).max().unwrap_or(0);
    let (modules, purposes) = (width(|config| &config.module), width(|config| &config.purpose));
    let n_workers = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
    let next = AtomicUsize::new(0);
    let (report, reports) = mpsc::channel();
    let (mut runs, mut failures) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            let (report, next) = (report.clone(), &next);
            // Ended by the last model, or by a main thread that has gone because one could not be run at all.
            scope.spawn(move || {
                while let Some((at, config)) = configs.iter().enumerate().nth(next.fetch_add(1, Relaxed)) {
                    let run = kept[at].clone().map_or_else(|| tlc.run(spec, config), Ok);
                    if report.send((at, run)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(report);
        let mut waiting = BTreeMap::new();
        for (at, run) in reports {
            waiting.insert(at, run?);
            while let Some(run) = waiting.remove(&runs.len()) {
                let config = configs[runs.len()];
                println!("{:modules$}  {:purposes$}  {}", config.module, config.purpose, line(config, &run));
                failures.extend(failure(config, &run));
                runs.push(run);
            }
        }
        Ok((runs, failures))
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
    let seconds = seconds.map_or("   kept".to_owned(), |seconds| format!("{seconds:5.1} s"));
    format!("{states:>9} states  depth {depth:>3}  {seconds}  {verdict}")
}

/// What somebody who sees only this output needs of a run that is not as expected.
fn failure(config: &Config, run: &Run) -> Option<String> {
    if run.verdict.as_ref() == Ok(&config.expected) {
        return None;
    }
    let log = fs::read_to_string(&run.log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    Some(format!("\n{}: {}\nThe end of {}:\n{tail}\n", config.file(), config.shows, run.log.display()))
}
