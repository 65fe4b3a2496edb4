//! The profile of what was taken until now.

use super::names::Names;
use super::{FutexSnapshot, Namer, held, stuck};
use crate::Note;
use crate::collect::SNAPSHOT;
use crate::kinds::WaitSubject;
use crate::profile::{Condition, Dropped, Histogram, Lock, Profile, Site};
use crate::sorting::put_in_order;
use crate::words::{FROM_KERNEL, FROM_LOOKS};
use ondeck_futex::MOST_MODULES;
use ondeck_kit::wording::counted_that;

const LOOKS_SEE: &str = "seen by looks at the threads from outside, some dozens a second: times are estimates. How often threads \
    waited, and how long each time, is not known. As root, --futex shows each wait";

const SEES: &str = "seen from the kernel (--futex): only waits in which a thread slept. How often and how long locks were \
    held, and waiting without sleep, cannot be seen. Who holds a lock of the C library is seen by looks, some dozens a second";

impl Namer {
    /// The profile of what was told.
    pub fn profile(&mut self, told: &FutexSnapshot) -> Profile {
        let has_runtime = told.processes.iter().map(|process| self.programs.has_runtime(process)).collect();
        let mut names = Names::new(told, &mut self.symbols, has_runtime);
        let cells = names.with_those_that_go_on();
        let slice_ns = cells.iter().map(|(_, cell)| cell.over_time.slice_ns()).max().unwrap_or(1);
        let groups = names.group(&cells);
        let (mut locks, mut conditions) = (Vec::new(), Vec::new());
        for (key, group) in groups {
            match key.class.meaning {
                WaitSubject::Lock(kind) => locks.push(names.lock(&key, kind, &group, slice_ns)),
                WaitSubject::Wait(kind) => conditions.push(names.condition(&key, kind, &group)),
            }
        }
        let (hanging, held, times) = (names.hanging(), names.held(&cells), names.times());
        let without_room = names.stacks.remark();
        let (frames, stacks) = (names.stacks.frames.into_iter().collect(), names.stacks.list.into_iter().collect());
        let from_ns = told.snapshot_from_ns.unwrap_or(told.run.started_ns);
        let (source, sees) = if told.is_from_looks { (FROM_LOOKS, LOOKS_SEE) } else { (FROM_KERNEL, SEES) };
        let mut profile = Profile {
            lock: source.to_owned(),
            rate: 1,
            processes: told.processes.clone(),
            frames,
            stacks,
            locks,
            conditions,
            dropped: Dropped { samples: told.lost, ..Dropped::default() },
            notes: vec![sees.into()],
            times,
            ..told.run.profile(from_ns, told.now_ns)
        };
        put_in_order(&mut profile);
        stuck::add(&mut profile, hanging);
        held::add(&mut profile, held);
        if told.is_from_looks {
            without_counts(&mut profile);
        }
        profile.notes.extend(self.programs.notes(&profile));
        profile.notes.extend(cells.remark().map(Note::from));
        profile.notes.extend(left_out(told.doubtful).map(Note::from));
        profile.notes.extend(without_room.map(Note::from));
        profile.notes.extend(cut(told.cut_stacks).map(Note::from));
        profile.notes.extend(told.has_left_out_code.then(|| left_out_code().into()));
        profile.notes.extend(thinned(told.period).map(Note::from));
        profile.notes.extend(self.symbols.remarks().into_iter().map(Note::from));
        profile.notes.extend(self.symbols.how_to_get_names());
        profile.notes.extend(told.snapshot_from_ns.map(|_| SNAPSHOT.into()));
        profile
    }
}

/// Looks do not tell how often threads waited, and how long each time.
fn without_counts(profile: &mut Profile) {
    let forget = |waits: &mut f64, longest_ns: &mut u64, lengths: &mut Histogram, sites: &mut [Site]| {
        (*waits, *longest_ns, *lengths) = (0.0, 0, Histogram::default());
        sites.iter_mut().for_each(|site| site.count = 0.0);
    };
    for Lock { waits, longest_ns, wait_histogram, waiters, .. } in &mut profile.locks {
        forget(waits, longest_ns, wait_histogram, waiters);
    }
    for Condition { waits, longest_ns, wait_histogram, waiters, .. } in &mut profile.conditions {
        forget(waits, longest_ns, wait_histogram, waiters);
    }
}

/// What to say of waits whose ends are not known.
fn left_out(n: u64) -> Option<String> {
    let waits = counted_that(n as usize, "wait", ["is", "are"]);
    (n > 0).then(|| format!("{waits} left out: records were lost while they went on. More room for records: --max-mb"))
}

/// What to say if not each stack was copied.
fn thinned(period: u64) -> Option<String> {
    (period > 1).then(|| {
        format!(
            "this program calls the kernel very often. Each wait is counted, but where threads wait and who wakes them is \
             known of one call in {period}, and taken to be the same for those that follow it"
        )
    })
}

/// What to say of functions whose file was not looked at.
fn left_out_code() -> String {
    format!(
        "a process has mapped more than {MOST_MODULES} pieces of code. Functions in the rest of them have no names, and stacks \
         end there"
    )
}

/// What to say of stacks that found no room.
fn cut(n: u64) -> Option<String> {
    let stacks = counted_that(n as usize, "stack", ["is", "are"]);
    (n > 0).then(|| format!("{stacks} cut or missing: there was no room for so many different ones"))
}
