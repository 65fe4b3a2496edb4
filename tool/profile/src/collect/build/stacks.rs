//! Stacks of a recording as those of a profile: with names, and with functions that are gone from them.

use super::{Builder, Image};
use crate::profile::Frame;
use crate::wrappers::{UNKNOWN, is_below};
use ondeck_record::layout::{NONE, in_time};
use ondeck_record::read::ReadError;

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
        let mut addresses = image.recording.contents.stack(number)?;
        let taken_at = addresses.first().filter(|first| **first & in_time::TAKEN_AT != 0).copied();
        if taken_at.is_some() {
            addresses.remove(0);
        }
        if addresses.is_empty() {
            return Ok(None);
        }
        let innermost = addresses[0];
        let taken_at = taken_at.map(|taken_at| taken_at & !in_time::TAKEN_AT);
        let holder = taken_at.map(|taken_at| self.holder(image, taken_at, &addresses)).transpose()?.flatten();
        let mut frames = match (holder, taken_at) {
            (Some((holder, n_done)), _) => {
                addresses.drain(..n_done);
                holder
            }
            (None, Some(taken_at)) => self.gone(image, taken_at, &addresses),
            // Who takes it by a jump has nothing to do with it.
            (None, None) => self.stacks.tail_caller(image.code(), innermost),
        };
        let is_found = !frames.is_empty();
        self.add_frames(image, &addresses, &mut frames);
        if !is_found && frames.iter().all(|frame| is_below(self.stacks.frame(*frame))) {
            frames.insert(0, self.unknown(image, innermost));
        }
        let known = self.stacks.stack(frames);
        image.stacks.insert(number, known);
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
                frames.extend(self.stacks.gone_before(image.code(), *reached, *address, *caller));
            }
        }
    }

    /// The function that is no longer on the stack of a release, as it has jumped to the one that unlocks, where no stack that has
    /// taken the lock there is known. The call says which it was, if it is not by a pointer. Else it is the one that has taken the
    /// lock, unless that is still there.
    fn gone(&mut self, image: &Image, taken_at: u64, addresses: &[u64]) -> Vec<u32> {
        let jumped = self.stacks.tail_caller(image.code(), addresses[0]);
        if !jumped.is_empty() || !self.stacks.symbols.is_by_pointer(&image.modules, addresses[0]) {
            return jumped;
        }
        let taker = if taken_at == 0 { Vec::new() } else { self.stacks.frames_of(image.code(), taken_at) };
        let function = |all: &Self, frames: &[u32]| frames.last().map(|last| all.stacks.frame(*last).function.clone());
        let is_taker = function(self, &taker);
        let frames: Vec<Vec<u32>> =
            addresses.iter().map(|address| self.stacks.frames_of(image.code(), *address)).collect();
        if is_taker.is_some() && frames.iter().any(|frames| function(self, frames) == is_taker) {
            return Vec::new();
        }
        let is_known = |last: &u32| self.stacks.frame(*last).is_named && !is_below(self.stacks.frame(*last));
        let is_known = taker.last().is_some_and(is_known);
        let taker = taker.into_iter().skip_while(|frame| !is_known || self.stacks.is_wrapper(*frame));
        let taker: Vec<u32> = taker.collect();
        if taker.is_empty() { vec![self.unknown(image, addresses[0])] } else { taker }
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
