//! Lines and inlined functions of one file, by its debug information and what belongs to it: the part that `dwz` has moved out of
//! several files, and split debug information, of which the file names paths. All of it is opened as what an observed program
//! names, and unpacked within the budget: `addr2line`'s own loader opens what it finds, and unpacks what is packed.

use super::elf::content;
use super::names::demangle;
use addr2line::gimli::{
    AbbreviationsCacheStrategy, AttributeValue, DW_AT_abstract_origin, DW_AT_name, DW_AT_specification, Dwarf,
    DwarfPackage, EndianSlice, Error, RunTimeEndian, SectionId, UnitOffset,
};
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use memmap2::Mmap;
use object::Object;
use ondeck_futex::elf::{parse, read, unreadable};
use ondeck_record::read::outside::{Budget, Share};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of what [`Store`] keeps, so it must not leave this module.
type Bytes = EndianSlice<'static, RunTimeEndian>;

/// The debug information of a file.
pub(super) struct Lines {
    context: Context<Bytes>,
    /// The `.dwp` beside it.
    package: Option<DwarfPackage<Bytes>>,
    /// What was split off and cannot be used: the first, and how many.
    missing: RefCell<(String, usize)>,
    /// Of what the context keeps for each unit and range.
    _share: Share,
    /// Behind what refers to it, as fields are dropped in their order.
    store: Store,
}

/// A function and its line, as the compiler wrote them; empty or 0 where they are not known.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u32,
}

impl Lines {
    pub(super) fn read(path: &Path, supplement: Option<&Path>, budget: &Budget) -> Result<Lines, String> {
        let store = Store { kept: RefCell::default(), budget: budget.clone() };
        let object = store.open(path)?;
        let mut dwarf = Dwarf::load(|id| store.section(&object, Some(id.name())))?;
        if let Some(supplement) = supplement {
            let object = store.open(supplement)?;
            dwarf.load_sup(|id| store.section(&object, Some(id.name())))?;
        }
        let share = weighed(&dwarf, budget)?;
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf).map_err(|error| error.to_string())?;
        let mut lines = Lines { context, package: None, missing: RefCell::default(), _share: share, store };
        // `program.dwp`, or `library.so.dwp`.
        let mut name = path.as_os_str().to_owned();
        name.push(".dwp");
        if Path::new(&name).exists() {
            let package = lines.store.package(Path::new(&name));
            lines.package = package.map_err(|fault| lines.miss(Path::new(&name), &fault)).ok();
        }
        Ok(lines)
    }

    /// What was split off and cannot be used, in a sentence.
    pub(super) fn missing(&self) -> Option<String> {
        let (first, n) = &*self.missing.borrow();
        let others = if *n > 1 { format!(", and {} more", n - 1) } else { String::new() };
        (*n > 0).then(|| format!("inlined functions and some names are missing, as {first}{others}"))
    }

    fn miss(&self, path: &Path, fault: &str) {
        let (first, n) = &mut *self.missing.borrow_mut();
        *n += 1;
        if *n == 1 {
            *first = format!("{} {fault}", path.display());
        }
    }

    /// The functions at an address of the file, the innermost first.
    pub(super) fn find(&self, address: u64) -> Result<Vec<Line>, String> {
        let mut looked_up = self.context.find_frames(address);
        let mut frames = loop {
            match looked_up {
                LookupResult::Output(frames) => break frames.map_err(|error| error.to_string())?,
                LookupResult::Load { load, continuation } => looked_up = continuation.resume(self.split(&load)?),
            }
        };
        let mut lines = Vec::new();
        while let Some(frame) = frames.next().map_err(|error| error.to_string())? {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let types = name
                .as_ref()
                .filter(|name| is_without_types(name))
                .and_then(|_| self.types(address, frame.dw_die_offset?));
            let name = name.map(|name| types.map_or(name.clone(), |types| (demangle(&name) + &types).into()));
            let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
            lines.push(Line {
                function: shortened(&name.unwrap_or_default()),
                file: shortened(file.unwrap_or_default()),
                line: line.unwrap_or_default(),
            });
        }
        Ok(lines)
    }

    /// The types that a function was compiled for: `<u64>` of `with<u64>`.
    fn types(&self, address: u64, at: UnitOffset) -> Option<String> {
        let LookupResult::Output(unit) = self.context.find_dwarf_and_unit(address) else { return None };
        let (unit, mut entry) = (unit?, unit?.entry(at).ok()?);
        for origin in [DW_AT_abstract_origin, DW_AT_specification] {
            if let Some(AttributeValue::UnitRef(at)) = entry.attr_value(origin) {
                entry = unit.entry(at).ok()?;
            }
        }
        let name = unit.attr_string(entry.attr_value(DW_AT_name)?).ok()?;
        let name = name.to_string_lossy();
        name.find('<').map(|at| name[at..].to_owned())
    }

    /// What a unit has in a file of its own, if that is there and belongs to it.
    fn split(&self, load: &SplitDwarfLoad<Bytes>) -> Result<Option<Arc<Dwarf<Bytes>>>, String> {
        if let Some(package) = &self.package {
            let unit = package.find_cu(load.dwo_id, &load.parent).map_err(|error| error.to_string())?;
            if let Some(unit) = unit {
                return Ok(Some(Arc::new(unit)));
            }
        }
        let Some(name) = &load.path else { return Ok(None) };
        let parts = load.comp_dir.iter().chain([name]);
        let path: PathBuf = parts.map(|part| Path::new(OsStr::from_bytes(part.slice()))).collect();
        Ok(self.in_file(&path, load).map_err(|fault| self.miss(&path, &fault)).ok())
    }

    fn in_file(&self, path: &Path, load: &SplitDwarfLoad<Bytes>) -> Result<Arc<Dwarf<Bytes>>, String> {
        let object = self.store.open(path)?;
        let mut dwarf = Dwarf::load(|id| self.store.section(&object, id.dwo_name()))?;
        let damaged = |error: Error| format!("cannot be read ({error})");
        let header = dwarf.units().next().map_err(damaged)?;
        let unit = header.map(|header| dwarf.unit(header)).transpose().map_err(damaged)?;
        if unit.is_none_or(|unit| unit.dwo_id != Some(load.dwo_id)) {
            return Err("is of another build".to_owned());
        }
        dwarf.make_dwo(&load.parent);
        Ok(Arc::new(dwarf))
    }
}

/// Takes what the context will keep for each unit, and each of the unit's ranges: many units may name the same ranges.
fn weighed(dwarf: &Dwarf<Bytes>, budget: &Budget) -> Result<Share, String> {
    const OF_UNIT: u64 = 1024;
    const OF_RANGE: u64 = 48;
    let mut share = budget.take(0).map_err(|spent| spent.to_string())?;
    let mut grow = |bytes| share.grow(bytes).map_err(|spent| format!("its units do not fit: {spent}"));
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        grow(OF_UNIT)?;
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        while let Ok(Some(_)) = ranges.next() {
            grow(OF_RANGE)?;
        }
    }
    Ok(share)
}

/// Whether a symbol is one of Rust's older ones, which end in a hash instead.
fn is_without_types(symbol: &str) -> bool {
    const HASH: usize = "17h0123456789abcdefE".len();
    symbol.starts_with("_ZN") && symbol.len() > HASH && symbol[symbol.len() - HASH..].starts_with("17h")
}

/// A name of a debug file may be as long as the file.
fn shortened(name: &str) -> String {
    let end = name.floor_char_boundary(super::table::LONGEST_NAME);
    name[..end].to_owned()
}

/// Files that are mapped, and what was unpacked of them.
struct Store {
    kept: RefCell<Vec<Kept>>,
    budget: Budget,
}

enum Kept {
    Mapped(Mmap),
    Unpacked(Vec<u8>, #[expect(dead_code, reason = "given back when this is dropped")] Option<Share>),
}

impl Store {
    /// The bytes, for as long as the store is there.
    fn keep(&self, kept: Kept) -> &'static [u8] {
        let bytes: *const [u8] = match &kept {
            Kept::Mapped(mapped) => &raw const **mapped,
            Kept::Unpacked(bytes, _) => &raw const **bytes,
        };
        self.kept.borrow_mut().push(kept);
        // SAFETY: neither a mapping nor a vector's content moves with its owner, which is never changed and dropped with the
        // store only. `Lines` drops all that refers to it before, and gives none of it away.
        unsafe { &*bytes }
    }

    fn open(&self, path: &Path) -> Result<object::File<'static>, String> {
        parse(self.keep(Kept::Mapped(read(path).map_err(unreadable)?)))
    }

    fn section(&self, object: &object::File<'static>, name: Option<&str>) -> Result<Bytes, String> {
        let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let bytes = match name.and_then(|name| object.section_by_name(name)) {
            None => &[][..],
            Some(section) => match content(&section, &self.budget)? {
                (Cow::Borrowed(bytes), _) => bytes,
                (Cow::Owned(bytes), share) => self.keep(Kept::Unpacked(bytes, share)),
            },
        };
        Ok(EndianSlice::new(bytes, endian))
    }

    fn package(&self, path: &Path) -> Result<DwarfPackage<Bytes>, String> {
        let object = self.open(path)?;
        let none = self.section(&object, None)?;
        let section =
            |id: SectionId| -> Result<Bytes, Box<dyn std::error::Error>> { Ok(self.section(&object, id.dwo_name())?) };
        DwarfPackage::load(section, none).map_err(|error| format!("cannot be read ({error})"))
    }
}
