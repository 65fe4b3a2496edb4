//! Programs that run and end by themselves.

use super::preload::Variant;
use super::process::{Ended, Process, run_plain};
use super::responses::Times;
use super::table::Setting;
use super::{Ground, Sample, needs};
use std::fs;
use std::process::Command;

/// Locks that all threads of `sysbench mutex` take together, so that more threads have no more to do.
const LOCKS: u32 = 16_000_000;
const LEVELDB_KEYS: &str = "100000";
/// Keys of RocksDB, and how many of them each of its threads reads.
const ROCKSDB_KEYS: u32 = 100_000;
const ROCKSDB_READS: u32 = 50_000;
/// Records of each thread of `kccachetest`.
const KYOTO_RECORDS: u32 = 200_000;
/// Items of each producer.
const PYTHON_ITEMS: u32 = 25_000;
const NODE_FILE: &str = "file";

/// Runs it with the locks that `variant` says until it ends.
fn finished(ground: &Ground, variant: &Variant, command: &mut Command) -> Result<Ended, String> {
    Process::start(command, variant, &ground.file("run.out"))?.finish(ground.limit())
}

/// The number after `name` in a text.
pub(super) fn number(text: &str, name: &str) -> Result<f64, String> {
    let rest = text.split_once(name).map(|(_, rest)| rest.trim_start());
    let digits = rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default());
    let number = digits.and_then(|digits| digits.trim_end_matches('.').parse().ok());
    number.ok_or_else(|| format!("no number after `{name}` in: {text}"))
}

pub(super) fn sysbench_mutex(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let n_locks = ground.either(LOCKS, LOCKS / 16) / setting.threads;
    let mut command = needs::command("sysbench");
    command.args([format!("--threads={}", setting.threads), "--time=0".into(), "mutex".into()]);
    command.args(["--mutex-num=1", "--mutex-loops=100"]).args([format!("--mutex-locks={n_locks}"), "run".into()]);
    let ended = finished(ground, variant, &mut command)?;
    let events = number(&ended.text, "total number of events:")?;
    if events != f64::from(setting.threads) {
        return Err(format!("{events} events of {} threads", setting.threads));
    }
    let seconds = number(&ended.text, "total time:")?;
    let ops = f64::from(n_locks) * events;
    Ok(Sample { seconds, ops, usage: ended.usage, result: format!("{events} events"), times: None })
}

pub(super) fn sysbench_threads(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = needs::command("sysbench");
    command.args([format!("--threads={}", setting.threads), format!("--time={}", ground.either(2, 1))]);
    command.args(["threads", "--thread-yields=5", "--thread-locks=1", "run"]);
    let ended = finished(ground, variant, &mut command)?;
    let ops = number(&ended.text, "total number of events:")?;
    if ops == 0.0 {
        return Err(format!("no event: {}", ended.text));
    }
    Ok(Sample {
        seconds: number(&ended.text, "total time:")?,
        ops,
        usage: ended.usage,
        result: String::new(),
        times: None,
    })
}

/// Runs one of our own programs, which print what they have done, and how much of it was wrong.
fn own(ground: &Ground, variant: &Variant, command: &mut Command) -> Result<Sample, String> {
    let ended = finished(ground, variant, command)?;
    let (ops, wrong) = (number(&ended.text, "ops")?, number(&ended.text, "wrong")?);
    if wrong != 0.0 || ops == 0.0 {
        return Err(format!("{wrong} of {ops} answers are wrong"));
    }
    let of = |name| number(&ended.text, name);
    let times = || Ok::<_, String>(Times { p50: of("p50_us")?, p99: of("p99_us")?, p999: of("p999_us")? });
    let times = ground.has_times.then(times).transpose()?;
    Ok(Sample { seconds: of("seconds")?, ops, usage: ended.usage, result: String::new(), times })
}

const UNCONTENDED: &str = "uncontended.c";

pub(super) fn prepare_uncontended(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, UNCONTENDED, &[])
}

pub(super) fn uncontended(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = Command::new(needs::compiled(ground, UNCONTENDED));
    command.arg((setting.threads - 1).to_string());
    own(ground, variant, command.arg(ground.either("0.8", "0.1")))
}

const SMALL: &str = "small_sections.c";

pub(super) fn prepare_small(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, SMALL, &[])
}

/// The label is what the program is told; only how long it shall run is missing.
pub(super) fn small(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = Command::new(needs::compiled(ground, SMALL));
    own(ground, variant, command.args(setting.label.split(' ')).arg(ground.either("0.15", "0.05")))
}

const LEVELDB: &str = "leveldb_reader.cpp";

pub(super) fn prepare_leveldb(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, LEVELDB, &["-lleveldb"])?;
    let mut fill = Command::new(needs::compiled(ground, LEVELDB));
    fill.arg(ground.file("db")).args(["fill", LEVELDB_KEYS]);
    run_plain(&mut fill, &ground.file("fill.out"), ground.limit()).map(|_| ())
}

pub(super) fn leveldb(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = Command::new(needs::compiled(ground, LEVELDB));
    command.arg(ground.file("db")).args(["read", LEVELDB_KEYS, &setting.threads.to_string()]);
    own(ground, variant, command.arg(ground.either("1.5", "0.3")))
}

const SQLITE: &str = "sqlite_reader.c";

pub(super) fn prepare_sqlite(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, SQLITE, &["-lsqlite3"])
}

pub(super) fn sqlite(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = Command::new(needs::compiled(ground, SQLITE));
    command.arg(setting.threads.to_string());
    own(ground, variant, command.arg(ground.either("1.5", "0.3")))
}

fn db_bench(ground: &Ground, words: &[String]) -> Command {
    let mut command = needs::command("db_bench");
    command.arg(format!("--db={}", ground.file("db").display())).args(words);
    // One shard makes the cache's mutex the one that all readers meet at.
    command.args(["--cache_size=33554432", "--cache_numshardbits=0", "--disable_wal=1", "--compression_type=none"]);
    command
}

pub(super) fn prepare_rocksdb(ground: &Ground) -> Result<(), String> {
    let words = ["--benchmarks=fillseq".to_owned(), format!("--num={ROCKSDB_KEYS}")];
    run_plain(&mut db_bench(ground, &words), &ground.file("fill.out"), ground.limit()).map(|_| ())
}

pub(super) fn rocksdb(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let n_reads = ground.either(ROCKSDB_READS, ROCKSDB_READS / 10);
    let numbers = [("num", ROCKSDB_KEYS), ("reads", n_reads), ("threads", setting.threads)];
    let mut words = vec!["--benchmarks=readrandom".to_owned(), "--use_existing_db=1".to_owned()];
    words.extend(numbers.map(|(name, number)| format!("--{name}={number}")));
    let ended = finished(ground, variant, &mut db_bench(ground, &words))?;
    let line = ended.text.lines().find(|line| line.starts_with("readrandom"));
    let (ops, per_second, found) =
        line.and_then(db_bench_line).ok_or_else(|| format!("no line on readrandom: {}", ended.text))?;
    if ops != f64::from(n_reads * setting.threads) || !found.starts_with(&format!("{n_reads} of {n_reads} found")) {
        return Err(format!("{ops} operations, {found}: not all that were written are found"));
    }
    Ok(Sample { seconds: ops / per_second, ops, usage: ended.usage, result: found.to_owned(), times: None })
}

/// Operations, operations per second and what was found, of
/// `readrandom   :      18.5 micros/op 715614 ops/sec 0.559 seconds 400000 operations;   79.2 MB/s (25000 of 25000 found)`.
fn db_bench_line(line: &str) -> Option<(f64, f64, &str)> {
    let before = |name: &str| line.split_once(name)?.0.split_whitespace().last()?.parse().ok();
    let found = line.rsplit_once('(')?.1.strip_suffix(')')?;
    Some((before(" operations;")?, before(" ops/sec")?, found))
}

pub(super) fn kyotocabinet(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let n_records = ground.either(KYOTO_RECORDS, KYOTO_RECORDS / 10);
    let mut command = needs::command("kccachetest");
    command.args(["order", "-th", &setting.threads.to_string(), &n_records.to_string()]);
    let ended = finished(ground, variant, &mut command)?;
    let counts: Vec<&str> = ended.text.lines().filter(|line| line.starts_with("count: ")).collect();
    let n_all = n_records * setting.threads;
    let is_whole = counts.contains(&format!("count: {n_all}").as_str()) && ended.text.trim_end().ends_with("ok");
    if !is_whole {
        return Err(format!("not {n_all} records, or not `ok`: {}", counts.join(", ")));
    }
    // Some of it is measured by the program itself, but waits at its beginning and end count too.
    Ok(Sample {
        seconds: ended.seconds,
        ops: f64::from(n_all),
        usage: ended.usage,
        result: counts.join("\n"),
        times: None,
    })
}

pub(super) fn prepare_node(ground: &Ground) -> Result<(), String> {
    fs::write(ground.file(NODE_FILE), "eleven byte").map_err(|error| format!("{NODE_FILE}: {error}"))
}

pub(super) fn node(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = needs::command("node");
    command.env("UV_THREADPOOL_SIZE", setting.threads.to_string()).arg(needs::source(ground, "stat_chains.js"));
    command.arg(ground.file(NODE_FILE)).args(["11", ground.either("2", "0.5")]);
    if ground.has_times {
        command.arg("times");
    }
    own(ground, variant, &mut command)
}

pub(super) fn python(ground: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
    let n_items = ground.either(PYTHON_ITEMS, PYTHON_ITEMS / 10);
    let mut command = needs::command("python3");
    own(ground, variant, command.arg(needs::source(ground, "bounded_queue.py")).arg(n_items.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read() {
        let text = "    total time:                          2.0006s\n    total number of events:              63809\n";
        assert_eq!(number(text, "total time:"), Ok(2.0006));
        assert_eq!(number(text, "total number of events:"), Ok(63809.0));
        assert!(number(text, "queries:").unwrap_err().starts_with("no number after `queries:`"));
        let line = "readrandom   :      18.5 micros/op 715614 ops/sec 0.559 seconds 400000 operations;   79.2 MB/s \
                    (25000 of 25000 found)";
        assert_eq!(db_bench_line(line), Some((400_000.0, 715_614.0, "25000 of 25000 found")));
        assert_eq!(db_bench_line("readrandom: no"), None);
    }
}
