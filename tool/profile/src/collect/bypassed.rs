//! Processes of the program that do not record: one with an emptied environment is given no library, and who has
//! another root directory does not find the one for recordings. They are looked for now and then, so that they are not
//! missed in silence.

use crate::{Note, names};
use ondeck_futex::maps;
use ondeck_futex::process::parent;
use ondeck_record::layout::HEADER_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Between two looks.
const GAP_NS: u64 = 1_000_000_000;

/// Why processes do not record, as statistics have it and as a note says it. A process is of the first reason that it has.
const REASONS: [(&str, &str); 3] = [
    (
        "no_library",
        "they have not loaded ondeck's library. Their environment was cleared, or they are static programs or have another C \
         library. To see their locks too:\nsudo ondeck profile --futex -- PROGRAM",
    ),
    (
        "no_directory",
        "they cannot write to the directory of recordings. It has no room, or they have another root directory or user",
    ),
    ("other_user", "they run as another user, or have other rights than ondeck, which may not look at them"),
];

/// Processes with one reason.
#[derive(Debug, Default)]
struct Found {
    /// How many there were.
    n: u64,
    /// The names of the first of them, and later ones that have other names.
    names: BTreeMap<u32, String>,
}

#[derive(Debug)]
pub(super) struct BypassedProcesses {
    /// The program's first process.
    root: u32,
    /// When the first look was, and the last one.
    first_ns: Option<u64>,
    last_ns: u64,
    /// Whether looks become rare in a run of months.
    is_for_long: bool,
    /// Seen at the last look, so that each has time to begin; and looked at.
    young: BTreeSet<u32>,
    known: BTreeSet<u32>,
    /// By [`REASONS`].
    found: [Found; REASONS.len()],
}

impl BypassedProcesses {
    pub(super) fn new(root: u32, is_for_long: bool) -> Self {
        BypassedProcesses {
            root,
            first_ns: None,
            last_ns: 0,
            is_for_long,
            young: BTreeSet::new(),
            known: BTreeSet::new(),
            found: Default::default(),
        }
    }

    /// Looks for processes that have lived for a while and do not record. `records` says whether one of that number does, as
    /// far as is known.
    pub(super) fn look(&mut self, now_ns: u64, records: impl Fn(u32) -> bool) {
        if now_ns.saturating_sub(self.last_ns) < self.gap_ns(now_ns) {
            return;
        }
        self.last_ns = now_ns;
        let alive = descendants(self.root);
        self.known.retain(|pid| alive.contains(pid));
        let grown: Vec<u32> = alive.intersection(&self.young).copied().filter(|pid| self.known.insert(*pid)).collect();
        for pid in grown {
            if let Some(reason) = reason(pid, &records) {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                self.found[reason].add(pid, name.trim_end());
            }
        }
        self.young = alive;
    }

    /// A look asks for each process of the system.
    fn gap_ns(&mut self, now_ns: u64) -> u64 {
        const MOST_NS: u64 = 15 * GAP_NS;
        const PART: u64 = 60;
        let age = now_ns.saturating_sub(*self.first_ns.get_or_insert(now_ns));
        if self.is_for_long { (age / PART).clamp(GAP_NS, MOST_NS) } else { GAP_NS }
    }

    /// How many there were, by reason; none as long as nobody looks.
    pub(super) fn counts(looks: Option<&Self>) -> impl Iterator<Item = (&'static str, u64)> {
        (0..).zip(REASONS).map(move |(at, (reason, _)): (usize, _)| (reason, looks.map_or(0, |one| one.found[at].n)))
    }

    pub(super) fn remarks(&self) -> impl Iterator<Item = Note> {
        let some = self.found.iter().zip(REASONS).filter(|(found, _)| !found.names.is_empty());
        some.map(|(found, (_, reason))| {
            let names = names::processes(found.names.iter().map(|(pid, name)| (name.clone(), *pid)));
            Note::ending(&format!("processes without a recording: {names}: "), reason)
        })
    }

    /// The same, one for each name.
    pub(super) fn remarks_by_name(&self) -> Vec<Note> {
        let mut remarks = Vec::new();
        for (found, (_, reason)) in self.found.iter().zip(REASONS) {
            let names: BTreeSet<&String> = found.names.values().collect();
            let said = |name| Note::ending(&format!("processes without a recording: {name}: "), reason);
            remarks.extend(names.into_iter().map(said));
        }
        remarks
    }
}

impl Found {
    fn add(&mut self, pid: u32, name: &str) {
        /// Names are for sentences.
        const MOST: usize = 100;
        self.n += 1;
        let is_new = self.names.values().all(|known| known != name);
        if self.names.len() < MOST || is_new && self.names.len() < 2 * MOST {
            self.names.insert(pid, name.to_owned());
        }
    }
}

/// Why a process does not record, by [`REASONS`]; `None` if it does, or is no more.
fn reason(pid: u32, records: impl Fn(u32) -> bool) -> Option<usize> {
    let lines = match maps::lines(pid) {
        Ok(lines) => lines,
        Err(error) => return (error.kind() == std::io::ErrorKind::PermissionDenied && !records(pid)).then_some(2),
    };
    let (mut is_empty, mut has_recording, mut has_library) = (true, false, false);
    for line in lines {
        is_empty = false;
        has_recording |= maps_recording(&line);
        has_library |= line.contains("libondeck_pthread.so");
    }
    // An ended process has no maps. A process that is profiled by another `ondeck` has a recording too.
    (!is_empty && !has_recording).then(|| usize::from(has_library))
}

/// Whether a line of a process's map is a whole recording. The child of a fork keeps the header alone of its parent's from when it
/// tries to begin its own. A child that has used no lock has its parent's whole, and misses nothing.
fn maps_recording(line: &str) -> bool {
    let Some((range, rest)) = line.split_once(' ') else { return false };
    let ends = range.split_once('-').map(|(start, end)| [start, end].map(|end| u64::from_str_radix(end, 16)));
    let is_whole = matches!(ends, Some([Ok(start), Ok(end)]) if end.saturating_sub(start) > HEADER_BYTES);
    is_whole && rest.trim_end_matches(" (deleted)").ends_with(".ondeck")
}

/// A process and all that come from it.
fn descendants(root: u32) -> BTreeSet<u32> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_of_root = |pid: &u32| {
        let chain = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        // Not longer than there are processes, though they change while they are looked at.
        chain.take(parents.len()).any(|pid| pid == root)
    };
    parents.keys().copied().filter(is_of_root).collect()
}
