//! Files of programs, libraries and debug information as they are on disk. All of them are opened, mapped and parsed here:
//! the walk of stacks, names for addresses, and the check of a program before it is started.
//!
//! The recorder is apart: it runs in other people's processes, where it may not allocate or open files, and reads what the
//! loader has put into memory.

use memmap2::Mmap;
use object::{Object, ObjectSegment};
pub use ondeck_record::read::outside::open_plain as open;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// What is loaded of a file as one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its addresses, as the file has them.
    pub memory: Range<u64>,
    /// Where it is in the file, which may have less of it: the rest is zeros.
    pub file: Range<u64>,
}

/// The content of a file, which costs no memory.
///
/// # Errors
/// If it cannot be mapped.
pub fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: nobody may change the bytes while they are borrowed. We do not; linkers and package managers put new files
    // in the place of old ones. Somebody who writes into a program's file may get wrong names, or a fault in reading: all
    // that is read is plain bytes, each checked when it is used.
    unsafe { Mmap::map(file) }
}

/// The same of what a path leads to.
///
/// # Errors
/// If there is no ordinary file, or it may not be read.
pub fn read(path: &Path) -> io::Result<Mmap> {
    map(&open(path)?)
}

/// What is said behind the name of such a file.
pub fn unreadable(error: io::Error) -> String {
    format!("cannot be read ({error})")
}

/// Parses the content of an ELF file.
///
/// # Errors
/// If it is none; says why, to be put behind the file's name.
pub fn parse(bytes: &[u8]) -> Result<object::File<'_>, String> {
    match object::File::parse(bytes) {
        Ok(file @ (object::File::Elf32(_) | object::File::Elf64(_))) => Ok(file),
        Ok(_) => Err("is not an ELF file".to_owned()),
        Err(error) => Err(format!("cannot be read as an ELF file ({error})")),
    }
}

/// What tells one build of a file from another; empty where it has none.
pub fn build_id(object: &object::File<'_>) -> Vec<u8> {
    object.build_id().ok().flatten().unwrap_or_default().to_vec()
}

/// What is loaded of a file.
pub fn segments(object: &object::File<'_>) -> Vec<Segment> {
    let segments = object.segments().map(|segment| {
        let (address, (at, length)) = (segment.address(), segment.file_range());
        Segment { memory: address..address.saturating_add(segment.size()), file: at..at.saturating_add(length) }
    });
    segments.collect()
}
