//! What a profiler needs to find the lock that a thread sleeps for, in the memory of another process. `ondeck profile --pid` uses
//! these numbers. The program that it looks at may have been built with an earlier version of this crate.

use super::Node;
use crate::Hardware;
use crate::ondeck::state::{ALARM, DECK, LOCKED, NAPPING, NODE_ALIGN_BITS};
use core::mem::offset_of;

/// The bits in which the two words of a label differ.
pub const MAGIC: u64 = 0x9d5c_0b7e_a3f1_4628;
/// In the first word of a label, beside the address, which is a multiple of eight: it is a condition variable's.
pub const CONDITION: u64 = 1;
/// The address of a node is a multiple of this.
pub const NODE: u64 = 1 << NODE_ALIGN_BITS;
/// From the start of a node to the word on which its thread sleeps.
pub const GRANT: u64 = offset_of!(Node<Hardware>, grant) as u64;
/// From that word to the label.
pub const LABEL: u64 = offset_of!(Node<Hardware>, label) as u64 - GRANT;
/// The bits that are set in the word of a lock while a thread naps on its upper half.
pub const NAPS: u64 = DECK | NAPPING | LOCKED | ALARM;

const _: () = assert!(align_of::<Node<Hardware>>() as u64 == NODE);

#[test]
fn programs_that_were_built_earlier_have_the_same_numbers() {
    // The counter of earlier ones had a bit more, which was set as well.
    let naps = 1 << 44 | 1 << 49 | 1 << 62 | 0x3ff << 52;
    assert_eq!(
        (MAGIC, CONDITION, NODE, GRANT, LABEL, NAPS),
        (0x9d5c_0b7e_a3f1_4628, 1, 512, 24, 16, naps),
        "of a program that has the old numbers, `ondeck profile --pid` no longer tells which lock a thread sleeps for"
    );
}
