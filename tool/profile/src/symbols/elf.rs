//! An ELF file in memory, and what it says of itself: for program files and for debug files.

use memmap2::Mmap;
use object::{CompressionFormat, Object, ObjectSection};
use ondeck_record::layout::Stamp;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A byte of a packed section stands for at most so many: the limit of zlib, 1032, and a little. Zstandard's is higher,
/// and debug information is packed to a third.
const MOST_PACKED: u64 = 1100;

/// Opens an ordinary file: a pipe of that name would be waited for.
pub(crate) fn open(path: &Path) -> Result<File, String> {
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("is not an ordinary file".to_owned());
    }
    File::open(path).map_err(unreadable)
}

fn unreadable(error: std::io::Error) -> String {
    format!("cannot be read ({error})")
}

/// What tells a file from another one that takes its place.
pub(crate) fn stamp(metadata: &Metadata) -> Stamp {
    let modified_ns = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
    Stamp { device: metadata.dev(), number: metadata.ino(), size: metadata.size(), modified_ns }
}

pub(crate) fn map(file: &File) -> Result<Mmap, String> {
    // SAFETY: nobody may change the bytes while they are borrowed. We do not; linkers and package managers put new files
    // in the place of old ones. Somebody who writes into a program's file may get wrong names, or a fault in reading that
    // `guarded` catches: all that is read is plain bytes, each checked when it is used.
    unsafe { Mmap::map(file) }.map_err(unreadable)
}

pub(crate) fn parse(bytes: &[u8]) -> Result<object::File<'_>, String> {
    match object::File::parse(bytes) {
        Ok(file @ (object::File::Elf32(_) | object::File::Elf64(_))) => Ok(file),
        Ok(_) => Err("is not an ELF file".to_owned()),
        Err(error) => Err(format!("cannot be read as an ELF file ({error})")),
    }
}

pub(super) fn build_id(object: &object::File<'_>) -> Vec<u8> {
    object.build_id().ok().flatten().unwrap_or_default().to_vec()
}

pub(super) fn has_dwarf(object: &object::File<'_>) -> bool {
    object.section_by_name(".debug_info").is_some()
}

/// Whether packed sections can hold what they say. To unpack one takes, and fills, as much memory as it says that it needs.
pub(super) fn check_sizes(object: &object::File<'_>) -> Result<(), String> {
    for section in object.sections() {
        let Ok(packed) = section.compressed_data() else { continue };
        let most = (packed.data.len() as u64).saturating_mul(MOST_PACKED);
        if packed.format != CompressionFormat::None && packed.uncompressed_size > most {
            let name = section.name().unwrap_or_default();
            return Err(format!(
                "{name} says that its {} bytes unpack to {}",
                packed.data.len(),
                packed.uncompressed_size
            ));
        }
    }
    Ok(())
}
