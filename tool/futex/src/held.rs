//! Stacks of calls that came without one: that of the last such call whose stack was copied.
//!
//! If one call in so many is copied, each copy stands for those that follow it, up to the next one. Over many calls each stack
//! has its share.

use crate::image::Images;
use crate::record::Call;
use crate::walk::{Copied, stack_pointer};
use rustc_hash::FxHashMap;

/// By whom and for what, and whether to wake.
type CallKey = (u64, u64, bool);

#[derive(Default)]
pub(crate) struct HeldStacks {
    /// Of a thread, with its image.
    of_threads: FxHashMap<CallKey, u32>,
    /// Of any thread of an image.
    of_images: FxHashMap<CallKey, u32>,
    /// How many modules were known then: another one may have come to a function's place.
    n_modules: usize,
}

impl HeldStacks {
    /// More are forgotten, all at once: threads and futexes come and go.
    const MOST: usize = 1 << 16;

    /// The image of a call and the number of its stack, be it copied or not.
    pub(crate) fn stack(&mut self, images: &mut Images, call: &Call<'_>, is_wake: bool) -> (usize, u32) {
        let Call { about, address, .. } = call;
        let image = images.at(about.pid, about.at);
        if self.n_modules != images.n_added {
            *self = HeldStacks { n_modules: images.n_added, ..HeldStacks::default() };
        }
        let by_thread = ((image as u64) << 32 | u64::from(about.thread), *address, is_wake);
        let by_image = (image as u64, *address, is_wake);
        let Some(copy) = call.stack else {
            let known = self.of_threads.get(&by_thread).or_else(|| self.of_images.get(&by_image));
            return (image, known.copied().unwrap_or_else(|| images.numbered(image, Vec::new())));
        };
        let stack = images.stack(image, about.at, &call.registers, &mut Copied(stack_pointer(&call.registers), copy));
        for (known, key) in [(&mut self.of_threads, by_thread), (&mut self.of_images, by_image)] {
            if known.len() >= Self::MOST {
                known.clear();
            }
            known.insert(key, stack);
        }
        (image, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{N_REGISTERS, RecordOrigin};

    #[test]
    fn a_call_without_its_stack_has_that_of_the_last_one_alike() {
        let (mut images, mut held) = (Images::default(), HeldStacks::default());
        let pid = std::process::id();
        let mut call = |thread, address, instruction: Option<u64>, is_wake| {
            let about = RecordOrigin { pid, thread, at: 1 };
            let mut registers = [0; N_REGISTERS];
            registers[N_REGISTERS - 1] = instruction.unwrap_or(0);
            let call = Call { about, address, op: 0, value: 0, registers, stack: instruction.map(|_| &[][..]) };
            let (_, number) = held.stack(&mut images, &call, is_wake);
            images.addresses(number).to_vec()
        };
        assert!(call(1, 16, None, false).is_empty());
        for (thread, instruction) in [(1, 0x1001), (2, 0x1002)] {
            assert_eq!(call(thread, 16, Some(instruction), false), [instruction]);
        }
        assert_eq!([1, 2, 3].map(|thread| call(thread, 16, None, false)), [[0x1001], [0x1002], [0x1002]]);
        assert!(call(1, 17, None, false).is_empty() && call(1, 16, None, true).is_empty());
        assert_eq!(call(1, 16, Some(0x1003), true), [0x1003]);
        assert_eq!((call(1, 16, None, true), call(1, 16, None, false)), (vec![0x1003], vec![0x1001]));
    }
}
