//! Functions that are gone from the stack of who wakes a thread: their last act was a jump to the one that unlocks. Where they
//! were called by a pointer, the call does not tell which they were, but the stacks of the lock's waiters do.

use crate::profile::Frame;
use crate::stacks::Stacks;
use crate::wrappers::is_below;
use std::collections::HashMap;

/// The module and the address of a call.
type Call<'a> = (&'a str, u64);

/// What the calls in a lock's stacks have called.
pub(super) struct Callees<'a> {
    stacks: &'a Stacks<'a>,
    /// `None` where they were several.
    called: HashMap<Call<'a>, Option<&'a [u32]>>,
}

impl<'a> Callees<'a> {
    pub(super) fn new(stacks: &'a Stacks<'a>, waiters: impl Iterator<Item = u32>) -> Self {
        let mut callees = Callees { stacks, called: HashMap::new() };
        for stack in waiters {
            let calls: Vec<&[u32]> = callees.calls(stacks.of(stack)).collect();
            for pair in calls.windows(2) {
                let Some(call) = callees.call(pair[1]).filter(|_| !callees.is_below(pair[0])) else { continue };
                let function = |calls: &[u32]| callees.last(calls).map(|frame| frame.function.as_str());
                let known = callees.called.get(&call).copied().unwrap_or(Some(pair[0]));
                let is_same = known.is_some_and(|known| function(known) == function(pair[0]));
                callees.called.insert(call, known.filter(|_| is_same));
            }
        }
        callees
    }

    /// The stack with the functions that are gone; `None` if none is.
    pub(super) fn whole(&self, waker: &[u32]) -> Option<Vec<u32>> {
        let calls: Vec<&[u32]> = self.calls(waker).collect();
        let at = calls.iter().position(|frames| !self.is_below(frames)).filter(|at| *at > 0)?;
        let gone = self.called.get(&self.call(calls[at])?).copied()??;
        let gone = gone.iter().skip_while(|number| self.stacks.is_wrapper(**number));
        Some(calls[..at].concat().iter().chain(gone).copied().chain(calls[at..].concat()).collect())
    }

    /// The frames of each call, with the functions that were compiled into the one that has called.
    fn calls<'s>(&self, stack: &'s [u32]) -> impl Iterator<Item = &'s [u32]> + use<'a, 's> {
        let stacks = self.stacks;
        stack.split_inclusive(|number| !stacks.frame(*number).is_inlined)
    }

    fn last(&self, call: &[u32]) -> Option<&'a Frame> {
        call.last().map(|number| self.stacks.frame(*number))
    }

    fn call(&self, frames: &[u32]) -> Option<Call<'a>> {
        self.last(frames).map(|frame| (frame.module.as_str(), frame.address))
    }

    fn is_below(&self, call: &[u32]) -> bool {
        self.last(call).is_some_and(is_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;

    #[test]
    fn who_has_jumped_is_told_by_who_has_called() {
        let frame = |function: &str, module: &str, address, is_inlined| {
            let (function, module) = (function.to_owned(), module.to_owned());
            Frame { function, module, address, is_inlined, is_named: true, ..Frame::default() }
        };
        let mut symbols = Symbols::default();
        let mut stacks = Stacks::new(&mut symbols);
        for frame in [
            frame("pthread_mutex_lock", "libc.so.6", 1, false),
            frame("std::mutex::lock()", "app", 2, true),
            frame("serve", "app", 2, false),
            frame("run", "app", 3, false),
            frame("pthread_mutex_unlock", "libc.so.6", 4, false),
            frame("other", "app", 5, false),
            frame("run", "app", 6, false),
            frame("start_thread", "libc.so.6", 7, false),
        ] {
            stacks.number(frame);
        }
        let [serve, other] = [vec![0, 1, 2, 3, 7], vec![0, 5, 3, 7]].map(|frames| stacks.stack_as_it_is(frames));
        let callees = Callees::new(&stacks, [serve].into_iter());
        assert_eq!(callees.whole(&[4, 3, 7]), Some(vec![4, 2, 3, 7]));
        assert_eq!(callees.whole(&[4, 6, 7]), None, "another call");
        assert_eq!(callees.whole(&[4, 2, 3, 7]), None, "it is there");
        assert_eq!(callees.whole(&[4, 7]), None);
        assert_eq!(callees.whole(&[]), None);
        let callees = Callees::new(&stacks, [serve, other].into_iter());
        assert_eq!(callees.whole(&[4, 3, 7]), None, "one of two");
    }
}
