//! From the file back to what is compared. Whatever the file holds, reading it ends with a summary or an error: every
//! reference is looked up, every size is bounded before memory is taken for it.

use super::form::{FOR_PROGRAMS, Facts, HELD, LOCK, LockFacts, PROCESS, SAMPLE_TYPES, TAKEN, WAITED};
use super::proto::{Location, Profile, Sample};
use crate::json::check_version;
use crate::profile::Noise;
use crate::summary::{LockSummary, Path, Summary, path, short};
use indexmap::IndexMap;
use ondeck_kit::wording::list_some;
use prost::{Message, decode_length_delimiter};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What is expected, for messages about what is something else.
const EXPECTED: &str = "accepted: a file that `ondeck profile` wrote for pprof";
/// A file with more samples, locations, labels and the like is no profile of ours. Each takes up to 36 times as much memory as
/// it takes bytes in a file.
const MOST_MESSAGES: usize = 4_000_000;
/// The same of the frames of all stacks. Each takes 16 bytes here, and up to 200 in a graph.
const MOST_FRAMES: usize = 5_000_000;
/// Of a deeper stack, the outermost functions are left out.
const MOST_LEVELS: usize = 1000;
/// How deep messages lie in each other in such a file: a label in a sample in the file.
const DEPTH: usize = 2;

/// What of an unpacked file is compared. The error is one line.
pub(crate) fn read(bytes: &[u8]) -> Result<Summary, String> {
    if messages(bytes, DEPTH) > MOST_MESSAGES {
        return Err(format!("has more than {MOST_MESSAGES} samples, places and names; {EXPECTED}"));
    }
    let file = Profile::decode(bytes).map_err(|error| format!("is no file for pprof: {error}; {EXPECTED}"))?;
    let (columns, facts, paths) = (file.columns()?, file.facts()?, file.paths()?);
    let mut locks = Locks::new();
    let mut n_frames = 0;
    for sample in &file.sample {
        n_frames += file.add_sample(sample, columns, &paths, &mut locks)?;
        if n_frames > MOST_FRAMES {
            return Err(format!("has more than {MOST_FRAMES} frames in its stacks; {EXPECTED}"));
        }
    }
    let mut summary = Summary { seconds: file.duration_nanos as f64 / 1e9, ..Summary::default() };
    if let Some(first) = facts.first() {
        summary.command = first.command.iter().map(|word| short(word)).collect();
        (summary.cores, summary.lock, summary.rate) = (first.cores, short(&first.lock), first.rate);
    }
    for of_lock in facts.into_iter().flat_map(|facts| facts.locks) {
        let lock = lock(&of_lock.process, &of_lock.name, &mut locks);
        add_facts(of_lock, summary.rate, lock);
    }
    summary.locks = locks.into_values().collect();
    Ok(summary)
}

/// Where the samples' values stand in this file: pprof may have left some out, or put them into another order.
type Columns = [usize; TAKEN + 2];

/// By process and name.
type Locks = IndexMap<(String, String), LockSummary>;

/// The functions of each location, the innermost first.
type Paths = HashMap<u64, Vec<Arc<str>>>;

fn lock<'a>(process: &str, name: &str, locks: &'a mut Locks) -> &'a mut LockSummary {
    let (process, name) = (short(process), short(name));
    let new = LockSummary { name: name.clone(), process: process.clone(), ..LockSummary::default() };
    locks.entry((process, name)).or_insert(new)
}

impl Profile {
    fn text(&self, number: i64) -> Result<&str, String> {
        let texts = &self.string_table;
        let text = usize::try_from(number).ok().and_then(|number| texts.get(number));
        text.map(String::as_str).ok_or_else(|| format!("names text {number} of {}; {EXPECTED}", texts.len()))
    }

    fn columns(&self) -> Result<Columns, String> {
        let mut types = Vec::new();
        for value_type in &self.sample_type {
            types.push((self.text(value_type.r#type)?, self.text(value_type.unit)?));
        }
        let mut columns = Columns::default();
        for (column, wanted) in columns.iter_mut().zip(SAMPLE_TYPES) {
            let place = types.iter().position(|found| *found == wanted);
            *column = place.ok_or_else(|| {
                let found: Vec<String> = types.iter().map(|(name, unit)| short(name) + "/" + &short(unit)).collect();
                let found = if found.is_empty() { "no sample types".to_string() } else { list_some(&found, 8) };
                format!("has {found}, and no {}/{}; {EXPECTED}", wanted.0, wanted.1)
            })?;
        }
        Ok(columns)
    }

    /// What the comments for programs say: one, or, if pprof has joined files, one of each.
    fn facts(&self) -> Result<Vec<Facts>, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u64,
        }
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        for comment in self.comment.iter().filter(|comment| seen.insert(**comment)) {
            let Some(facts) = self.text(*comment)?.strip_prefix(FOR_PROGRAMS) else { continue };
            let odd =
                |error: serde_json::Error| format!("has a comment of ours that cannot be read: {error}; {EXPECTED}");
            let Head { version } = serde_json::from_str(facts).map_err(odd)?;
            check_version(version)?;
            all.push(serde_json::from_str(facts).map_err(odd)?);
        }
        if all.is_empty() {
            return Err(format!("lacks what `ondeck profile` notes in each file; {EXPECTED}"));
        }
        Ok(all)
    }

    fn paths(&self) -> Result<Paths, String> {
        let mut functions: HashMap<u64, Arc<str>> = HashMap::new();
        for function in &self.function {
            functions.insert(function.id, short(self.text(function.name)?).into());
        }
        let names = |location: &Location| {
            let lines = location.line.iter().filter_map(|line| functions.get(&line.function_id).cloned());
            lines.take(MOST_LEVELS).collect()
        };
        Ok(self.location.iter().map(|location| (location.id, names(location))).collect())
    }

    /// How many frames it has added.
    fn add_sample(&self, sample: &Sample, columns: Columns, paths: &Paths, locks: &mut Locks) -> Result<usize, String> {
        let Some(name) = self.label(sample, LOCK)? else { return Ok(0) };
        let process = self.label(sample, PROCESS)?.unwrap_or_default();
        let (n, types) = (sample.value.len(), self.sample_type.len());
        if n != types {
            return Err(format!("has a sample with {n} values for {types} types; {EXPECTED}"));
        }
        let values = columns.map(|column| sample.value[column]);
        if let Some(below) = values.iter().find(|value| **value < 0) {
            return Err(format!("has the value {below}, as the difference of two files has; {EXPECTED}"));
        }
        let functions = sample.location_id.iter().filter_map(|id| paths.get(id)).flatten();
        let stack: Path = functions.take(MOST_LEVELS).cloned().collect();
        let path = path(stack.iter().cloned());
        let mut n_frames = 0;
        let value = |column: usize| values[column] as f64;
        let lock = lock(process, name, locks);
        lock.waits += value(WAITED);
        lock.wait_ns += value(WAITED + 1);
        lock.acquisitions += value(TAKEN);
        let sides = [(&mut lock.waiters, value(WAITED + 1)), (&mut lock.holders, value(HELD + 1))];
        for ((sites, ns), stacks) in sides.into_iter().zip(&mut lock.stacks) {
            if ns > 0.0 {
                *sites.entry(path.clone()).or_default() += ns;
                n_frames += stack.len();
                stacks.push((stack.clone(), ns));
            }
        }
        Ok(n_frames)
    }

    fn label(&self, sample: &Sample, key: &str) -> Result<Option<&str>, String> {
        for label in &sample.label {
            if self.text(label.key)? == key {
                return self.text(label.str).map(Some);
            }
        }
        Ok(None)
    }
}

fn add_facts(facts: LockFacts, rate: u32, lock: &mut LockSummary) {
    lock.longest_ns = lock.longest_ns.max(Some(facts.longest_ns));
    // At most.
    let without = || {
        let rate = f64::from(rate.max(1));
        Noise { counts: rate * lock.waits, lengths: rate * lock.wait_ns, squares: rate * facts.squares.max(0.0) }
    };
    let noise = facts.noise.unwrap_or_else(without);
    lock.noise.add(noise);
    lock.sampling.add(facts.sampling.unwrap_or(if rate <= 1 { Noise::default() } else { noise }));
    for (cause, ns) in facts.causes {
        *lock.causes.entry(short(&cause)).or_default() += ns;
    }
    if lock.origin.is_empty() {
        lock.origin = facts.origin.iter().map(|name| short(name)).collect();
    }
}

/// How many parts with a length of their own the bytes have, in themselves and `depth - 1` levels deeper; what is no message is
/// counted as far as it could be one.
fn messages(mut bytes: &[u8], depth: usize) -> usize {
    const VARINT: usize = 0;
    const EIGHT_BYTES: usize = 1;
    const SIZED: usize = 2;
    const FOUR_BYTES: usize = 5;
    let mut count = 0;
    while !bytes.is_empty() {
        let Ok(key) = decode_length_delimiter(&mut bytes) else { break };
        let length = match key & 7 {
            VARINT if decode_length_delimiter(&mut bytes).is_ok() => 0,
            EIGHT_BYTES => 8,
            SIZED => decode_length_delimiter(&mut bytes).unwrap_or(usize::MAX),
            FOUR_BYTES => 4,
            _ => break,
        };
        let Some((part, rest)) = bytes.split_at_checked(length) else { break };
        if key & 7 == SIZED {
            count += 1;
            count += if depth > 1 { messages(part, depth - 1) } else { 0 };
        }
        bytes = rest;
    }
    count
}
