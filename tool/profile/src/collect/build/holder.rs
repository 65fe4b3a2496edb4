//! Who holds a lock that one function takes and another one releases: the innermost function that was on the stack at both.
//!
//! A release knows the place where the lock was taken, but not who called that. Stacks of acquisitions were sampled, and those of
//! waits: among those from that place, the one that goes furthest with the stack of the release is that of this hold, as both have
//! the same calls under way. Where they part, the same function has called both. Where the release's is a part of the other one,
//! the functions before it were called there and are gone: their last act was a jump to the one that unlocks.

use super::{Builder, Image};
use ondeck_record::layout::in_time;
use ondeck_record::read::ReadError;
use std::collections::HashMap;

/// The return addresses of stacks that took a lock, by the innermost: each list from the outermost on.
pub(super) type Takers = HashMap<u64, Vec<Vec<u64>>>;

/// So many stacks from one place are compared with each release.
const MOST: usize = 64;

impl Image<'_> {
    /// The stacks that have taken any lock, as far as they are known.
    fn takers(&mut self) -> Result<&Takers, ReadError> {
        if self.takers.is_none() {
            let accounts = self.recording.locks.values();
            let mut numbers: Vec<u32> = accounts.flat_map(|account| account.taking_stacks()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let mut takers = Takers::new();
            for number in numbers {
                let mut addresses = self.recording.contents.stack(number)?;
                if addresses.first().is_some_and(|first| first & in_time::TAKEN_AT != 0) {
                    addresses.remove(0);
                }
                addresses.reverse();
                let Some(innermost) = addresses.last() else { continue };
                let all = takers.entry(*innermost).or_default();
                if all.len() < MOST {
                    all.push(addresses);
                }
            }
            self.takers = Some(takers);
        }
        Ok(self.takers.get_or_insert_default())
    }
}

impl Builder<'_> {
    /// The frames of the innermost function that was there both when the lock was taken at that place and when it was released,
    /// and how many of the release's addresses are done with these. `None` if that is not known.
    pub(super) fn holder(
        &mut self,
        image: &mut Image,
        taken_at: u64,
        release: &[u64],
    ) -> Result<Option<(Vec<u32>, usize)>, ReadError> {
        let common =
            |taker: &Vec<u64>| taker.iter().zip(release.iter().rev()).take_while(|(one, other)| one == other).count();
        let stacks = image.takers()?.get(&taken_at).map_or(&[][..], Vec::as_slice);
        let Some((n_common, taker)) = stacks.iter().map(|taker| (common(taker), taker)).max_by_key(|(n, _)| *n) else {
            return Ok(None);
        };
        let (taken, n_inner) = (taker.get(n_common).copied(), release.len() - n_common);
        let Some(taken) = taken.filter(|_| n_common > 0) else { return Ok(None) };
        let takes = self.stacks.frames_of(image.code(), taken);
        if n_inner == 0 {
            return Ok(Some((takes, 0)));
        }
        let releases = self.stacks.frames_of(image.code(), release[n_inner - 1]);
        let function = |frame: &u32| self.stacks.frame(*frame).function.as_str();
        let both = takes.iter().rev().zip(releases.iter().rev());
        let n_both = both.take_while(|(one, other)| function(one) == function(other)).count();
        Ok((n_both > 0).then(|| (releases[releases.len() - n_both..].to_vec(), n_inner)))
    }
}
