//! What is asked of program files and debug files alike.

use object::{CompressionFormat, Object, ObjectSection};
use ondeck_record::layout::Stamp;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A byte of a packed section stands for at most so many: the limit of zlib, 1032, and a little. Zstandard's is higher,
/// and debug information is packed to a third.
const MOST_PACKED: u64 = 1100;

/// What tells a file from another one that takes its place.
pub(crate) fn stamp(metadata: &Metadata) -> Stamp {
    let modified_ns = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
    Stamp { device: metadata.dev(), number: metadata.ino(), size: metadata.size(), modified_ns }
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

/// Damaged files must not end a profile. The libraries answer with errors as far as we have seen; what they do not expect
/// is an error too.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // What was in the middle of a change is a part of a file that was being read for the first time, and stays unread.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it is damaged".to_owned()))
}
