//! What is asked of program files and debug files alike.

use object::{CompressionFormat, Object, ObjectSection};
use ondeck_record::layout::Stamp;
use ondeck_record::read::outside::{Budget, Share};
use std::borrow::Cow;
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

/// What is in a section, unpacked if it is packed: that takes, and fills, as much memory as the section says that it needs. It
/// must be what the section can hold, and fit into the budget, of which the share is to be kept as long.
pub(super) fn content<'a>(
    section: &object::Section<'a, '_>,
    budget: &Budget,
) -> Result<(Cow<'a, [u8]>, Option<Share>), String> {
    let packed = section.compressed_data().map_err(|error| error.to_string())?;
    if packed.format == CompressionFormat::None {
        return Ok((Cow::Borrowed(packed.data), None));
    }
    let (name, size) = (section.name().unwrap_or_default(), packed.uncompressed_size);
    if size > (packed.data.len() as u64).saturating_mul(MOST_PACKED) {
        return Err(format!("{name} says that its {} bytes unpack to {size}", packed.data.len()));
    }
    let too_large = |spent| {
        format!(
            "{name} unpacks to {} MB: {spent}. Unpacked in their file, sections are mapped and take none: objcopy \
             --decompress-debug-sections FILE",
            size >> 20
        )
    };
    let share = budget.take(size).map_err(too_large)?;
    let content = packed.decompress().map_err(|error| format!("{name}: {error}"))?;
    Ok((content, Some(share)))
}

/// Damaged files must not end a profile. The libraries answer with errors as far as we have seen; what they do not expect
/// is an error too.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // What was in the middle of a change is a part of a file that was being read for the first time, and stays unread.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it is damaged".to_owned()))
}
