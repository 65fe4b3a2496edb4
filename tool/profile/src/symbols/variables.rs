//! What a place in a static variable is called: `server.clients[3].lock`, by the types in debug information.

mod files;

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, EndianSlice, RunTimeEndian};
use files::{Files, Spot, with_files};
use ondeck_record::read::outside::{Budget, Share};
use std::collections::HashMap;
use std::path::Path;

/// Types lie in each other no deeper, but for damage.
const DEEPEST: usize = 32;

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;
type Unit<'a> = gimli::Unit<Bytes<'a>>;
type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// Static variables by the addresses where they begin: the place of each one's unit, and its own there.
pub(super) type Index = HashMap<u64, (usize, usize)>;

/// The variables of a file; `supplement` is what `dwz` has moved out of it.
pub(super) fn index(path: &Path, supplement: Option<&Path>, budget: &Budget) -> Option<(Index, Share)> {
    const OF_ENTRY: u64 = 64;
    with_files(path, supplement, budget, |files| {
        let (mut index, mut share) = (Index::new(), budget.take(0).ok()?);
        for place in files.units() {
            // A file of a unit that is gone takes its variables with it, and no others.
            let _ = files.with_unit(place, |_, whole| {
                let mut entries = whole.unit.entries();
                while let Ok(Some(entry)) = entries.next_dfs() {
                    if entry.tag() == gimli::DW_TAG_variable
                        && let Some(start) = address(&whole, entry)
                    {
                        share.grow(OF_ENTRY).ok()?;
                        index.insert(start, (place, entry.offset().0));
                    }
                }
                Some(())
            });
        }
        Some((index, share))
    })
}

/// What follows the name of the variable that begins at `start`, `offset` bytes behind: members and elements, as far as the
/// types say. `None` if they do not lead there.
pub(super) fn part(
    path: &Path,
    supplement: Option<&Path>,
    index: &Index,
    budget: &Budget,
    start: u64,
    offset: u64,
) -> Option<String> {
    let (unit, variable) = *index.get(&start)?;
    with_files(path, supplement, budget, |files| {
        files.with_unit(unit, |files, whole| {
            let variable = Spot { at: gimli::UnitOffset(variable), ..whole };
            let types = Types { files };
            types.descend(types.kind(&variable)?, offset)
        })
    })
}

/// Where a static variable begins.
fn address(whole: &Spot<'_>, entry: &Entry<'_>) -> Option<u64> {
    let Some(AttributeValue::Exprloc(location)) = entry.attr_value(gimli::DW_AT_location) else { return None };
    match location.operations(whole.unit.encoding()).next() {
        Ok(Some(gimli::Operation::Address { address })) => Some(address),
        // With the relocated part, in the program's file.
        Ok(Some(gimli::Operation::AddressIndex { index })) => whole.dwarf.address(&whole.unit, index).ok(),
        _ => None,
    }
}

struct Types<'f, 'a> {
    files: &'f Files<'a>,
}

impl<'a> Types<'_, 'a> {
    /// The type of what an entry is of; that of its declaration, or of what it was before programs were optimised as a whole,
    /// if it has none itself.
    fn kind(&self, of: &Spot<'a>) -> Option<Spot<'a>> {
        let mut next = of.clone();
        for _ in 0..DEEPEST {
            let entry = next.entry()?;
            let value = |name| entry.attr_value(name);
            if let Some(kind) = value(gimli::DW_AT_type) {
                return self.whole(self.files.follow(&next, kind)?);
            }
            next = self
                .files
                .follow(&next, value(gimli::DW_AT_specification).or_else(|| value(gimli::DW_AT_abstract_origin))?)?;
        }
        None
    }

    /// The type itself, of one that lies in a unit of its own.
    fn whole(&self, kind: Spot<'a>) -> Option<Spot<'a>> {
        match kind.entry()?.attr_value(gimli::DW_AT_signature) {
            Some(signature) => self.files.follow(&kind, signature),
            None => Some(kind),
        }
    }

    /// Ends at a lock, or, where no type is known to be one, where the offset does.
    fn descend(&self, of: Spot<'a>, mut offset: u64) -> Option<String> {
        let mut name = String::new();
        let mut next = of;
        for _ in 0..DEEPEST {
            let entry = next.entry()?;
            if offset == 0 && (name_of(&next).is_some_and(is_lock) || !self.begins_with_a_lock(&next, DEEPEST)) {
                return Some(name);
            }
            next = match entry.tag() {
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => self.kind(&next)?,
                gimli::DW_TAG_array_type => {
                    let element = self.kind(&next)?;
                    let size = self.size(&element).filter(|size| *size > 0)?;
                    name += &format!("[{}]", offset / size);
                    offset %= size;
                    element
                }
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    let (member, at, kind) = self.member(&next, offset)?;
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
    fn begins_with_a_lock(&self, of: &Spot<'a>, deepest: usize) -> bool {
        let (Some(entry), 1..) = (of.entry(), deepest) else { return false };
        if name_of(of).is_some_and(is_lock) {
            return true;
        }
        let next = match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.member(of, 0).map(|(.., kind)| kind)
            }
            _ => self.kind(of),
        };
        next.is_some_and(|next| self.begins_with_a_lock(&next, deepest - 1))
    }

    /// The member of a type that lies there: its name, its offset and its type.
    fn member(&self, of: &Spot<'a>, offset: u64) -> Option<(Option<String>, u64, Spot<'a>)> {
        let mut tree = of.unit.entries_tree(Some(of.at)).ok()?;
        let mut members = tree.root().ok()?.children();
        let mut found = None;
        while let Some(member) = members.next().ok()? {
            let member = member.entry();
            if ![gimli::DW_TAG_member, gimli::DW_TAG_inheritance].contains(&member.tag()) {
                continue;
            }
            let spot = Spot { at: member.offset(), ..of.clone() };
            let (Some(at), Some(kind)) = (place(member), self.kind(&spot)) else { continue };
            if at <= offset && self.size(&kind).is_some_and(|size| offset - at < size) {
                let name = if member.tag() == gimli::DW_TAG_member { name_of(&spot) } else { None };
                found = Some((name, at, kind));
            }
        }
        found
    }

    /// In bytes.
    fn size(&self, of: &Spot<'a>) -> Option<u64> {
        let mut next = of.clone();
        for _ in 0..DEEPEST {
            let entry = next.entry()?;
            if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
                return Some(size);
            }
            if entry.tag() == gimli::DW_TAG_array_type {
                return self.size(&self.kind(&next)?)?.checked_mul(length(&next)?);
            }
            next = self.kind(&next)?;
        }
        None
    }
}

/// Whether a type is a lock by its name, whose own parts say nothing.
fn is_lock(name: String) -> bool {
    const LOCKS: [&str; 8] = ["mutex", "lock", "cond", "sem_t", "once", "barrier", "mtx_t", "cnd_t"];
    LOCKS.iter().any(|lock| name.to_lowercase().contains(lock))
}

fn name_of(of: &Spot<'_>) -> Option<String> {
    let name = of.dwarf.attr_string(&of.unit, of.entry()?.attr_value(gimli::DW_AT_name)?).ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// How many elements an array has. One of arrays is not told apart from a longer one.
fn length(of: &Spot<'_>) -> Option<u64> {
    let mut tree = of.unit.entries_tree(Some(of.at)).ok()?;
    let mut ranges = tree.root().ok()?.children();
    let mut length: u64 = 1;
    while let Some(range) = ranges.next().ok()? {
        let range = range.entry();
        let last = number(range, gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
        length = length.saturating_mul(number(range, gimli::DW_AT_count).or(last)?);
    }
    Some(length)
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
