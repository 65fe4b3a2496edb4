//! Waits for locks that are not recorded, as looks at all threads have found them: inside of libraries, of other languages, of
//! files.

use crate::libraries::{LibraryLock, library_lock};
use crate::profile::{Profile, ThreadTime};
use crate::rules::QUIET;
use crate::thread_time::{self, TimeKind};
use crate::wrappers::{Tops, is_below};
use std::collections::BTreeMap;

/// Waiting for locks of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::findings) struct HiddenWait {
    pub(in crate::findings) is_of_file: bool,
    /// What it is, if that is known.
    pub(in crate::findings) library: Option<&'static LibraryLock>,
    /// The function of a library that has the lock; empty where the program's own wait.
    pub(in crate::findings) inside: String,
    /// The system call.
    pub(in crate::findings) call: String,
    /// The frame of the function that called it, by its index in [`Profile::frames`], if that is known.
    pub(in crate::findings) caller: Option<u32>,
    pub(in crate::findings) ns: f64,
    /// Of the time in which threads had something to do.
    pub(in crate::findings) share: f64,
}

/// The function of a library, the system call, who called it, and how long.
type Places<'p> = BTreeMap<(String, &'p str, Option<u32>), f64>;

/// The waits that matter, those that took longest first.
pub(super) fn hidden(profile: &Profile, tops: &Tops) -> Vec<HiddenWait> {
    let busy_ns = thread_time::busy_ns(profile, tops);
    // Locks of one kind are in several functions, as `malloc` and `free`. Of these, the one with most waiting is told.
    let mut sums: BTreeMap<(bool, String), Places> = BTreeMap::new();
    for time in &profile.times {
        let kind = thread_time::kind(profile, tops, time);
        if !matches!(kind, TimeKind::OtherLocks | TimeKind::FileLocks) {
            continue;
        }
        let (inside, caller) = match place(profile, tops, time) {
            // Whatever of the library's has called it.
            (_, caller) if thread_time::is_map_call(&time.call) => (time.call.clone(), caller),
            place => place,
        };
        let is_of_file = kind == TimeKind::FileLocks;
        let what = library_lock(&inside).map_or(inside.clone(), |lock| lock.what.to_owned());
        let places = sums.entry((is_of_file, if is_of_file { String::new() } else { what })).or_default();
        *places.entry((inside, &time.call, caller)).or_default() += time.ns;
    }
    let found = sums.into_iter().filter_map(|((is_of_file, _), places)| {
        let ns: f64 = places.values().sum();
        let ((inside, call, caller), _) = places.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (library, call) = (library_lock(&inside).filter(|_| !is_of_file), call.to_owned());
        Some(HiddenWait { is_of_file, library, inside, call, caller, ns, share: ns / busy_ns })
    });
    let mut found: Vec<HiddenWait> = found.filter(|wait| wait.share >= QUIET).collect();
    found.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    found
}

/// The function of a library in which a thread waits that was called last by the program, and who called it.
fn place(profile: &Profile, tops: &Tops, time: &ThreadTime) -> (String, Option<u32>) {
    let Some(stack) = time.stack else { return Default::default() };
    let frames: Vec<u32> = tops.stack(stack).collect();
    let is_inside = |number: &u32| is_below(&profile.frames[*number as usize]) || tops.is_wrapper(*number);
    let n_inside = frames.iter().position(|number| !is_inside(number)).unwrap_or(frames.len());
    let named = |number: &&u32| profile.frames[**number as usize].is_named;
    let inside = frames[..n_inside].iter().rev().find(named).map_or("", |number| tops.brief(*number));
    (inside.to_owned(), frames.get(n_inside).copied())
}
