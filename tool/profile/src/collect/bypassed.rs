//! Processes of the program that do not record: one with an emptied environment is given no library, and who has
//! another root directory does not find the one for recordings. They are looked for now and then, so that they are not
//! missed in silence.

use crate::names;
use ondeck_trace::maps;
use ondeck_trace::process::parent;
use std::collections::{BTreeMap, BTreeSet};

/// Between two looks.
const GAP_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct BypassedProcesses {
    /// The program's first process.
    root: u32,
    last_ns: u64,
    /// Seen at the last look, so that each has time to begin; and looked at.
    young: BTreeSet<u32>,
    known: BTreeSet<u32>,
    /// Their names, of those without the library, and of those that have it.
    found: [BTreeMap<u32, String>; 2],
}

impl BypassedProcesses {
    pub(super) fn new(root: u32) -> Self {
        BypassedProcesses {
            root,
            last_ns: 0,
            young: BTreeSet::new(),
            known: BTreeSet::new(),
            found: Default::default(),
        }
    }

    /// Looks for processes that have lived for a while and do not record.
    pub(super) fn look(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.last_ns) < GAP_NS {
            return;
        }
        self.last_ns = now_ns;
        let alive = descendants(self.root);
        self.known.retain(|pid| alive.contains(pid));
        let grown = alive.intersection(&self.young).filter(|pid| self.known.insert(**pid));
        for pid in grown {
            // Of another user's process, nothing is known.
            let Ok(lines) = maps::lines(*pid) else { continue };
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let is_recording = |line: &str| line.trim_end_matches(" (deleted)").ends_with(".ondeck");
            let (mut is_empty, mut records, mut has_library) = (true, false, false);
            for line in lines {
                is_empty = false;
                records |= is_recording(&line);
                has_library |= line.contains("libondeck_pthread.so");
            }
            // An ended process has no maps. A process that is profiled by another `ondeck` has a recording too.
            if !is_empty && !records {
                self.found[usize::from(has_library)].insert(*pid, name.trim_end().to_owned());
            }
        }
        self.young = alive;
    }

    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let reasons = [
            "they have not loaded ondeck's library. Their environment was cleared, or they are static programs or have \
             another C library. To see their locks too:\nsudo ondeck profile --futex -- PROGRAM",
            "they cannot write to the directory of recordings. It has no room, or they have another root directory or user",
        ];
        self.found.iter().zip(reasons).filter(|(found, _)| !found.is_empty()).map(|(found, reason)| {
            let names = names::processes(found.iter().map(|(pid, name)| (name.clone(), *pid)));
            format!("processes without a recording: {names}: {reason}")
        })
    }
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
