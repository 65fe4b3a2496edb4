//! Programs that run and end by themselves.

use super::place::Place;
use super::run::{Run, Sample};

/// Locks that all threads of `sysbench mutex` take together, so that more threads have no more to do.
const LOCKS: u32 = 16_000_000;
/// How many of its keys each thread of RocksDB reads.
const ROCKSDB_READS: u32 = 50_000;
/// One shard makes the cache's mutex the one that all readers meet at.
const DB_BENCH: &str = "db_bench --db=db --num=100000 --cache_size=33554432 --cache_numshardbits=0 --disable_wal=1 \
                        --compression_type=none";
/// Records of each thread of `kccachetest`.
const KYOTO_RECORDS: u32 = 200_000;

pub(super) fn sysbench_mutex(run: &Run) -> Result<Sample, String> {
    let threads = run.setting.threads;
    let n_locks = run.place.either(LOCKS, LOCKS / 16) / threads;
    let of_mutex = format!("mutex --mutex-num=1 --mutex-loops=100 --mutex-locks={n_locks}");
    let ended = run.finish(&format!("sysbench --threads={threads} --time=0 {of_mutex} run"))?;
    let events = ended.number("total number of events:")?;
    let wrong = (events - f64::from(threads)).abs();
    Sample::of(ended.number("total time:")?, (f64::from(n_locks) * events, wrong), ended.usage)
}

pub(super) fn sysbench_threads(run: &Run) -> Result<Sample, String> {
    let (threads, time) = (run.setting.threads, run.place.either(2, 1));
    let of_threads = "threads --thread-yields=5 --thread-locks=1";
    let ended = run.finish(&format!("sysbench --threads={threads} --time={time} {of_threads} run"))?;
    Sample::of(ended.number("total time:")?, (ended.number("total number of events:")?, 0.0), ended.usage)
}

/// Runs one of our own programs, which print what they have done, and how much of it was wrong.
fn own(run: &Run, line: &str) -> Result<Sample, String> {
    let ended = run.finish(line)?;
    Sample::of(ended.number("seconds")?, (ended.number("ops")?, ended.number("wrong")?), ended.usage)
}

pub(super) fn uncontended(run: &Run) -> Result<Sample, String> {
    own(run, &format!("./uncontended {} {}", run.setting.threads - 1, run.place.either("0.8", "0.1")))
}

pub(super) fn prepare_small(place: &Place) -> Result<(), String> {
    place.compile("small_sections.c", "")
}

/// The label is what the program is told; only how long it shall run is missing.
pub(super) fn small(run: &Run) -> Result<Sample, String> {
    own(run, &format!("./small_sections {} {}", run.setting.label, run.place.either("0.15", "0.05")))
}

pub(super) fn prepare_leveldb(place: &Place) -> Result<(), String> {
    place.compile("leveldb_reader.cpp", "-lleveldb")?;
    place.plain("./leveldb_reader db fill 100000").map(|_| ())
}

pub(super) fn leveldb(run: &Run) -> Result<Sample, String> {
    let seconds = run.place.either("1.5", "0.3");
    own(run, &format!("./leveldb_reader db read 100000 {} {seconds}", run.setting.threads))
}

pub(super) fn sqlite(run: &Run) -> Result<Sample, String> {
    own(run, &format!("./sqlite_reader {} {}", run.setting.threads, run.place.either("1.5", "0.3")))
}

pub(super) fn prepare_rocksdb(place: &Place) -> Result<(), String> {
    place.plain(&format!("{DB_BENCH} --benchmarks=fillseq")).map(|_| ())
}

pub(super) fn rocksdb(run: &Run) -> Result<Sample, String> {
    let (threads, n_reads) = (run.setting.threads, run.place.either(ROCKSDB_READS, ROCKSDB_READS / 10));
    let reading = format!("--benchmarks=readrandom --use_existing_db=1 --reads={n_reads} --threads={threads}");
    let ended = run.finish(&format!("{DB_BENCH} {reading}"))?;
    let line = ended.text.lines().find(|line| line.starts_with("readrandom"));
    let (ops, per_second, found) =
        line.and_then(db_bench_line).ok_or_else(|| format!("no line on readrandom: {}", ended.text))?;
    if found != format!("{n_reads} of {n_reads} found") {
        return Err(format!("{found}: not all that were written are found"));
    }
    Sample::of(ops / per_second, (ops, (ops - f64::from(n_reads * threads)).abs()), ended.usage)
}

/// Operations, operations per second and what was found, of
/// `readrandom   :      18.5 micros/op 715614 ops/sec 0.559 seconds 400000 operations;   79.2 MB/s (25000 of 25000 found)`.
fn db_bench_line(line: &str) -> Option<(f64, f64, &str)> {
    let before = |name: &str| line.split_once(name)?.0.split_whitespace().last()?.parse().ok();
    let found = line.rsplit_once('(')?.1.strip_suffix(')')?;
    Some((before(" operations;")?, before(" ops/sec")?, found))
}

pub(super) fn kyotocabinet(run: &Run) -> Result<Sample, String> {
    let (threads, n_records) = (run.setting.threads, run.place.either(KYOTO_RECORDS, KYOTO_RECORDS / 10));
    let ended = run.finish(&format!("kccachetest order -th {threads} {n_records}"))?;
    let counts: Vec<&str> = ended.text.lines().filter(|line| line.starts_with("count: ")).collect();
    let n_all = n_records * threads;
    if !counts.contains(&&*format!("count: {n_all}")) || !ended.text.trim_end().ends_with("ok") {
        return Err(format!("not {n_all} records, or not `ok`: {}", counts.join(", ")));
    }
    // Some of it is measured by the program itself, but waits at its beginning and end count too.
    Ok(Sample { result: counts.join("\n"), ..Sample::of(ended.seconds, (f64::from(n_all), 0.0), ended.usage)? })
}

pub(super) fn node(run: &Run) -> Result<Sample, String> {
    let (threads, seconds) = (run.setting.threads, run.place.either("2", "0.5"));
    own(run, &format!("UV_THREADPOOL_SIZE={threads} node programs/stat_chains.js file 11 {seconds}"))
}

/// So many items of each producer.
pub(super) fn python(run: &Run) -> Result<Sample, String> {
    own(run, &format!("python3 programs/bounded_queue.py {}", run.place.either(25_000, 2_500)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read() {
        let line = "readrandom   :      18.5 micros/op 715614 ops/sec 0.559 seconds 400000 operations;   79.2 MB/s \
                    (25000 of 25000 found)";
        assert_eq!(db_bench_line(line), Some((400_000.0, 715_614.0, "25000 of 25000 found")));
        assert_eq!(db_bench_line("readrandom: no"), None);
    }
}
