//! What is missing in statistics, and why: in numbers, for who watches them, and in sentences, of which each is said once.

use super::build::{NO_LOCKS, OPAQUE, has_opaque, spoilt, untimely};
use super::bypassed::BypassedProcesses;
use super::{Collector, Recording, is_alive};
use crate::Note;
use ondeck_record::read::{self, RecordingInfo};
use ondeck_record::stats::Labels;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::path::Path;

/// What could not be recorded, or not be read. It only grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    samples: u64,
    stacks: u64,
    locks: u64,
    names: u64,
    waiters: u64,
    spoilt: u64,
    untimely: u64,
}

impl Lost {
    pub(super) fn add(&mut self, recording: &Recording) {
        // Statistics have no orders.
        let read::Dropped { samples, stacks, locks, names, nestings: _, waiters } = recording.dropped;
        for (sum, more) in [
            (&mut self.samples, samples.saturating_add(recording.kept.n_left_out)),
            (&mut self.stacks, stacks),
            (&mut self.locks, locks),
            (&mut self.names, names),
            (&mut self.waiters, waiters),
            (&mut self.spoilt, recording.n_spoilt),
            (&mut self.untimely, recording.n_untimely),
        ] {
            // A damaged file may say anything.
            *sum = sum.saturating_add(more);
        }
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        let notes = [
            (self.samples, "some waits are not counted: the memory for samples was full for a while".to_owned()),
            (self.locks, "some waits are not counted: the memory for locks was full for a while".to_owned()),
            (self.stacks, "some locks have no names of their own: the memory for call stacks is full".to_owned()),
            (
                self.names,
                "some names that the program gave its locks are missing: the memory for names is full".to_owned(),
            ),
            (
                self.waiters,
                "some waits were not seen while they lasted, as too many threads waited at once: --warn-after may miss some".to_owned(),
            ),
            (self.spoilt, spoilt(self.spoilt)),
            (self.untimely, untimely(self.untimely)),
        ];
        notes.into_iter().filter(|(n, _)| *n > 0).map(|(_, note)| note)
    }
}

impl Collector {
    fn lost(&self) -> Lost {
        let mut lost = self.ended.lost;
        self.recordings.iter().for_each(|recording| lost.add(recording));
        lost
    }

    /// Writes how much is missing in [`statistics`](Self::statistics) in the text form of Prometheus, with these labels.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn prometheus_of_gaps(&self, labels: &Labels, to: &mut impl Write) -> fmt::Result {
        const NAME: &str = "ondeck_not_recorded_total";
        writeln!(to, "# HELP {NAME} What could not be recorded, and why.\n# TYPE {NAME} counter")?;
        let lost = self.lost();
        let processes = BypassedProcesses::counts(self.bypassed.as_ref());
        let others = [
            ("recording", "damaged", self.unreadable.len() as u64),
            ("sample", "no_room", lost.samples),
            ("sample", "not_whole", lost.spoilt),
            ("lock", "no_room", lost.locks),
            ("stack", "no_room", lost.stacks),
            ("name", "no_room", lost.names),
            ("wait", "no_room", lost.waiters),
        ];
        for (what, reason, n) in processes.map(|(reason, n)| ("process", reason, n)).chain(others) {
            let mut labels = labels.clone();
            labels.add("reason", reason);
            writeln!(to, "{NAME}{{{}}} {n}", labels.after("what", what))?;
        }
        Ok(())
    }

    /// Processes that live on when the run is over, as those of a program that goes into the background.
    fn run_on(&self) -> Option<String> {
        let about = self.recordings.iter().filter(|recording| !recording.is_closed).map(|one| one.contents.about());
        // A child keeps a part of its parent's recording mapped.
        let names: BTreeSet<_> = about.filter(|about| is_alive(about.pid)).map(program_of).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "the program's first process has ended, and what others of it do from here on is not counted: {names}"
            )
        })
    }

    /// The same in sentences, that were not given before. At the end of the run also what can be said only then.
    pub fn new_notes(&mut self, is_over: bool) -> Vec<Note> {
        /// A program that starts others for ever may have a note for each.
        const MOST: usize = 100;
        let mut notes: Vec<Note> = self.unreadable.iter().cloned().chain(self.lost().notes()).map(Note::from).collect();
        notes.extend(self.bypassed.iter().flat_map(BypassedProcesses::remarks_by_name));
        notes.extend(self.symbols.how_to_get_names());
        notes.extend(self.symbols.remarks().into_iter().map(Note::from));
        if self.recordings.iter().any(has_opaque) {
            notes.push(OPAQUE.into());
        }
        self.ended.has_locked |= self.recordings.iter().any(|recording| recording.has_locked);
        if is_over && !self.is_empty() && !self.ended.has_locked {
            notes.push(NO_LOCKS.into());
        }
        if is_over {
            notes.extend(self.unopened.iter().cloned().chain(self.run_on()).map(Note::from));
        }
        // One that has a number in it, or names of files, is the same with others.
        let key = |note: &str| note.chars().filter(|c| !c.is_ascii_digit()).take(80).collect::<String>();
        let said = &mut self.said;
        notes.retain(|note| said.len() < MOST && said.insert(key(note)));
        notes
    }
}

/// The name of a program's file.
fn program_of(about: &RecordingInfo) -> String {
    Path::new(&about.program).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
