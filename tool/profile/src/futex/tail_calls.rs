//! Functions that are gone from the stack of who wakes a thread: their last act was a jump to the one that unlocks. Where they
//! were called by a pointer, the call does not tell which they were. That a function is gone there, the stacks of the lock's
//! waiters tell: these were called by the same call.

use crate::profile::Frame;
use crate::stacks::Stacks;
use crate::wrappers::is_below;
use std::collections::HashSet;

/// The module and the address of a call.
type Call = (String, u64);

/// The calls that have called functions of the program.
pub(super) fn calls_of_functions(stacks: &Stacks, waiters: impl Iterator<Item = u32>) -> HashSet<Call> {
    let mut found = HashSet::new();
    for stack in waiters {
        let calls: Vec<&[u32]> = calls(stacks, stacks.of(stack)).collect();
        let by_function = calls.windows(2).filter(|pair| !is_in_library(stacks, pair[0]));
        found.extend(by_function.filter_map(|pair| call(stacks, pair[1])));
    }
    found
}

/// Where in the stack of a waker a function is gone, and what stands for it; `None` if none is.
pub(super) fn gone(stacks: &Stacks, of_functions: &HashSet<Call>, waker: &[u32]) -> Option<(usize, Frame)> {
    let calls: Vec<&[u32]> = calls(stacks, waker).collect();
    let at = calls.iter().position(|frames| !is_in_library(stacks, frames)).filter(|at| *at > 0)?;
    let is_gone = of_functions.contains(&call(stacks, calls[at])?);
    let function = format!("[unknown, called by {}]", stacks.brief(*calls[at].first()?));
    is_gone.then(|| (calls[..at].concat().len(), Frame { function, ..Frame::default() }))
}

/// The frames of each call, with the functions that were compiled into the one that has called.
fn calls<'s>(stacks: &'s Stacks, stack: &'s [u32]) -> impl Iterator<Item = &'s [u32]> {
    stack.split_inclusive(|number| !stacks.frame(*number).is_inlined)
}

fn call(stacks: &Stacks, frames: &[u32]) -> Option<Call> {
    frames.last().map(|number| stacks.frame(*number)).map(|frame| (frame.module.clone(), frame.address))
}

fn is_in_library(stacks: &Stacks, call: &[u32]) -> bool {
    call.last().is_some_and(|number| is_below(stacks.frame(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;

    #[test]
    fn who_has_jumped_is_unknown_and_nobody_else_is_named() {
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
            frame("run", "app", 6, false),
            frame("start_thread", "libc.so.6", 7, false),
        ] {
            stacks.number(frame);
        }
        let waiter = stacks.stack_as_it_is(vec![0, 1, 2, 3, 6]);
        let of_functions = calls_of_functions(&stacks, [waiter].into_iter());
        let gone = |waker: &[u32]| gone(&stacks, &of_functions, waker).map(|(at, frame)| (at, frame.function));
        assert_eq!(gone(&[4, 3, 6]), Some((1, "[unknown, called by run]".to_owned())), "any that it calls there");
        assert_eq!(gone(&[4, 5, 6]), None, "another call");
        assert_eq!(gone(&[4, 1, 2, 3, 6]), None, "it is there");
        assert_eq!(gone(&[4, 6]), None);
        assert_eq!(gone(&[]), None);
    }
}
