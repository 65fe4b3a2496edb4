//! `cargo xtask matrix`: every lock in sections of every length, and as one of many locks, on every simulated machine with
//! 20 CPUs or more.
//!
//! What is computed is kept in `results/sim/matrix.csv`, a line for each lock in each cell, from which `cargo xtask docs`
//! makes docs/matrix.md with its pictures. All of it takes an hour and a half on two cores; `--lock` and `--machine`, which may be
//! given several times, compute a part, and leave the rest of the file as it is. So does `--missing`, which computes what
//! the file does not have. With `--shard i/n` the i-th of n parts is computed into `target/matrix`, on whatever machine;
//! `--gather` makes the file of the parts that are there.
//!
//! `cargo xtask scaling` computes a sample of it again ([`check_sample`]).

use crate::docs::matrix::{Cell, FILE, Key, Load, read, write};
use crate::{docs, scaling};
use ondeck_lab::world::Simulated;
use ondeck_lab::{lock, simulate};
use ondeck_report::row::Row;
use std::collections::{BTreeMap, BTreeSet};
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
/// Locks of `lock-bench`: a few threads for each, or many locks for each thread.
const LOCKS: [u32; 2] = [64, 1_024];
/// Of how many there are four threads for each CPU.
const LOCKS_SHARED: [u32; 1] = [64];
/// Here all CPUs work at once, so a window has fifty times as many operations as one of a single lock, and a run takes as
/// much longer. 2 ms are enough for the slowest lock to come to rest on 192 CPUs.
const SECONDS_LOCKS: f64 = 0.002;
/// From the first tick, after which threads lose their CPUs, to the second.
const SECONDS_LOCKS_SHARED: f64 = 0.006;
/// All waiters of these look again after every pause, which the simulator does one by one: a run takes a hundred times as
/// long as one of another lock, so their windows are a part of the others'. That is less than a slice, so with more
/// threads than CPUs nothing could be seen, and they are not run.
const POLLERS: [&str; 5] = ["ticket-spin", "mcs-spin", "linux-mutex-base", "linux-mutex-patch1", "linux-mutex-patch3"];
const POLLERS_PART: f64 = 0.125;
/// So many lines of the file are computed again in each check.
const SAMPLE: usize = 6;
/// By so much a figure may be less than on record.
const LEAST: f64 = 0.98;

const USAGE: &str =
    "usage: cargo xtask matrix [--machine NAME]... [--lock NAME]... [--missing] [--shard i/n | --gather]";

/// One command: a machine, what it runs, and where the rows go.
#[derive(Clone, Debug, PartialEq)]
struct Sweep {
    machine: String,
    workloads: Vec<String>,
    locks: Vec<&'static str>,
    threads: Vec<u32>,
    seconds: f64,
    out: PathBuf,
}

impl Sweep {
    fn flags(&self) -> String {
        let Sweep { workloads, locks, threads, seconds, .. } = self;
        let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
        let (workloads, locks, threads) = (workloads.join(","), locks.join(","), threads.join(","));
        format!("--workload {workloads} --lock {locks} --threads {threads} --seconds {seconds} --seeds {SEEDS}")
    }

    /// The one in which a cell is computed, for nothing but this cell.
    fn of(cell: &Cell) -> Result<Sweep, String> {
        let asked = Asked { machines: vec![cell.machine.clone()], locks: vec![cell.lock.clone()], ..Asked::default() };
        let has_cell =
            |sweep: &Sweep| sweep.threads.contains(&cell.threads) && sweep.workloads.contains(&cell.workload);
        let sweep = sweeps(&asked)?.into_iter().find(has_cell);
        let sweep = sweep.ok_or_else(|| format!("{FILE}: {} is no cell of the matrix", cell.name()))?;
        let out = Path::new(FRESH).join("sample.csv");
        Ok(Sweep { workloads: vec![cell.workload.clone()], threads: vec![cell.threads], out, ..sweep })
    }

    /// Computes the rows.
    fn run(&self, root: &Path) -> Result<(), String> {
        std::fs::create_dir_all(root.join(FRESH)).map_err(|error| format!("{FRESH}: {error}"))?;
        scaling::sweep(root, &self.machine, &self.flags(), &self.out)
    }

    /// What was computed: a cell for each lock in each setting, of the rows of its seeds.
    fn cells(&self, root: &Path) -> Result<Vec<Cell>, String> {
        let rows = scaling::rows_of(&root.join(&self.out))?;
        let mut by_cell: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
        for row in &rows {
            by_cell.entry((&row.workload, row.threads, &row.lock)).or_default().push(row);
        }
        Ok(by_cell.into_values().filter_map(|rows| Cell::of(&rows)).collect())
    }

    /// Leaves only locks of which a cell is not in `there`.
    fn without(mut self, there: &BTreeSet<Key>) -> Self {
        let Sweep { machine, workloads, threads, .. } = &self;
        let key = |workload: &str, threads, lock: &str| (machine.clone(), threads, Load::of(workload), lock.to_owned());
        let has_all = |lock: &str| {
            workloads.iter().all(|workload| threads.iter().all(|n| there.contains(&key(workload, *n, lock))))
        };
        let missing = self.locks.iter().copied().filter(|lock| !has_all(lock)).collect();
        self.locks = missing;
        self
    }
}

/// What the flags ask for; nothing stands for all.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    machines: Vec<String>,
    locks: Vec<String>,
    /// Part, and number of parts.
    shard: Option<(usize, usize)>,
    is_to_gather: bool,
    /// Only what the file does not have.
    is_missing: bool,
}

/// Computes the cells and writes file and page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let asked = Asked::parse(words).ok_or(USAGE)?;
    let mut sweeps = sweeps(&asked)?;
    if asked.is_missing {
        let there: BTreeSet<Key> = read(root)?.iter().map(Cell::key).collect();
        sweeps =
            sweeps.into_iter().map(|sweep| sweep.without(&there)).filter(|sweep| !sweep.locks.is_empty()).collect();
    }
    if let Some((part, parts)) = asked.shard {
        sweeps = sweeps[simulate::block(sweeps.len(), part, parts)].to_vec();
    }
    for sweep in sweeps.iter().filter(|_| !asked.is_to_gather) {
        sweep.run(root)?;
        println!("{} is written", sweep.out.display());
    }
    if asked.shard.is_some() {
        return Ok(());
    }
    let mut cells: BTreeMap<_, Cell> = read(root)?.into_iter().map(|cell| (cell.key(), cell)).collect();
    if asked.machines.is_empty() && asked.locks.is_empty() && !asked.is_missing {
        cells.clear();
    }
    // One lock alone in a cell would be the best of itself there.
    let known: BTreeSet<_> =
        cells.keys().map(|(machine, threads, load, _)| (machine.clone(), *threads, *load)).collect();
    let is_compared = |(machine, threads, load, _): &Key| {
        asked.locks.is_empty() || known.contains(&(machine.clone(), *threads, *load))
    };
    for sweep in sweeps.iter().filter(|sweep| !asked.is_to_gather || root.join(&sweep.out).exists()) {
        let fresh = sweep.cells(root)?.into_iter().map(|cell| (cell.key(), cell));
        cells.extend(fresh.filter(|(key, _)| is_compared(key)));
    }
    write(root, &cells.into_values().collect::<Vec<Cell>>())?;
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
                "--missing" => asked.is_missing = true,
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

/// The commands: for each machine the short sections, the long ones, and those with four threads for each CPU; then the
/// same of many locks.
fn sweeps(asked: &Asked) -> Result<Vec<Sweep>, String> {
    let mut sweeps = Vec::new();
    let all = lock::lock_names_on::<Simulated>();
    let asked_for = |lock: &&str| asked.locks.is_empty() || asked.locks.iter().any(|name| name == lock);
    let (pollers, others): (Vec<&str>, Vec<&str>) =
        all.into_iter().filter(asked_for).partition(|lock| POLLERS.contains(lock));
    for machine in ondeck_sim::machine::builtin_names() {
        let n = simulate::machine(machine, None)?.cpus.len() as u32;
        if n < FEWEST_CPUS || !(asked.machines.is_empty() || asked.machines.iter().any(|name| name == machine)) {
            continue;
        }
        let mut number = 0;
        let mut add = |workloads: Vec<String>, locks: &[&'static str], threads: &[u32], seconds| {
            if locks.is_empty() {
                return;
            }
            number += 1;
            let out = Path::new(FRESH).join(format!("{machine}-{number}.csv"));
            let (machine, locks, threads) = (machine.to_owned(), locks.to_vec(), threads.to_vec());
            sweeps.push(Sweep { machine, workloads, locks, threads, seconds, out });
        };
        for (inside, seconds) in SECONDS {
            add(sections(inside, &OUTSIDE), &others, &[2, n / 4, n], seconds);
            add(sections(inside, &OUTSIDE), &pollers, &[2, n / 4, n], seconds * POLLERS_PART);
        }
        add(sections(&SHARED.0, &SHARED.1), &others, &[4 * n], SECONDS_SHARED);
        add(lock_benches(&LOCKS), &others, &[1, 2, n], SECONDS_LOCKS);
        add(lock_benches(&LOCKS), &pollers, &[1, 2, n], SECONDS_LOCKS * POLLERS_PART);
        add(lock_benches(&LOCKS_SHARED), &others, &[4 * n], SECONDS_LOCKS_SHARED);
    }
    if sweeps.is_empty() {
        return Err(format!(
            "no such lock, or no such machine with {FEWEST_CPUS} CPUs or more; `ondeck list locks` and `ondeck list machines` \
             name them"
        ));
    }
    Ok(sweeps)
}

fn sections(inside: &[u32], outside: &[u32]) -> Vec<String> {
    inside.iter().flat_map(|cs| outside.iter().map(move |out| format!("sections/cs{cs}-out{out}"))).collect()
}

fn lock_benches(locks: &[u32]) -> Vec<String> {
    locks.iter().map(|locks| format!("lock-bench/locks{locks}")).collect()
}

/// Computes a few lines of the file again, drawn anew each time: none may be less than there by more than a fiftieth.
pub(crate) fn check_sample(root: &Path) -> Result<Vec<String>, String> {
    let chance = RandomState::new();
    let mut cells = read(root)?;
    cells.sort_by_cached_key(|cell| chance.hash_one(cell.key()));
    let mut faults = Vec::new();
    for old in cells.iter().take(SAMPLE) {
        let sweep = Sweep::of(old)?;
        sweep.run(root)?;
        let new = sweep.cells(root)?;
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
        assert!(asked("--gather --missing").unwrap().is_missing);
        for words in ["--shard 0/3", "--shard 4/3", "--shard x", "--lock", "more", "--shard 1/2 --gather"] {
            assert_eq!(asked(words), None, "{words}");
        }
    }

    #[test]
    fn every_large_machine_is_there_and_shards_are_all_of_it() {
        let all = sweeps(&Asked::default()).unwrap();
        let machines: std::collections::BTreeSet<&str> = all.iter().map(|sweep| sweep.machine.as_str()).collect();
        assert!(machines.contains("i7-13700h") && machines.contains("spr-2x56") && !machines.contains("rpi5"));
        assert_eq!(all.len(), 8 * machines.len());
        let parts: Vec<Sweep> = (1..=5).flat_map(|part| all[simulate::block(all.len(), part, 5)].to_vec()).collect();
        assert_eq!(parts, all);
        let one = sweeps(&asked("--machine graviton3 --lock tas").unwrap()).unwrap();
        let ends = |sweeps: &[Sweep]| {
            sweeps
                .iter()
                .map(|sweep| sweep.flags().split_once("--lock ").unwrap().1.to_owned())
                .collect::<Vec<String>>()
        };
        let seconds = [
            "2,16,64 --seconds 0.003",
            "2,16,64 --seconds 0.006",
            "256 --seconds 0.012",
            "1,2,64 --seconds 0.002",
            "256 --seconds 0.006",
        ];
        assert_eq!(ends(&one), seconds.map(|end| format!("tas --threads {end} --seeds 2")));
        assert!(one[3].flags().starts_with("--workload lock-bench/locks64,lock-bench/locks1024 "));
        let poller = sweeps(&asked("--machine graviton3 --lock mcs-spin").unwrap()).unwrap();
        let seconds = ["2,16,64 --seconds 0.000375", "2,16,64 --seconds 0.00075", "1,2,64 --seconds 0.00025"];
        let not_shared = "not with more threads than CPUs";
        assert_eq!(ends(&poller), seconds.map(|end| format!("mcs-spin --threads {end} --seeds 2")), "{not_shared}");
        assert!(sweeps(&asked("--machine rpi5").unwrap()).is_err());
    }

    #[test]
    fn what_is_there_is_not_computed_again() {
        let sweep = sweeps(&asked("--machine graviton3 --lock tas --lock mcs").unwrap()).unwrap().remove(3);
        let cells = |lock: &str, locks: &[u32]| -> Vec<Key> {
            let key =
                |locks: &u32, n: u32| ("graviton3".to_owned(), n, Load::LockBench { locks: *locks }, lock.to_owned());
            locks.iter().flat_map(|locks| [1, 2, 64].map(|n| key(locks, n))).collect()
        };
        let there = [cells("tas", &LOCKS), cells("mcs", &[64])].concat().into_iter().collect();
        assert_eq!(sweep.locks, ["tas", "mcs"]);
        assert_eq!(sweep.without(&there).locks, ["mcs"]);
    }
}
