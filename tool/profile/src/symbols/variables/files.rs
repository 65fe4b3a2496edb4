//! The files in which debug information about variables and types lies: the file itself, what `dwz` has moved out of it, and what
//! compilers have put into files of their own (`.dwo`), which may be packed into one (`.dwp`).

use super::{Bytes, Entry, Unit};
use crate::symbols::elf::content;
use addr2line::gimli::{
    self, AttributeValue, DebugInfoOffset, DebugTypeSignature, Dwarf, DwarfPackage, EndianSlice, RunTimeEndian,
    UnitHeader, UnitOffset, UnitType,
};
use memmap2::Mmap;
use object::{Object, ObjectSection};
use ondeck_futex::elf::{parse, read};
use ondeck_record::read::outside::{Budget, Share};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// To go through more debug information than that would take longer than a second.
const MOST_INFO: u64 = 64 << 20;

/// An entry: its place in a unit of a file.
#[derive(Clone)]
pub(super) struct Spot<'a> {
    pub(super) dwarf: Rc<Dwarf<Bytes<'a>>>,
    pub(super) unit: Rc<Unit<'a>>,
    pub(super) at: UnitOffset,
}

impl<'a> Spot<'a> {
    pub(super) fn entry(&self) -> Option<Entry<'a>> {
        self.unit.entry(self.at).ok()
    }

    /// Of a whole unit.
    fn whole(dwarf: Rc<Dwarf<Bytes<'a>>>, header: UnitHeader<Bytes<'a>>) -> Option<Self> {
        let unit = Rc::new(dwarf.unit(header).ok()?);
        let at = header.root_offset();
        Some(Spot { dwarf, unit, at })
    }
}

type Package<'m> = gimli::DwarfPackageSections<Cow<'m, [u8]>>;

/// What the file and those that belong to it say.
pub(super) struct Files<'a> {
    main: Rc<Dwarf<Bytes<'a>>>,
    supplement: Option<Rc<Dwarf<Bytes<'a>>>>,
    package: Option<&'a DwarfPackage<Bytes<'a>>>,
    directory: &'a Path,
    /// Bytes of debug information that may still be read of files of single units.
    left: &'a Cell<u64>,
    budget: &'a Budget,
}

/// Does it with the file's debug information.
pub(super) fn with_files<T>(
    path: &Path,
    supplement: Option<&Path>,
    budget: &Budget,
    act: impl for<'a> FnOnce(&Files<'a>) -> Option<T>,
) -> Option<T> {
    let left = &Cell::new(MOST_INFO);
    let all = || Cell::new(MOST_INFO);
    let main = Mapped::read(path)?;
    let main = main.sections(&all(), budget, |id| Some(id.name()))?;
    let supplement = supplement.and_then(Mapped::read);
    let supplement = supplement.as_ref().and_then(|mapped| mapped.sections(&all(), budget, |id| Some(id.name())));
    let package = Mapped::read(&with_ending(path, ".dwp"));
    let package = package.as_ref().and_then(|mapped| mapped.package(&all(), budget));
    let endian = main.endian;
    let empty = EndianSlice::new(&[][..], endian);
    let package = package
        .as_ref()
        .and_then(|(package, _)| package.borrow(|section| EndianSlice::new(section, endian), empty).ok());
    let other = supplement.as_ref().map(|other| &other.sections);
    let dwarf = main.sections.borrow_with_sup(other, |section| EndianSlice::new(section, endian));
    let files = Files {
        main: Rc::new(dwarf),
        supplement: other.map(|other| Rc::new(other.borrow(|section| EndianSlice::new(section, endian)))),
        package: package.as_ref(),
        directory: path.parent()?,
        left,
        budget,
    };
    act(&files)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// A file, mapped.
struct Mapped(Mmap);

struct Sections<'m> {
    sections: gimli::DwarfSections<Cow<'m, [u8]>>,
    endian: RunTimeEndian,
    _shares: Vec<Share>,
}

impl Mapped {
    /// `None` of what is no ordinary file.
    fn read(path: &Path) -> Option<Mapped> {
        read(path).ok().map(Mapped)
    }

    fn object(&self, left: &Cell<u64>, info: &str) -> Option<object::File<'_>> {
        let object = parse(&self.0).ok()?;
        let size = object.section_by_name(info)?.compressed_data().ok()?.uncompressed_size;
        left.set(left.get().checked_sub(size)?);
        Some(object)
    }

    fn sections(
        &self,
        left: &Cell<u64>,
        budget: &Budget,
        name: impl Fn(gimli::SectionId) -> Option<&'static str>,
    ) -> Option<Sections<'_>> {
        let object = self.object(left, name(gimli::SectionId::DebugInfo)?)?;
        let mut shares = Vec::new();
        let sections = gimli::DwarfSections::load(|id| section(&object, name(id), budget, &mut shares)).ok()?;
        let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        Some(Sections { sections, endian, _shares: shares })
    }

    fn package(&self, left: &Cell<u64>, budget: &Budget) -> Option<(Package<'_>, Vec<Share>)> {
        let object = self.object(left, ".debug_info.dwo")?;
        let mut shares = Vec::new();
        let load =
            |id: gimli::SectionId| section(&object, id.dwo_name(), budget, &mut shares).map_err(|_| gimli::Error::Io);
        Some((gimli::DwarfPackageSections::load(load).ok()?, shares))
    }
}

/// What all sections of that name say. What takes memory has its share of the budget.
fn section<'m>(
    object: &object::File<'m>,
    name: Option<&str>,
    budget: &Budget,
    shares: &mut Vec<Share>,
) -> Result<Cow<'m, [u8]>, String> {
    let mut parts = Vec::new();
    for part in object.sections().filter(|section| name.is_some() && section.name().ok() == name) {
        let (content, share) = content(&part, budget)?;
        shares.extend(share);
        parts.push(content);
    }
    // gcc puts each type of a unit's own file into a section, all of one name.
    match <[Cow<'m, [u8]>; 1]>::try_from(parts) {
        Ok([part]) => Ok(part),
        Err(parts) => {
            let size: usize = parts.iter().map(|part| part.len()).sum();
            shares.push(budget.take(size as u64).map_err(|spent| spent.to_string())?);
            Ok(Cow::Owned(parts.concat()))
        }
    }
}

impl<'a> Files<'a> {
    /// The units of the file, by their places.
    pub(super) fn units(&self) -> Vec<usize> {
        let mut units = self.main.units();
        std::iter::from_fn(|| units.next().ok()?).filter_map(|header| Some(header.debug_info_offset()?.0)).collect()
    }

    /// Does it with a unit, which may lie in a file of its own.
    pub(super) fn with_unit<T>(
        &self,
        place: usize,
        act: impl for<'b> FnOnce(&Files<'b>, Spot<'b>) -> Option<T>,
    ) -> Option<T> {
        let header = self.main.unit_header(DebugInfoOffset(place)).ok()?;
        let whole = Spot::whole(self.main.clone(), header)?;
        let Some(id) = whole.unit.dwo_id else { return act(self, whole) };
        if let Some(found) = self.package.and_then(|package| package.find_cu(id, &self.main).ok()?) {
            return act(self, compiled(Rc::new(found), &whole)?);
        }
        let mapped = self.split_file(&whole)?;
        let sections = mapped.sections(self.left, self.budget, |id| id.dwo_name())?;
        let mut dwarf = sections.sections.borrow(|section| EndianSlice::new(section, sections.endian));
        dwarf.make_dwo(&self.main);
        act(self, compiled(Rc::new(dwarf), &whole)?)
    }

    /// The file of a unit of its own: where the compiler has put it, or beside the program.
    fn split_file(&self, whole: &Spot<'a>) -> Option<Mapped> {
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes: Bytes<'a>| PathBuf::from(std::ffi::OsStr::from_bytes(bytes.slice()));
        let name = path(whole.dwarf.attr_string(&whole.unit, whole.unit.dwo_name().ok()??).ok()?);
        let named = whole.unit.comp_dir.map(|directory| path(directory).join(&name));
        let beside = name.file_name().map(|name| self.directory.join(name));
        [named, beside].into_iter().flatten().find_map(|path| Mapped::read(&path))
    }

    /// What an attribute of an entry leads to, in any of the files.
    pub(super) fn follow(&self, from: &Spot<'a>, value: AttributeValue<Bytes<'a>>) -> Option<Spot<'a>> {
        match value {
            AttributeValue::UnitRef(at) => Some(Spot { at, ..from.clone() }),
            AttributeValue::DebugInfoRef(at) => in_info(&from.dwarf, at),
            AttributeValue::DebugInfoRefSup(at) => in_info(self.supplement.as_ref()?, at),
            AttributeValue::DebugTypesRef(signature) => of_signature(&from.dwarf, signature).or_else(|| {
                let found = self.package?.find_tu(signature, &self.main).ok()??;
                of_signature(&Rc::new(found), signature)
            }),
            _ => None,
        }
    }
}

/// The unit with the entries, of one that has only the addresses.
fn compiled<'a>(dwarf: Rc<Dwarf<Bytes<'a>>>, skeleton: &Spot<'a>) -> Option<Spot<'a>> {
    let mut units = dwarf.units();
    // Units of types may come before it.
    while let Some(header) = units.next().ok()? {
        let at = header.root_offset();
        let mut unit = dwarf.unit(header).ok()?;
        if unit.dwo_id == skeleton.unit.dwo_id {
            unit.copy_relocated_attributes(&skeleton.unit);
            return Some(Spot { unit: Rc::new(unit), at, dwarf });
        }
    }
    None
}

fn in_info<'a>(dwarf: &Rc<Dwarf<Bytes<'a>>>, at: DebugInfoOffset) -> Option<Spot<'a>> {
    let mut units = dwarf.units();
    while let Some(header) = units.next().ok()? {
        if let Some(at) = at.to_unit_offset(&header) {
            return Some(Spot { at, ..Spot::whole(dwarf.clone(), header)? });
        }
    }
    None
}

/// The type that a unit of its own has.
fn of_signature<'a>(dwarf: &Rc<Dwarf<Bytes<'a>>>, signature: DebugTypeSignature) -> Option<Spot<'a>> {
    let (mut units, mut older) = (dwarf.units(), dwarf.type_units());
    let mut all = std::iter::from_fn(|| units.next().ok()?).chain(std::iter::from_fn(|| older.next().ok()?));
    all.find_map(|header| match header.type_() {
        UnitType::Type { type_signature, type_offset } | UnitType::SplitType { type_signature, type_offset }
            if type_signature == signature =>
        {
            Some(Spot { at: type_offset, ..Spot::whole(dwarf.clone(), header)? })
        }
        _ => None,
    })
}
