//! `cargo xtask models`: runs the TLA+ models of `proof/spec/` through TLC and demands of each what its configuration expects.
//!
//! A configuration that expects a fault is as good a test as one that expects none: it shows that the model can notice
//! that fault. `proof/spec/README.md` has the conventions.

pub(crate) mod config;
mod tlc;

use self::config::Config;
use self::tlc::Tlc;
use crate::files::{ErrorContext, names, read};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// Each run has one worker, which makes it reproducible, and up to 2 GB; so many are under way at once.
const MOST_AT_ONCE: usize = 2;

/// Runs the models of these modules, or of all; with `is_gate` only those that the gate asks for.
pub(crate) fn run(root: &Path, modules: &[String], is_gate: bool) -> Result<(), String> {
    let spec = root.join("proof/spec");
    let all = load(&spec)?;
    if let Some(name) = modules.iter().find(|name| all.iter().all(|config| config.module != **name)) {
        return Err(format!("--module {name}: there is no proof/spec/{name}.toml"));
    }
    let is_for_gate = |c: &&Config| c.gate && c.expected == "holds";
    let is_chosen = |c: &&Config| (modules.is_empty() || modules.contains(&c.module)) && (!is_gate || is_for_gate(c));
    let chosen: Vec<&Config> = all.iter().filter(is_chosen).collect();
    let tlc = Tlc::obtain(root)?;
    let start = Instant::now();
    let open = Mutex::new(chosen.iter());
    let next = || open.lock().expect("nobody panics while holding it").next();
    let n_at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let worker = || std::iter::from_fn(next).filter_map(|config| tlc.run(&spec, config).err()).collect();
        let workers: Vec<_> = (0..n_at_once).map(|_| scope.spawn(worker)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ended.collect::<Vec<Vec<String>>>().concat()
    });
    println!("{} models, {} not as expected, {:.0} s", chosen.len(), failures.len(), start.elapsed().as_secs_f64());
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// All configurations of a directory, if they follow the rules.
pub(crate) fn load(spec: &Path) -> Result<Vec<Config>, String> {
    let mut configs = Vec::new();
    for name in names(spec)? {
        if let Some(module) = name.strip_suffix(".toml") {
            let file = spec.join(&name);
            configs.extend(config::parse(module, &read(&file)?).at(&file)?);
        }
    }
    Ok(configs)
}
