//! Stacks of a recording as those of a profile: with names, and with functions that are gone from them.

use super::{Builder, Image};
use crate::collect::account::Account;
use crate::profile::Frame;
use crate::wrappers::{UNKNOWN, is_below};
use ondeck_record::layout::NONE;
use ondeck_record::read::ReadError;
use std::collections::{BTreeMap, BTreeSet};

impl Builder<'_> {
    /// The number in the profile of a stack of a recording; `None` if that has none.
    pub(super) fn stack(&mut self, image: &mut Image, number: u32) -> Result<Option<u32>, ReadError> {
        if number == NONE {
            return Ok(None);
        }
        if let Some(known) = image.stacks.get(&number) {
            return Ok(Some(*known));
        }
        if let Some(seen) = image.recording.holders.seen(number) {
            let known = self.seen(image, &seen);
            image.stacks.extend(known.map(|known| (number, known)));
            return Ok(known);
        }
        let addresses = image.recording.contents.stack(number)?;
        if addresses.is_empty() {
            return Ok(None);
        }
        let mut frames = self.gone(image, addresses[0]);
        let is_found = !frames.is_empty();
        self.add_frames(image, &addresses, &mut frames);
        if !is_found && frames.iter().all(|frame| is_below(self.stacks.frame(*frame))) {
            frames.insert(0, self.unknown(image, addresses[0]));
        }
        let known = self.stacks.stack(frames);
        // What was called there is known of one lock, and not of all.
        if !image.callees.contains_key(&addresses[0]) {
            image.stacks.insert(number, known);
        }
        Ok(Some(known))
    }

    /// The number in the profile of a stack that was seen from outside; `None` of an empty one.
    pub(super) fn seen(&mut self, image: &Image, addresses: &[u64]) -> Option<u32> {
        let addresses: Vec<u64> = addresses.iter().map(|address| image.told(*address)).collect();
        let mut frames = Vec::new();
        self.add_frames(image, &addresses, &mut frames);
        (!frames.is_empty()).then(|| self.stacks.stack(frames))
    }

    fn add_frames(&mut self, image: &Image, addresses: &[u64], frames: &mut Vec<u32>) {
        for (at, address) in addresses.iter().enumerate() {
            frames.extend(self.stacks.frames_of(image.code(), *address));
            if let (Some(reached), Some(caller)) = (frames.last(), addresses.get(at + 1)) {
                frames.extend(self.stacks.jumper(image.code(), *reached, *caller));
            }
        }
    }

    /// Finds what is called at the innermost return addresses of a lock's stacks, by those of its stacks that have the called
    /// function in them: who leaves the lock by a jump took it by a call.
    pub(super) fn find_callees(&mut self, image: &mut Image, account: &Account) -> Result<(), ReadError> {
        image.callees.clear();
        let numbers = account.stacks().filter(|number| *number != NONE).collect::<BTreeSet<u32>>();
        let stack = |number| Ok((number, image.recording.contents.stack(number)?));
        let stacks = numbers.into_iter().map(stack).collect::<Result<BTreeMap<u32, Vec<u64>>, ReadError>>()?;
        let inner: BTreeSet<u64> = stacks.values().filter_map(|stack| stack.first().copied()).collect();
        // What locks by itself is more likely to unlock by itself than what calls it.
        let locking = account.waiters.0.keys().chain(account.takers.0.keys()).map(|stack| stack.number);
        let direct = locking.filter_map(|number| stacks.get(&number)?.first_chunk::<2>());
        let all = stacks.values().flat_map(|stack| stack.array_windows::<2>());
        for pairs in [direct.collect::<Vec<&[u64; 2]>>(), all.collect()] {
            let mut found: BTreeMap<u64, Option<Vec<u32>>> = BTreeMap::new();
            for [called, caller] in pairs.into_iter().filter(|pair| inner.contains(&pair[1])) {
                let called = self.without_wrappers(image, *called);
                let known = found.entry(*caller).or_insert_with(|| Some(called.clone()));
                if known.as_ref().is_some_and(|known| self.function(known) != self.function(&called)) {
                    *known = None;
                }
            }
            for (caller, called) in found {
                image.callees.entry(caller).or_insert(called);
            }
        }
        Ok(())
    }

    /// The outermost of the functions at one address.
    fn function(&self, frames: &[u32]) -> Option<&str> {
        frames.last().map(|frame| self.stacks.frame(*frame).function.as_str())
    }

    /// The functions at an address, from the innermost on that does more than lock.
    fn without_wrappers(&mut self, image: &Image, address: u64) -> Vec<u32> {
        let all = self.stacks.frames_of(image.code(), address);
        all.into_iter().skip_while(|frame| self.stacks.is_wrapper(*frame)).collect()
    }

    /// The functions that are no longer on the stack, as the innermost of them has jumped to the one that locks or unlocks.
    fn gone(&mut self, image: &Image, return_address: u64) -> Vec<u32> {
        let jumped = self.stacks.tail_caller(image.code(), return_address);
        match image.callees.get(&return_address) {
            // The call says which.
            Some(Some(called)) if self.function(called) == self.function(&jumped) => jumped,
            // The one that was called has jumped to it.
            Some(Some(called)) => called.iter().copied().chain(jumped).collect(),
            Some(None) if jumped.is_empty() => vec![self.unknown(image, return_address)],
            Some(None) | None => jumped,
        }
    }

    /// In the place of a function that is gone and could be any.
    fn unknown(&mut self, image: &Image, return_address: u64) -> u32 {
        let caller = self.stacks.frames_of(image.code(), return_address).first().copied();
        let function = match caller.filter(|frame| !is_below(self.stacks.frame(*frame))) {
            Some(frame) => format!("[unknown, called by {}]", self.stacks.brief(frame)),
            None => UNKNOWN.to_owned(),
        };
        self.stacks.number(Frame { function, ..Frame::default() })
    }
}
