//! What a place in a static variable is called: `server.clients[3].lock`, by the types in debug information.

use super::elf::content;
use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, RunTimeEndian, Unit};
use object::{Object, ObjectSection};
use ondeck_record::read::outside::{Budget, Share};
use ondeck_trace::elf::{parse, read};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// To go through more debug information than that would take longer than a second.
const MOST_INFO: u64 = 64 << 20;
/// Types lie in each other no deeper, but for damage.
const DEEPEST: usize = 32;

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;
type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;
type EntryOffset<'a> = gimli::UnitOffset<<Bytes<'a> as gimli::Reader>::Offset>;

/// Static variables by the addresses where they begin: the place of each one's unit, and of its type there.
pub(super) type Index = HashMap<u64, (usize, usize)>;

/// The variables of a file.
pub(super) fn index(path: &Path, budget: &Budget) -> Option<(Index, Share)> {
    const OF_ENTRY: u64 = 64;
    with_dwarf(path, budget, |dwarf| {
        let (mut index, mut share) = (Index::new(), budget.take(0).ok()?);
        let mut units = dwarf.units();
        while let Some(header) = units.next().ok()? {
            let Some(at) = header.debug_info_offset() else { continue };
            let Ok(unit) = dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_variable
                    && let Some(start) = address(&unit, entry)
                    && let Some(kind) = kind(&unit, entry)
                {
                    share.grow(OF_ENTRY).ok()?;
                    index.insert(start, (at.0, kind.0));
                }
            }
        }
        Some((index, share))
    })
}

/// What follows the name of the variable that begins at `start`, `offset` bytes behind: members and elements, as far as the
/// types say. `None` if they do not lead there.
pub(super) fn part(path: &Path, index: &Index, budget: &Budget, start: u64, offset: u64) -> Option<String> {
    let (unit, kind) = *index.get(&start)?;
    with_dwarf(path, budget, |dwarf| {
        let header = dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(unit)).ok()?;
        let unit = dwarf.unit(header).ok()?;
        Types { dwarf, unit: &unit }.descend(gimli::UnitOffset(kind), offset)
    })
}

fn with_dwarf<T>(path: &Path, budget: &Budget, act: impl FnOnce(&Dwarf<Bytes<'_>>) -> Option<T>) -> Option<T> {
    let mapped = read(path).ok()?;
    let object = parse(&mapped).ok()?;
    if object.section_by_name(".debug_info")?.compressed_data().ok()?.uncompressed_size > MOST_INFO {
        return None;
    }
    let mut shares = Vec::new();
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, String> {
        let Some(section) = object.section_by_name(id.name()) else { return Ok(Cow::Borrowed(&[][..])) };
        let (content, share) = content(&section, budget)?;
        shares.push(share);
        Ok(content)
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    act(&sections.borrow(|section| EndianSlice::new(section, endian)))
}

/// Where a static variable begins.
fn address(unit: &Unit<Bytes<'_>>, entry: &Entry<'_>) -> Option<u64> {
    let Some(AttributeValue::Exprloc(location)) = entry.attr_value(gimli::DW_AT_location) else { return None };
    match location.operations(unit.encoding()).next() {
        Ok(Some(gimli::Operation::Address { address })) => Some(address),
        _ => None,
    }
}

/// The type of what an entry is of; that of its declaration, if it has none itself.
fn kind<'a>(unit: &Unit<Bytes<'a>>, entry: &Entry<'a>) -> Option<EntryOffset<'a>> {
    let to = |entry: &Entry<'a>, name| match entry.attr_value(name) {
        Some(AttributeValue::UnitRef(offset)) => Some(offset),
        _ => None,
    };
    let declared = || {
        let declaration = unit.entry(to(entry, gimli::DW_AT_specification)?).ok()?;
        to(&declaration, gimli::DW_AT_type)
    };
    to(entry, gimli::DW_AT_type).or_else(declared)
}

struct Types<'u, 'a> {
    dwarf: &'u Dwarf<Bytes<'a>>,
    unit: &'u Unit<Bytes<'a>>,
}

impl<'a> Types<'_, 'a> {
    /// Ends at a lock, or, where no type is known to be one, where the offset does.
    fn descend(&self, of: EntryOffset<'a>, mut offset: u64) -> Option<String> {
        let mut name = String::new();
        let mut next = of;
        for _ in 0..DEEPEST {
            let entry = self.unit.entry(next).ok()?;
            if offset == 0 && (self.is_lock(&entry) || !self.begins_with_a_lock(next, DEEPEST)) {
                return Some(name);
            }
            next = match entry.tag() {
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                    kind(self.unit, &entry)?
                }
                gimli::DW_TAG_array_type => {
                    let element = kind(self.unit, &entry)?;
                    let size = self.size(element).filter(|size| *size > 0)?;
                    name += &format!("[{}]", offset / size);
                    offset %= size;
                    element
                }
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    let (member, at, kind) = self.member(next, offset)?;
                    // What is inherited, and what has no name, is a part of the whole.
                    name += &member.map_or(String::new(), |member| format!(".{member}"));
                    offset -= at;
                    kind
                }
                _ => return None,
            };
        }
        None
    }

    /// Whether a lock lies at the beginning of what is of a type, in a part of it that has a name of its own.
    fn begins_with_a_lock(&self, of: EntryOffset<'a>, deepest: usize) -> bool {
        let (Ok(entry), 1..) = (self.unit.entry(of), deepest) else { return false };
        if self.is_lock(&entry) {
            return true;
        }
        let next = match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.member(of, 0).map(|(.., kind)| kind)
            }
            _ => kind(self.unit, &entry),
        };
        next.is_some_and(|next| self.begins_with_a_lock(next, deepest - 1))
    }

    /// Whether a type is a lock by its name, whose own parts say nothing.
    fn is_lock(&self, entry: &Entry<'a>) -> bool {
        const LOCKS: [&str; 8] = ["mutex", "lock", "cond", "sem_t", "once", "barrier", "mtx_t", "cnd_t"];
        self.name(entry).is_some_and(|name| LOCKS.iter().any(|lock| name.to_lowercase().contains(lock)))
    }

    /// The member of a type that lies there: its name, its offset and its type.
    fn member(&self, of: EntryOffset<'a>, offset: u64) -> Option<(Option<String>, u64, EntryOffset<'a>)> {
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut members = tree.root().ok()?.children();
        let mut found = None;
        while let Some(member) = members.next().ok()? {
            let member = member.entry();
            if ![gimli::DW_TAG_member, gimli::DW_TAG_inheritance].contains(&member.tag()) {
                continue;
            }
            let (Some(at), Some(kind)) = (place(member), kind(self.unit, member)) else { continue };
            if at <= offset && self.size(kind).is_some_and(|size| offset - at < size) {
                let name = if member.tag() == gimli::DW_TAG_member { self.name(member) } else { None };
                found = Some((name, at, kind));
            }
        }
        found
    }

    fn name(&self, entry: &Entry<'a>) -> Option<String> {
        let name = self.dwarf.attr_string(self.unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// In bytes.
    fn size(&self, of: EntryOffset<'a>) -> Option<u64> {
        let mut next = of;
        for _ in 0..DEEPEST {
            let entry = self.unit.entry(next).ok()?;
            if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
                return Some(size);
            }
            if entry.tag() == gimli::DW_TAG_array_type {
                return Some(self.size(kind(self.unit, &entry)?)? * self.length(next)?);
            }
            next = kind(self.unit, &entry)?;
        }
        None
    }

    /// How many elements an array has. One of arrays is not told apart from a longer one.
    fn length(&self, of: EntryOffset<'a>) -> Option<u64> {
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut ranges = tree.root().ok()?.children();
        let mut length: u64 = 1;
        while let Some(range) = ranges.next().ok()? {
            let range = range.entry();
            let last = number(range, gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
            length = length.saturating_mul(number(range, gimli::DW_AT_count).or(last)?);
        }
        Some(length)
    }
}

fn place(member: &Entry<'_>) -> Option<u64> {
    match member.attr_value(gimli::DW_AT_data_member_location) {
        // All members of a union lie at its beginning.
        None => Some(0),
        Some(value) => value.udata_value(),
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}
