//! Section 9 of go-spinbit: the waiter record and its stack.
//!
//! Who may touch a node when is told in `stack_node.rs`. The popper there is here the holder of the queue latch. It may
//! also cut the oldest node out from below another one; then that node has a phase more, before its pop:
//!
//! | phase | permit | below |
//! |---|---|---|
//! | cut, until that holder's pop | its thread waits for it | nobody |

use super::state::State;
use crate::stack_node;
use core::ptr;
use ondeck_core::{Hardware, Platform};

/// What a sleeper hangs on the stack. The alignment makes room for the flags in its address.
pub(super) type Node<P> = stack_node::Node<P, Alignment>;

#[repr(align(1024))]
pub(super) struct Alignment;

const _: () = assert!(align_of::<Node<Hardware>>() as u64 > State::FLAGS);

/// Takes the oldest node out of the stack, unless it is the newest too. The walk ends because each node was pushed on
/// top of older ones.
///
/// # Safety
/// `top` is the top of the stack, and the queue latch is the caller's.
pub(super) unsafe fn cut_oldest<P: Platform>(top: *const Node<P>) -> Option<*const Node<P>> {
    let mut above = ptr::null();
    let mut oldest = top;
    loop {
        // SAFETY: `oldest` was reached from the top of the stack, and the queue latch is ours.
        let next = unsafe { Node::below(oldest) };
        if next.is_null() {
            break;
        }
        above = oldest;
        oldest = next;
    }
    // SAFETY: null, or a node of the stack, which is alive as long as nobody pops it, and only the caller could. Null
    // is told from a node by `as_ref`.
    let above: &Node<P> = unsafe { above.as_ref() }?;
    above.cut();
    Some(oldest)
}
