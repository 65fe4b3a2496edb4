//! The profile of what was taken until now.

use super::names::Names;
use super::stuck;
use super::{FutexSnapshot, Namer};
use crate::collect::SNAPSHOT;
use crate::kinds::WaitSubject;
use crate::profile::{Dropped, Profile};
use crate::sorting::put_in_order;
use crate::words::FROM_KERNEL;
use ondeck_futex::MOST_MODULES;
use ondeck_report::wording::counted_that;

const SEES: &str = "seen from the kernel (--futex): only waits in which a thread slept. How often and how long locks were \
    held, and waiting without sleep, cannot be seen";

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
        let hanging = names.hanging();
        let without_room = names.stacks.remark();
        let (frames, stacks) = (names.stacks.frames.into_iter().collect(), names.stacks.list.into_iter().collect());
        let from_ns = told.snapshot_from_ns.unwrap_or(told.run.started_ns);
        let mut profile = Profile {
            lock: FROM_KERNEL.to_owned(),
            rate: 1,
            processes: told.processes.clone(),
            frames,
            stacks,
            locks,
            conditions,
            dropped: Dropped { samples: told.lost, ..Dropped::default() },
            notes: vec![SEES.to_owned()],
            ..told.run.profile(from_ns, told.now_ns)
        };
        put_in_order(&mut profile);
        stuck::add(&mut profile, hanging);
        profile.notes.extend(self.programs.notes(&profile));
        profile.notes.extend(cells.remark());
        profile.notes.extend(left_out(told.doubtful));
        profile.notes.extend(without_room);
        profile.notes.extend(cut(told.cut_stacks));
        profile.notes.extend(told.has_left_out_code.then(left_out_code));
        profile.notes.extend(thinned(told.period));
        profile.notes.extend(self.symbols.remarks());
        profile.notes.extend(self.symbols.how_to_get_names());
        profile.notes.extend(told.snapshot_from_ns.map(|_| SNAPSHOT.to_owned()));
        profile
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
