//! What the statistics are where a process can be recorded.

use super::{Histogram, LockStatistics, LongHold, Snapshot, WaitingThread};
use crate::counts::{self, Class, Counts, DEPTH, MOST, OTHERS, ToTell};
use crate::hooks::bare;
use crate::layout::{Name, Waiter, in_time};
use crate::modules::{self, Module};
use crate::store::{Recording, current};
use crate::thread::now_ns;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, Ordering,
    Ordering::{Acquire, Relaxed, Release},
};
use std::format;
use std::string::String;
use std::time::Duration;
use std::vec::Vec;

pub(super) fn start(rate: u64) -> bool {
    bare::begin_to_count(rate)
}

pub(super) fn snapshot() -> Snapshot {
    let Some(classes) = counts::classes() else { return Snapshot::default() };
    let recording = current();
    let mut waiting = waiting(recording);
    let files = modules::loaded();
    let is_used = |class: &Class| class.waits.is_used() || class.holds.is_used();
    let mut found = Vec::new();
    for (number, class) in classes.iter().enumerate() {
        let waiting = waiting[number].split_off(0);
        let is_one = number == OTHERS || class.is_told();
        if is_one && (is_used(class) || !waiting.is_empty()) {
            let label = if number == OTHERS { "(others)".into() } else { label(&class.name(), class.place(), &files) };
            found.push(LockStatistics { lock: label, waiting, ..of_class(class, &files) });
        }
    }
    Snapshot { locks: by_name(found), missed: counts::missed(recording) }
}

fn of_class(class: &Class, files: &[Module]) -> LockStatistics {
    let [longest_wait, longest_hold] =
        [&class.waits, &class.holds].map(|counts| Duration::from_nanos(counts.longest.load(Relaxed)));
    // Before the waits: each that has given up is among these.
    let gave_up = class.gave_up.load(Acquire);
    let mut longest_hold_stack = Vec::new();
    class.with_stack(|words| {
        if class.stack_ns.load(Relaxed) != class.holds.longest.load(Relaxed) {
            return;
        }
        let addresses = words.iter().map(|word| word.load(Relaxed)).take_while(|address| *address != 0);
        longest_hold_stack.extend(addresses.take(DEPTH).map(|address| place(address, files)));
    });
    LockStatistics {
        waits: class.waits.histogram(),
        gave_up,
        longest_wait,
        holds: class.holds.histogram(),
        timed_holds: class.sampled.load(Relaxed),
        longest_hold,
        longest_hold_stack,
        ..LockStatistics::default()
    }
}

impl Counts {
    fn histogram(&self) -> Histogram {
        let buckets = self.buckets.each_ref().map(|count| count.load(Relaxed));
        Histogram { buckets, sum: Duration::from_nanos(self.ns.load(Relaxed)) }
    }

    fn is_used(&self) -> bool {
        self.longest.load(Relaxed) != 0 || self.buckets.iter().any(|count| count.load(Relaxed) != 0)
    }
}

/// The threads that sleep now, of each class.
fn waiting(recording: Option<&Recording>) -> Vec<Vec<WaitingThread>> {
    let mut waiting = std::vec![Vec::new(); MOST];
    let Some(recording) = recording else { return waiting };
    let now = now_ns();
    for at in 0..recording.most_waiters.load(Relaxed).into() {
        let Some(slot) = recording.entry::<Waiter>(recording.waiters, at) else { break };
        let look = |order: Ordering| (slot.thread.load(order), slot.since.load(Relaxed), slot.lock.load(Relaxed));
        let (thread, since, number) = look(Acquire);
        if thread == 0 || thread == Waiter::TAKEN {
            continue;
        }
        let class = counts::class_of(recording, number);
        // Else another wait has begun there meanwhile.
        if let Some((_, class)) = class.filter(|_| look(Relaxed) == (thread, since, number)) {
            waiting[class].push(WaitingThread { thread, waited: Duration::from_nanos(now.saturating_sub(since)) });
        }
    }
    waiting
}

// -- What locks are called --------------------------------------------------------------------------------------------

/// The name, up to a zero, or the place if there is none.
fn label(name: &[u8], address: u64, files: &[Module]) -> String {
    let name = CStr::from_bytes_until_nul(name).unwrap_or_default().to_bytes();
    let text = String::from_utf8_lossy(name);
    match text.strip_suffix('\u{fffd}') {
        _ if text.is_empty() => place(address, files),
        // What was cut in the middle of a character ends before it.
        Some(whole) if name.len() == Name::TEXT - 1 => whole.to_owned(),
        _ => text.into_owned(),
    }
}

/// A return address of [`in_time`] by the file that it is in, or was. Of the call: the address itself may be of the next line.
fn place(address: u64, files: &[Module]) -> String {
    let address = address.saturating_sub(1);
    let call = in_time::plain(address);
    // What nobody has walked through the recorder does not know, but the loader.
    let from_loader = || files.iter().find(|file| in_time::module(address) == 0 && file.has(call));
    match modules::of(address).or_else(from_loader) {
        Some(file) => format!("{}+{:#x}", file.name(), call - file.bias),
        None => format!("{call:#x}"),
    }
}

// -- Several of one name ----------------------------------------------------------------------------------------------

/// In the order of names, each once: two files of one name may have a lock at the same place.
fn by_name(mut locks: Vec<LockStatistics>) -> Vec<LockStatistics> {
    locks.sort_by(|one, other| one.lock.cmp(&other.lock));
    locks.dedup_by(|next, kept| {
        let is_same = next.lock == kept.lock;
        if is_same {
            kept.add(next);
        }
        is_same
    });
    locks
}

impl Histogram {
    fn add(&mut self, other: &Self) {
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

impl LockStatistics {
    /// Takes what another one has, of locks that have the same name.
    fn add(&mut self, other: &mut Self) {
        self.waits.add(&other.waits);
        self.holds.add(&other.holds);
        self.gave_up += other.gave_up;
        self.timed_holds += other.timed_holds;
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        if other.longest_hold > self.longest_hold {
            self.longest_hold = other.longest_hold;
            self.longest_hold_stack = core::mem::take(&mut other.longest_hold_stack);
        }
        self.waiting.append(&mut other.waiting);
    }
}

// -- Long holds -------------------------------------------------------------------------------------------------------

/// The program's; null before it has one.
static TELL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

pub(super) fn on_long_hold(ns: u64, tell: fn(&LongHold)) {
    TELL.store(tell as *mut (), Release);
    counts::listen(ns, |held| {
        // SAFETY: stored above, or by a later call.
        let tell = unsafe { core::mem::transmute::<*mut (), fn(&LongHold)>(TELL.load(Acquire)) };
        tell(&long_hold(held));
    });
}

fn long_hold(held: ToTell) -> LongHold {
    let (name, place) = (held.class.name(), held.class.place());
    LongHold { held: Duration::from_nanos(held.ns), is_whole: held.is_timed, name, place }
}

/// Asks no loader: its lock may be held by who waits for another lock of the calling thread.
pub(super) fn lock_of(hold: &LongHold) -> String {
    match (hold.name[0], hold.place) {
        (0, 0) => "(others)".into(),
        _ => label(&hold.name, hold.place, modules::known().map_or(&[], |known| &known.modules)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_one_name_are_one() {
        let lock = |name: &str, gave_up, ms| {
            let longest_hold_stack = std::vec![std::format!("{ms}")];
            let longest_hold = Duration::from_millis(ms);
            LockStatistics { lock: name.into(), gave_up, longest_hold, longest_hold_stack, ..Default::default() }
        };
        let locks = by_name(std::vec![lock("b", 1, 1), lock("a", 2, 2), lock("b", 4, 4)]);
        let told: std::vec::Vec<_> = locks.iter().map(|lock| (lock.lock.as_str(), lock.gave_up)).collect();
        assert_eq!(told, [("a", 2), ("b", 5)]);
        assert_eq!(locks[1].longest_hold_stack, ["4"]);
    }
}
