//! What a program's threads write down of its locks while it runs.
//!
//! | file | what is in it |
//! |---|---|
//! | `layout` | the form of a recording |

#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

pub mod layout;
