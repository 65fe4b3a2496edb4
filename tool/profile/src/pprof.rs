//! The file that `pprof` reads.
//!
//! A stack of a lock, or a condition variable, is a sample. What was seen there stands in four pairs of sample types, each a
//! count and a time in ns; the first is the default, and named as in Go's mutex and block profiles:
//!
//! | sample types | whose stack | what |
//! |---|---|---|
//! | `contentions`, `delay` | who waited | waits, and how long they took |
//! | `held_contentions`, `held_delay` | who held the lock meanwhile | holds that were waited for, and the waiting that is charged to them |
//! | `acquisitions`, `hold_time` | who acquired it | acquisitions, and how long it was held then |
//! | `cond_waits`, `cond_delay` | who waited on a condition variable | waits, and how long they took |
//!
//! So `delay` and `held_delay` add up to the same, by [what is charged to whom](crate::Profile): what is charged to nobody,
//! as the lock was free, is a function in brackets. Labels: `lock` or `condition` has the name, `process` the program and its
//! number. Samples of `held_delay` have `cause`, why threads waited then, in the words of the JSON form; `call` is the system
//! call of a holder that is blocked, `other` what a holder waits for that waits. Comments have the command and what a reader has to
//! know, which pprof shows.

#[cfg(test)]
mod go;
mod proto;
#[cfg(test)]
mod tests;

use crate::profile::{Cause, Frame, Lock, Profile, WaitObject};
use crate::rows::{Place, Row, Side, UNKNOWN, charges, of_side, of_takers, with_rest};
use flate2::Compression;
use flate2::write::GzEncoder;
use indexmap::{IndexMap, IndexSet};
use ondeck_kit::wording::{plain, typed};
use prost::Message;
use proto::{Function, Label, Line, Location, Mapping, Sample, ValueType};
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names and units of a sample's values.
const SAMPLE_TYPES: [(&str, &str); 8] = [
    ("contentions", "count"),
    ("delay", "nanoseconds"),
    ("held_contentions", "count"),
    ("held_delay", "nanoseconds"),
    ("acquisitions", "count"),
    ("hold_time", "nanoseconds"),
    ("cond_waits", "count"),
    ("cond_delay", "nanoseconds"),
];
/// Places of the counts in a sample's values; a time follows each.
const WAITED: usize = 0;
const HELD: usize = 2;
const TAKEN: usize = 4;
const CONDITION: usize = 6;
/// Keys of labels.
const LOCK: &str = "lock";
const CONDITION_NAME: &str = "condition";
const PROCESS: &str = "process";
const CAUSE: &str = "cause";
const CALL: &str = "call";
const OTHER: &str = "other";

/// The profile as a file for pprof, compressed.
pub fn write(profile: &Profile) -> Vec<u8> {
    const INTO_MEMORY: &str = "a vector takes every write";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&file(profile).encode_to_vec()).expect(INTO_MEMORY);
    encoder.finish().expect(INTO_MEMORY)
}

/// What is in that file.
fn file(profile: &Profile) -> proto::Profile {
    let mut writer = Writer::new(profile);
    for lock in &profile.locks {
        writer.lock(lock);
    }
    for condition in &profile.conditions {
        let labels = writer.labels(CONDITION_NAME, &condition.name, condition.process);
        let rows = with_rest(&condition.waiters, condition.waits, condition.wait_ns);
        writer.samples(CONDITION, rows.into_iter().map(|row| (row, labels.clone())));
    }
    writer.finish()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Whether the word is a command that starts this file.
fn leads_to(word: &str, program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = match word.contains('/') {
        true => Some(PathBuf::from(word)),
        false => std::env::split_paths(&path).map(|directory| directory.join(word)).find(|file| file.is_file()),
    };
    found.and_then(|file| file.canonicalize().ok()).is_some_and(|file| file == Path::new(program))
}

/// A file that grows. Locations, functions and mappings have their place, counted from 1, for a number.
struct Writer<'a> {
    profile: &'a Profile,
    file: proto::Profile,
    strings: IndexSet<Cow<'a, str>>,
    /// The frames at each of the file's locations, or the name of one that is no place in the program.
    locations: IndexSet<(Vec<u32>, &'static str)>,
    /// Names and files.
    functions: IndexSet<(i64, i64)>,
    /// By name and build id.
    mappings: IndexMap<(i64, i64), Mapping>,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile) -> Self {
        let mut writer = Writer {
            profile,
            file: proto::Profile::default(),
            strings: IndexSet::from([Cow::default()]),
            locations: IndexSet::new(),
            functions: IndexSet::new(),
            mappings: IndexMap::new(),
        };
        writer.file.sample_type = SAMPLE_TYPES.map(|(name, unit)| writer.value_type(name, unit)).to_vec();
        writer.file.default_sample_type = writer.string(SAMPLE_TYPES[WAITED + 1].0);
        writer.file.period_type = Some(writer.value_type("acquisitions", "count"));
        writer.file.period = i64::from(profile.rate);
        writer.file.time_nanos = integer(profile.started_at * 1e9);
        writer.file.duration_nanos = integer(profile.seconds * 1e9);
        writer.program();
        writer
    }

    /// The first module is the program, which readers take the profile to be of. It has the name by which it was started:
    /// `redis-server` is a link to `redis-check-rdb`, and both do what their name says.
    fn program(&mut self) {
        let profile = self.profile;
        let programs = profile.processes.iter().map(|process| process.program.as_str());
        let frame_of = |program: &'a str| {
            let frame = profile.frames.iter().find(|frame| file_name(&frame.module) == file_name(program))?;
            Some((program, frame))
        };
        let found = programs.filter(|program| !file_name(program).is_empty()).find_map(frame_of);
        let Some((program, frame)) = found else { return };
        self.mapping(frame);
        if let Some(word) = profile.command.first().filter(|word| leads_to(word, program)) {
            self.mappings[0].filename = self.string(file_name(word));
        }
    }

    fn string(&mut self, text: impl Into<Cow<'a, str>>) -> i64 {
        self.strings.insert_full(text.into()).0 as i64
    }

    fn value_type(&mut self, name: &'static str, unit: &'static str) -> ValueType {
        ValueType { r#type: self.string(name), unit: self.string(unit) }
    }

    fn lock(&mut self, lock: &'a Lock) {
        let labels = self.labels(LOCK, &lock.name, lock.process);
        let labelled = |row| (row, labels.clone());
        self.samples(WAITED, of_side(lock, Side::Waiters).into_iter().map(labelled));
        let with_cause = |(place, cause): (Place, Cause)| {
            let row = Row { place, count: cause.count, ns: cause.ns };
            (row, labels.iter().cloned().chain(self.labels_of_cause(cause)).collect())
        };
        let held: Vec<(Row, Vec<Label>)> = charges(lock).into_iter().map(with_cause).collect();
        self.samples(HELD, held);
        self.samples(TAKEN, of_takers(lock).into_iter().map(labelled));
    }

    fn labels(&mut self, key: &'static str, name: &'a str, process: u32) -> Vec<Label> {
        let process = self.profile.process_name(process);
        vec![self.label(key, name), self.label(PROCESS, process)]
    }

    fn label(&mut self, key: &'static str, text: impl Into<Cow<'a, str>>) -> Label {
        Label { key: self.string(key), str: self.string(text) }
    }

    fn labels_of_cause(&mut self, cause: Cause) -> Vec<Label> {
        let profile = self.profile;
        let word = serde_json::to_value(cause.state).expect("a word always has a JSON form");
        let mut labels = vec![self.label(CAUSE, word.as_str().unwrap_or_default().to_owned())];
        if !cause.call.is_empty() {
            labels.push(self.label(CALL, cause.call));
        }
        let other = match cause.other {
            Some(WaitObject::Lock(number)) => profile.locks.get(number as usize).map(|lock| &lock.name),
            Some(WaitObject::Condition(number)) => profile.conditions.get(number as usize).map(|one| &one.name),
            None => None,
        };
        labels.extend(other.map(|name| self.label(OTHER, name)));
        labels
    }

    /// A sample for each row, with the pair of values that begins at `column`. Rounded so that the sum is that of the rows.
    fn samples(&mut self, column: usize, rows: impl IntoIterator<Item = (Row, Vec<Label>)>) {
        let (mut counts, mut times) = (Rounding::default(), Rounding::default());
        for (row, label) in rows {
            let (count, ns) = (counts.next(row.count), times.next(row.ns));
            if count == 0 && ns == 0 {
                continue;
            }
            let mut value = vec![0; SAMPLE_TYPES.len()];
            (value[column], value[column + 1]) = (count, ns);
            let location_id = self.stack(row.place);
            self.file.sample.push(Sample { location_id, value, label });
        }
    }

    /// The locations of a stack: each frame together with those that were inlined into it.
    fn stack(&mut self, place: Place) -> Vec<u64> {
        let profile = self.profile;
        let (name, stack) = match place {
            Place::Stack(stack) => (UNKNOWN, profile.stacks.get(stack as usize).map_or(&[][..], Vec::as_slice)),
            Place::Without(name) => (name, &[][..]),
        };
        let is_inlined = |number: u32| profile.frames.get(number as usize).is_some_and(|frame| frame.is_inlined);
        let at_addresses = stack.chunk_by(|inner, _| is_inlined(*inner));
        let locations: Vec<u64> = at_addresses.map(|frames| self.location(frames, "")).collect();
        if locations.is_empty() { vec![self.location(&[], name)] } else { locations }
    }

    fn location(&mut self, numbers: &[u32], name: &'static str) -> u64 {
        let (index, is_new) = self.locations.insert_full((numbers.to_vec(), name));
        let id = index as u64 + 1;
        if !is_new {
            return id;
        }
        let profile = self.profile;
        let mut frames = numbers.iter().filter_map(|number| profile.frames.get(*number as usize));
        let mut location = Location { id, ..Location::default() };
        for frame in frames.clone() {
            let function_id = self.function(&frame.function, &frame.file);
            location.line.push(Line { function_id, line: i64::from(frame.line) });
        }
        if let Some(frame) = frames.next_back() {
            location.address = frame.address;
            if let Some(mapping) = self.mapping(frame) {
                location.mapping_id = mapping.id;
                mapping.has_filenames |= !frame.file.is_empty();
                mapping.has_line_numbers |= frame.line > 0;
                mapping.has_inline_frames |= location.line.len() > 1;
            }
        } else {
            location.line.push(Line { function_id: self.function(name, ""), line: 0 });
        }
        self.file.location.push(location);
        id
    }

    /// Without the name as the linker knows it: where pprof finds it the same as the name, it takes it for one of C++ that is
    /// still to be shortened, and makes `::write` of `<File as Sink>::write`.
    fn function(&mut self, name: &'a str, file: &'a str) -> u64 {
        let key = (self.string(name), self.string(file));
        self.functions.insert_full(key).0 as u64 + 1
    }

    /// The frame's module, which reaches to its address at least. That functions are said to be known keeps pprof from looking
    /// for them in files of the same name.
    fn mapping(&mut self, frame: &'a Frame) -> Option<&mut Mapping> {
        if frame.module.is_empty() {
            return None;
        }
        let (filename, build_id) = (self.string(&*frame.module), self.string(&*frame.build_id));
        let entry = self.mappings.entry((filename, build_id));
        let id = entry.index() as u64 + 1;
        let new = || Mapping { id, filename, build_id, has_functions: true, ..Mapping::default() };
        let mapping = entry.or_insert_with(new);
        mapping.memory_limit = mapping.memory_limit.max(frame.address.saturating_add(1));
        Some(mapping)
    }

    fn finish(mut self) -> proto::Profile {
        self.file.comment = comments(self.profile).into_iter().map(|comment| self.string(comment)).collect();
        let functions = (1..).zip(self.functions).map(|(id, (name, filename))| Function { id, name, filename });
        proto::Profile {
            mapping: self.mappings.into_values().collect(),
            function: functions.collect(),
            string_table: self.strings.into_iter().map(Cow::into_owned).collect(),
            ..self.file
        }
    }
}

/// Numbers to whole ones, one after the other, such that their sum is rounded and not each of them.
#[derive(Default)]
struct Rounding {
    exact: f64,
    given: i64,
}

impl Rounding {
    fn next(&mut self, value: f64) -> i64 {
        self.exact += value.max(0.0);
        let next = integer(self.exact) - self.given;
        self.given += next;
        next
    }
}

/// The nearest whole number; the largest there is for larger ones, 0 for what is none.
fn integer(value: f64) -> i64 {
    value.round() as i64
}

/// For readers.
fn comments(profile: &Profile) -> Vec<String> {
    let mut comments = vec![
        format!("Command: {}", typed(&profile.command)),
        format!("Lock: {}", profile.lock),
        format!("Rate: 1 of {} acquisitions", profile.rate),
    ];
    let crate::profile::Dropped { samples, stacks, locks, names, processes, nestings, waiters } = profile.dropped;
    let lost = [
        (samples, "samples"),
        (stacks, "stacks"),
        (locks, "locks"),
        (names, "names of locks"),
        (processes, "processes"),
        (nestings, "nested lock calls"),
        (waiters, "waits while they lasted"),
    ];
    let lost: Vec<String> = lost.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} {n}")).collect();
    if !lost.is_empty() {
        comments.push(format!("Not recorded: {}", lost.join(", ")));
    }
    comments.extend(profile.notes.iter().map(|note| format!("Note: {}", &**note)));
    // One that begins with # would not be shown, one with a line break would look like two.
    comments.iter().map(|comment| plain(comment)).collect()
}
