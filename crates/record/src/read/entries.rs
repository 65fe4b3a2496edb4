//! From the entries of a recording to what they say.

use super::{Lock, Nesting, Sample};
use crate::layout::{self, LENGTHS_AT, event};

/// The lock that has the entry of that number.
pub(super) fn lock(number: u32, entry: layout::Lock) -> Option<Lock> {
    let address = entry.address.into_inner();
    (address != 0).then(|| Lock {
        number: layout::tenancy::number(number, entry.tenancy.into_inner()),
        address,
        kind: entry.kind.into_inner().into(),
        origin: entry.origin.into_inner(),
        left_over: entry.left_over.into_inner(),
        most_waiting: entry.most_waiting.into_inner(),
        longest_ns: entry.longest.into_inner(),
        parks: entry.parks.into_inner(),
        wakes: entry.wakes.into_inner(),
        rotations: entry.rotations.into_inner(),
        spins: entry.spins.into_inner(),
        name: entry.name.into_inner(),
        module: entry.module.into_inner().into(),
        waiting: entry.waiting.into_inner(),
        lasts_since: entry.lasts_since.into_inner(),
    })
}

/// `None` if the entry is not in use, or still being written.
pub(super) fn nesting(entry: layout::Nesting) -> Option<Nesting> {
    use layout::Nesting as Entry;
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let (word, outer) = (entry.locks.into_inner(), entry.outer.into_inner());
    let locks = halves(word);
    let nesting = Nesting {
        locks: locks.map(|lock| lock & !(Entry::SHARED | Entry::TRIED)),
        shared: locks.map(|lock| lock & Entry::SHARED != 0),
        is_tried: locks[1] & Entry::TRIED != 0,
        stacks: halves(entry.stacks.into_inner()),
        outer: Entry::outer(outer),
    };
    (word != Entry::CHANGES && outer & Entry::SEEN != 0 && !nesting.locks.contains(&layout::NONE)).then_some(nesting)
}

pub(super) fn sample(slot: layout::Slot) -> Option<Sample> {
    let (what, place) = (slot.what.into_inner(), slot.place.into_inner());
    let event = what as u32 & !(!0 << LENGTHS_AT[0]);
    let weight = f64::from_bits(slot.weight.into_inner());
    // Sums of weights, and of what they are multiplied with, stay far from infinity.
    let is_possible = weight > 0.0 && weight <= u64::MAX as f64;
    let is_known = (event::WAIT..=event::REFUSED).contains(&event::plain(event)) && is_possible;
    is_known.then_some(Sample {
        event,
        thread: (what >> 32) as u32,
        lock: place as u32,
        stack: (place >> 32) as u32,
        at: slot.at.into_inner(),
        ns: slot.ns.into_inner(),
        weight,
        lengths: LENGTHS_AT.map(|at| layout::decoded(what as u32 >> at & layout::LENGTH)),
    })
}
