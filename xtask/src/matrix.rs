//! `cargo xtask matrix`: every lock in sections of every length, on every simulated machine with 20 CPUs or more.
//!
//! What is computed is kept in `results/sim/matrix.csv`, a line for each lock in each cell, from which `cargo xtask docs`
//! makes docs/matrix.md with its pictures. All of it takes half an hour on two cores; `--lock` and `--machine`, which may be
//! given several times, compute a part, and leave the rest of the file as it is. With `--shard i/n` the i-th of n parts is
//! computed into `target/matrix`, on whatever machine; `--gather` makes the file of the parts that are there.
//!
//! `cargo xtask scaling` computes a sample of it again ([`check_sample`]).

use crate::docs::matrix::{Cell, FILE, read, write};
use crate::{docs, scaling};
use ondeck_lab::world::Simulated;
use ondeck_lab::{lock, simulate};
use ondeck_report::row::Row;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Where the rows are until they are in the file.
const FRESH: &str = "target/matrix";
/// Machines are taken from so many CPUs on.
const FEWEST_CPUS: u32 = 20;
/// Units of work outside, to about 25 us.
const OUTSIDE: [u32; 4] = [0, 1_000, 10_000, 100_000];
/// Where there are four threads for each CPU, runs are dear: a quarter as many.
const SHARED: ([u32; 2], [u32; 2]) = ([200, 20_000], [0, 10_000]);
const SEEDS: u32 = 2;
/// Units of work inside, from about 5 ns to 5 us, and the length of their windows: a thousand of the longest sections, where
/// one follows another.
const SECONDS: [(&[u32], f64); 2] = [(&[20, 200], 0.003), (&[2_000, 20_000], 0.006)];
/// About the turn of each thread.
const SECONDS_SHARED: f64 = 0.012;
/// All waiters of these look again after every pause, which the simulator does one by one: a run takes a hundred times as
/// long as one of another lock, so their windows are a part of the others'. That is less than a slice, so with more
/// threads than CPUs nothing could be seen, and they are not run.
const POLLERS: [&str; 5] = ["ticket-spin", "mcs-spin", "linux-mutex-base", "linux-mutex-patch1", "linux-mutex-patch3"];
const POLLERS_PART: f64 = 0.125;
/// So many lines of the file are computed again in each check.
const SAMPLE: usize = 6;
/// By so much a figure may be less than on record.
const LEAST: f64 = 0.98;

const USAGE: &str = "usage: cargo xtask matrix [--machine NAME]... [--lock NAME]... [--shard i/n | --gather]";

/// One command: a machine, what it runs, and where the rows go.
#[derive(Clone, Debug, PartialEq)]
struct Sweep {
    machine: String,
    flags: String,
    out: PathBuf,
}

/// What the flags ask for; nothing stands for all.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    machines: Vec<String>,
    locks: Vec<String>,
    /// Part, and number of parts.
    shard: Option<(usize, usize)>,
    is_to_gather: bool,
}

/// Computes the cells and writes file and page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let asked = Asked::parse(words).ok_or(USAGE)?;
    let mut sweeps = sweeps(&asked)?;
    if let Some((part, parts)) = asked.shard {
        sweeps = sweeps[simulate::block(sweeps.len(), part, parts)].to_vec();
    }
    std::fs::create_dir_all(root.join(FRESH)).map_err(|error| format!("{FRESH}: {error}"))?;
    for Sweep { machine, flags, out } in sweeps.iter().filter(|_| !asked.is_to_gather) {
        scaling::sweep(root, machine, flags, out)?;
        println!("{} is written", out.display());
    }
    if asked.shard.is_some() {
        return Ok(());
    }
    let mut cells: BTreeMap<_, Cell> = read(root)?.into_iter().map(|cell| (cell.key(), cell)).collect();
    if asked.machines.is_empty() && asked.locks.is_empty() {
        cells.clear();
    }
    let is_there = |sweep: &&Sweep| !asked.is_to_gather || root.join(&sweep.out).exists();
    for Sweep { out, .. } in sweeps.iter().filter(is_there) {
        cells.extend(cells_of(&scaling::rows_of(&root.join(out))?).into_iter().map(|cell| (cell.key(), cell)));
    }
    write(root, cells.into_values())?;
    println!("{FILE} is written");
    docs::run(root, &[])
}

impl Asked {
    fn parse(words: &[String]) -> Option<Asked> {
        let mut asked = Asked::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--machine" => asked.machines.push(words.next()?.clone()),
                "--lock" => asked.locks.push(words.next()?.clone()),
                "--gather" => asked.is_to_gather = true,
                "--shard" => {
                    let (part, parts) = words.next()?.split_once('/')?;
                    let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
                    asked.shard = Some((part, parts)).filter(|_| (1..=parts).contains(&part));
                    asked.shard?;
                }
                _ => return None,
            }
        }
        (asked.shard.is_none() || !asked.is_to_gather).then_some(asked)
    }
}

/// The commands: for each machine the short sections, the long ones, and those with four threads for each CPU.
fn sweeps(asked: &Asked) -> Result<Vec<Sweep>, String> {
    let mut sweeps = Vec::new();
    let all = lock::lock_names_on::<Simulated>();
    let asked_for = |lock: &&str| asked.locks.is_empty() || asked.locks.iter().any(|name| name == lock);
    let (pollers, others): (Vec<&str>, Vec<&str>) = all.into_iter().filter(asked_for).partition(|lock| is_poller(lock));
    let (pollers, others) = (pollers.join(","), others.join(","));
    for machine in ondeck_sim::machine::builtin_names() {
        let n = simulate::machine(machine, None)?.cpus.len() as u32;
        if n < FEWEST_CPUS || !(asked.machines.is_empty() || asked.machines.iter().any(|name| name == machine)) {
            continue;
        }
        let up_to_n = format!("2,{},{n}", n / 4);
        let mut parts: Vec<(String, &str, String, f64)> = Vec::new();
        for (inside, seconds) in SECONDS {
            let workloads = workloads(inside, &OUTSIDE);
            parts.push((workloads.clone(), &others, up_to_n.clone(), seconds));
            parts.push((workloads, &pollers, up_to_n.clone(), seconds * POLLERS_PART));
        }
        parts.push((workloads(&SHARED.0, &SHARED.1), &others, (4 * n).to_string(), SECONDS_SHARED));
        let parts = parts.iter().filter(|(_, locks, _, _)| !locks.is_empty());
        sweeps.extend(parts.zip(1..).map(|((workloads, locks, threads, seconds), part)| Sweep {
            machine: machine.to_owned(),
            flags: flags(workloads, locks, threads, *seconds),
            out: Path::new(FRESH).join(format!("{machine}-{part}.csv")),
        }));
    }
    match sweeps.is_empty() {
        true => Err(format!(
            "no such lock, or no such machine with {FEWEST_CPUS} CPUs or more; `ondeck list locks` and `ondeck list machines` \
             name them"
        )),
        false => Ok(sweeps),
    }
}

fn workloads(inside: &[u32], outside: &[u32]) -> String {
    let names = inside.iter().flat_map(|cs| outside.iter().map(move |out| format!("sections/cs{cs}-out{out}")));
    names.collect::<Vec<String>>().join(",")
}

fn is_poller(lock: &str) -> bool {
    POLLERS.contains(&lock)
}

fn flags(workloads: &str, locks: &str, threads: &str, seconds: f64) -> String {
    format!("--workload {workloads} --lock {locks} --threads {threads} --seconds {seconds} --seeds {SEEDS}")
}

/// A cell for each lock in each setting, of the rows of its seeds.
fn cells_of(rows: &[Row]) -> Vec<Cell> {
    let mut by_cell: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_cell.entry((&row.workload, row.threads, &row.lock)).or_default().push(row);
    }
    by_cell.into_values().filter_map(|rows| Cell::of(&rows)).collect()
}

/// Computes a few lines of the file again, drawn anew each time: none may be less than there by more than a fiftieth.
pub(crate) fn check_sample(root: &Path) -> Result<Vec<String>, String> {
    let chance = RandomState::new();
    let mut cells = read(root)?;
    cells.sort_by_cached_key(|cell| chance.hash_one(cell.key()));
    let mut faults = Vec::new();
    for old in cells.iter().take(SAMPLE) {
        let [cpus, cs] = [simulate::machine(&old.machine, None)?.cpus.len() as u32, old.inside().unwrap_or(0)];
        let seconds = match SECONDS.iter().find(|(inside, _)| inside.contains(&cs)) {
            _ if old.threads > cpus => SECONDS_SHARED,
            Some((_, seconds)) => *seconds,
            None => return Err(format!("{FILE}: {} is no workload of the matrix", old.workload)),
        };
        let out = Path::new(FRESH).join("sample.csv");
        let flags = flags(
            &old.workload,
            &old.lock,
            &old.threads.to_string(),
            seconds * if is_poller(&old.lock) { POLLERS_PART } else { 1.0 },
        );
        std::fs::create_dir_all(root.join(FRESH)).map_err(|error| format!("{FRESH}: {error}"))?;
        scaling::sweep(root, &old.machine, &flags, &out)?;
        let new = cells_of(&scaling::rows_of(&root.join(&out))?);
        let new = new.first().ok_or_else(|| format!("{}: nothing was computed", old.name()))?;
        if new.middle() < LEAST * old.middle() {
            faults.push(format!("{}: {:.0} operations/s, in {FILE} {:.0}", old.name(), new.middle(), old.middle()));
        }
    }
    println!(
        "matrix: {} of {} lines computed again, {} less than on record",
        SAMPLE.min(cells.len()),
        cells.len(),
        faults.len()
    );
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Option<Asked> {
        Asked::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<String>>())
    }

    #[test]
    fn flags_are_read() {
        let parts = asked("--machine m --lock a --lock b --shard 2/3").unwrap();
        assert_eq!(
            (parts.machines, parts.locks, parts.shard),
            (vec!["m".into()], vec!["a".into(), "b".into()], Some((2, 3)))
        );
        assert_eq!(asked(""), Some(Asked::default()));
        for words in ["--shard 0/3", "--shard 4/3", "--shard x", "--lock", "more", "--shard 1/2 --gather"] {
            assert_eq!(asked(words), None, "{words}");
        }
    }

    #[test]
    fn every_large_machine_is_there_and_shards_are_all_of_it() {
        let all = sweeps(&Asked::default()).unwrap();
        let machines: std::collections::BTreeSet<&str> = all.iter().map(|sweep| sweep.machine.as_str()).collect();
        assert!(machines.contains("i7-13700h") && machines.contains("spr-2x56") && !machines.contains("rpi5"));
        assert_eq!(all.len(), 5 * machines.len());
        let parts: Vec<Sweep> = (1..=5).flat_map(|part| all[simulate::block(all.len(), part, 5)].to_vec()).collect();
        assert_eq!(parts, all);
        let one = sweeps(&asked("--machine graviton3 --lock tas").unwrap()).unwrap();
        assert_eq!(one.len(), 3);
        assert!(one[2].flags.contains("--lock tas --threads 256 --seconds 0.012 "), "{}", one[2].flags);
        let poller = sweeps(&asked("--machine graviton3 --lock mcs-spin").unwrap()).unwrap();
        assert_eq!(poller.len(), 2, "not with more threads than CPUs");
        assert!(
            poller[1].flags.contains("--lock mcs-spin --threads 2,16,64 --seconds 0.00075 "),
            "{}",
            poller[1].flags
        );
        assert!(sweeps(&asked("--machine rpi5").unwrap()).is_err());
    }
}
