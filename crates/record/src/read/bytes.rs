//! Bytes of a file as numbers and texts.

use crate::layout::{self, Header};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::vec::Vec;

/// What is nothing but numbers, in atomics or not.
///
/// # Safety
/// - Every pattern of bits is a value.
pub(super) unsafe trait Numbers {}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        // SAFETY: so is its definition.
        unsafe impl Numbers for $type {}
    )*};
}
numbers!(u32 u64 Header layout::Module layout::Lock layout::Waiter layout::Name layout::Nesting layout::Slot);

/// So many of them that follow each other in a file.
pub(super) fn read<T: Numbers>(file: &File, at: u64, n: usize) -> io::Result<Vec<T>> {
    let mut bytes = std::vec![0; n * size_of::<T>()];
    file.read_exact_at(&mut bytes, at)?;
    // SAFETY: as many bytes as one takes, of which every pattern is one.
    let one = |bytes: &[u8]| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
    Ok(bytes.chunks_exact(size_of::<T>()).map(one).collect())
}

/// Up to a zero.
pub(super) fn text(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(text(bytes)))
}
