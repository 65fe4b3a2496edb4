//! One program file or library: its symbol tables, and its debug information, which is read when it is first asked for.

use super::elf::{guarded, has_dwarf, stamp};
use super::lines::{Line, Lines};
use super::table::{LONGEST_NAME, MOST_SYMBOLS, Tables};
use super::{debug_file, names, variables};
use lzma_rust2::XzReader;
use memmap2::Mmap;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use ondeck_futex::elf::{Segment, build_id, map, open, parse, segments, unreadable};
use ondeck_record::layout::Stamp;
use ondeck_record::read::outside::{Budget, Share};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// For what `.gnu_debugdata` unpacks to, which is some MB for the largest programs, in bytes; and what that may cost.
const MOST_MINI_DEBUG: u64 = 64 << 20;
const MOST_MINI_DEBUG_KIB: u32 = 96 << 10;

/// Where the file of a module is.
#[derive(Clone, Debug)]
pub enum Source {
    /// At its path, if it is still what it was; `None` where that is not known.
    Path(Option<Stamp>),
    /// Here, open since it was loaded. Another one may be at its path.
    Open(Arc<File>),
    /// Nowhere, and why.
    Nowhere(String),
}

impl Source {
    /// What tells it from another file at the same path.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        match self {
            Source::Path(stamp) => *stamp,
            Source::Open(file) => file.metadata().ok().as_ref().map(stamp),
            // As no file's.
            Source::Nowhere(_) => Some(Stamp::default()),
        }
    }
}

/// What the file says of a process that it was loaded into.
pub(super) struct Image {
    pub(super) build_id: Vec<u8>,
    /// Whether there is no full symbol table, anywhere.
    pub(super) is_stripped: bool,
    /// A debug file that is there, for another build.
    pub(super) misfit: Option<PathBuf>,
    segments: Vec<Segment>,
    mapped: Mmap,
    pub(super) stamp: Stamp,
    /// Debug information is read from it by its number.
    _open: Option<Arc<File>>,
    architecture: Architecture,
    tables: Tables,
    /// Where the addresses of other files' functions are put when it is loaded, and the functions' names.
    imports: OnceCell<Option<(HashMap<u64, String>, Share)>>,
    dwarf: Option<Dwarf>,
    /// What is known of places in variables, by their addresses.
    parts: RefCell<HashMap<u64, Option<String>>>,
    variables: OnceCell<Option<(variables::Index, Share)>>,
    budget: Budget,
}

struct Dwarf {
    path: PathBuf,
    /// What the file was when it was first read.
    stamp: Stamp,
    /// What `dwz` has moved out of several debug files.
    supplement: Option<PathBuf>,
    lines: OnceCell<Result<Lines, String>>,
    budget: Budget,
}

/// A function and its line; what is not known is empty.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) function: Option<String>,
    pub(super) file: String,
    pub(super) line: u32,
}

impl Image {
    pub(super) fn read(path: &Path, source: &Source, debug_directory: &Path, budget: &Budget) -> Result<Image, String> {
        let (place, file) = match source {
            Source::Path(_) => (path.to_owned(), Arc::new(open(path).map_err(unreadable)?)),
            Source::Open(file) => (place(path, file), file.clone()),
            Source::Nowhere(fault) => return Err(fault.clone()),
        };
        let mapped = map(&file).map_err(unreadable)?;
        let object = parse(&mapped)?;
        let build_id = build_id(&object);
        let mut tables = Tables::within(budget);
        let mut is_stripped = !tables.add(&object);
        let mut dwarf = has_dwarf(&object).then(|| Dwarf::new(&place, path, &object, debug_directory, budget));
        let mut misfit = None;
        if is_stripped || dwarf.is_none() {
            let found = debug_file::find(path, &object, debug_directory);
            misfit = found.misfit;
            if let Some((path, mapped)) = found.file {
                let object = parse(&mapped)?;
                is_stripped &= !tables.add(&object);
                let new = || Dwarf::new(&path, &path, &object, debug_directory, budget);
                dwarf = dwarf.or_else(|| has_dwarf(&object).then(new));
            }
        }
        if is_stripped && let Some((unpacked, _share)) = mini_debug(&object, budget) {
            is_stripped = !parse(&unpacked).is_ok_and(|object| tables.add(&object));
        }
        tables.sort();
        let (segments, architecture) = (segments(&object), object.architecture());
        let stamp = file.metadata().as_ref().map(stamp).unwrap_or_default();
        let imports = OnceCell::new();
        let _open = matches!(source, Source::Open(_)).then_some(file);
        Ok(Image {
            build_id,
            is_stripped,
            misfit,
            segments,
            mapped,
            stamp,
            _open,
            architecture,
            tables,
            imports,
            dwarf,
            parts: RefCell::default(),
            variables: OnceCell::new(),
            budget: budget.clone(),
        })
    }

    /// The functions that an address of the file lies in, the innermost first, and why debug information could not be used.
    pub(super) fn places(&self, address: u64) -> (Vec<Place>, Option<String>) {
        if !self.segments.iter().any(|segment| segment.memory.contains(&address)) {
            return (Vec::new(), None);
        }
        let found = self.dwarf.as_ref().map_or(Ok(Vec::new()), |dwarf| guarded(|| dwarf.places(address)));
        let (mut places, fault) = match found {
            Ok(places) => (places, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        if let Some(symbol) = self.tables.code.find(address) {
            if places.is_empty() {
                places.push(Place::default());
            }
            // Compilers leave the full name of a function out that is its file's own: there the symbol says more.
            let last = places.last_mut().map(|place| &mut place.function);
            let is_bare =
                |name: &str| !names::is_mangled(name) && !name.split('<').next().unwrap_or_default().contains("::");
            let is_better = |name: &String| is_bare(name) && names::is_mangled(&symbol.name);
            if let Some(name) = last.filter(|name| name.as_ref().is_none_or(is_better)) {
                *name = Some(symbol.name.to_string());
            }
        }
        for name in places.iter_mut().filter_map(|place| place.function.as_mut()) {
            *name = names::demangle(name);
        }
        (places, fault)
    }

    /// The address of the function that was called by the instruction before a return address, if the instruction says so
    /// and the function has a name.
    pub(super) fn called(&self, return_address: u64) -> Option<u64> {
        self.call(return_address).filter(|target| self.tables.code.find(*target).is_some())
    }

    /// The address of a function of this file by its name.
    pub(super) fn function(&self, name: &str) -> Option<u64> {
        self.tables.code.named(name)
    }

    /// Where the instruction before a return address has called.
    fn call(&self, return_address: u64) -> Option<u64> {
        const LONGEST: u64 = 5;
        let from = return_address.checked_sub(LONGEST)?;
        let bytes = self.bytes(from)?.get(..LONGEST as usize)?;
        let offset = match self.architecture {
            // CALL rel32.
            Architecture::X86_64 if bytes[0] == 0xe8 => i32::from_le_bytes(bytes[1..].try_into().ok()?).into(),
            Architecture::Aarch64 => {
                // BL: six bits that say so, and a distance in words of 4 bytes from the instruction.
                let instruction = u32::from_le_bytes(bytes[1..].try_into().ok()?);
                let is_call = instruction >> 26 == 0b10_0101;
                is_call.then_some(i64::from((instruction << 6) as i32 >> 4) - 4)?
            }
            _ => return None,
        };
        return_address.checked_add_signed(offset)
    }

    /// Whether the instruction before a return address says neither which function it has called nor by which name.
    pub(super) fn is_by_pointer(&self, return_address: u64) -> bool {
        let is_there = self.bytes(return_address.wrapping_sub(1)).is_some();
        is_there && self.call(return_address).is_none() && self.imported(return_address).is_none()
    }

    /// The name of another file's function that was called by the instruction before a return address: by way of a stub that
    /// jumps to where the loader has put its address, or without one.
    pub(super) fn imported(&self, return_address: u64) -> Option<&str> {
        let imports = || imports(&self.mapped, &self.budget);
        let at = self.called_through(return_address)?;
        self.imports.get_or_init(imports).as_ref()?.0.get(&at).map(String::as_str)
    }

    /// Where the address is read from that was called by the instruction before a return address.
    fn called_through(&self, return_address: u64) -> Option<u64> {
        if self.architecture == Architecture::X86_64
            && let Some([0xff, 0x15, offset @ ..]) = self.bytes(return_address.checked_sub(6)?)?.first_chunk::<6>()
        {
            return return_address.checked_add_signed(i32::from_le_bytes(*offset).into());
        }
        let stub = self.call(return_address)?;
        let bytes = self.bytes(stub)?;
        match self.architecture {
            Architecture::X86_64 => {
                // ENDBR64 and BND may be there or not; JMP [rip + offset].
                let rest = bytes.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(bytes);
                let rest = rest.strip_prefix(&[0xf2]).unwrap_or(rest);
                let Some([0xff, 0x25, offset @ ..]) = rest.first_chunk::<6>() else { return None };
                let after = stub + (bytes.len() - rest.len()) as u64 + 6;
                after.checked_add_signed(i32::from_le_bytes(*offset).into())
            }
            _ => None,
        }
    }

    /// What is loaded from an address on.
    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let segment = self.segments.iter().find(|segment| segment.memory.contains(&address))?;
        let at = segment.file.start.checked_add(address - segment.memory.start)?;
        self.mapped.get(usize::try_from(at).ok().filter(|_| segment.file.contains(&at))?..)
    }

    /// Why it has not all of its symbols.
    pub(super) fn missing_symbols(&self) -> Option<&str> {
        self.tables.fault.as_deref()
    }

    /// What was split off of its debug information and cannot be used, in a sentence.
    pub(super) fn missing_lines(&self) -> Option<String> {
        self.dwarf.as_ref()?.lines.get()?.as_ref().ok()?.missing()
    }

    /// The datum that an address of the file lies in, with the member or element there, or the offset.
    pub(super) fn datum(&self, address: u64) -> Option<String> {
        let symbol = self.tables.data.find(address)?;
        let name = names::demangle(&symbol.name);
        let offset = address - symbol.start;
        let part = || {
            let dwarf = self.dwarf.as_ref().filter(|dwarf| dwarf.is_unchanged())?;
            let supplement = dwarf.supplement.as_deref();
            let index = || guarded(|| Ok(variables::index(&dwarf.path, supplement, &self.budget))).ok().flatten();
            let (index, _) = self.variables.get_or_init(index).as_ref()?;
            let part = || Ok(variables::part(&dwarf.path, supplement, index, &self.budget, symbol.start, offset));
            guarded(part).ok().flatten()
        };
        let known = self.parts.borrow().get(&address).cloned();
        let part = known.unwrap_or_else(|| self.parts.borrow_mut().entry(address).or_insert(part()).clone());
        Some(match part {
            Some(part) => name + &part,
            None if offset == 0 => name,
            None => format!("{name}+{offset:#x}"),
        })
    }
}

impl Dwarf {
    /// `path` leads to the file, and what belongs to it is beside `known_as`.
    fn new(path: &Path, known_as: &Path, object: &object::File<'_>, debug_directory: &Path, budget: &Budget) -> Dwarf {
        let supplement = debug_file::supplement(known_as, object, debug_directory);
        let (stamp, lines, budget) = (stamp_of(path), OnceCell::new(), budget.clone());
        Dwarf { path: path.to_owned(), stamp, supplement, lines, budget }
    }

    fn is_unchanged(&self) -> bool {
        stamp_of(&self.path) == self.stamp
    }

    /// Names are as the compiler wrote them.
    fn places(&self, address: u64) -> Result<Vec<Place>, String> {
        let read = || match self.is_unchanged() {
            true => Lines::read(&self.path, self.supplement.as_deref(), &self.budget),
            false => Err("it is another file by now".to_owned()),
        };
        let lines = self.lines.get_or_init(read).as_ref().map_err(String::clone)?;
        let place = |Line { function, file, line }| {
            let function = Some(function).filter(|name| !name.is_empty());
            Place { function, file, line }
        };
        Ok(lines.find(address)?.into_iter().map(place).collect())
    }
}

/// By the file's relocations.
fn imports(bytes: &[u8], budget: &Budget) -> Option<(HashMap<u64, String>, Share)> {
    const OF_ENTRY: usize = 64;
    let mut share = budget.take(0).ok()?;
    let object = parse(bytes).ok()?;
    let symbols = object.dynamic_symbol_table()?;
    let named = object.dynamic_relocations()?.take(MOST_SYMBOLS).filter_map(|(at, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        let symbol = symbols.symbol_by_index(index).ok().filter(ObjectSymbol::is_undefined)?;
        let name = symbol.name().ok().filter(|name| name.len() <= LONGEST_NAME)?;
        share.grow((OF_ENTRY + name.len()) as u64).ok()?;
        Some((at, name.to_owned()))
    });
    let named = named.collect();
    Some((named, share))
}

/// A path that leads to an open file: its own, or, where that is another file's, one of this process. Split debug information is
/// found beside its own.
fn place(path: &Path, file: &File) -> PathBuf {
    let is_there = file.metadata().is_ok_and(|metadata| stamp(&metadata) == stamp_of(path));
    if is_there { path.to_owned() } else { format!("/proc/self/fd/{}", file.as_raw_fd()).into() }
}

fn stamp_of(path: &Path) -> Stamp {
    std::fs::metadata(path).as_ref().map(stamp).unwrap_or_default()
}

/// The symbols that some distributions leave in stripped files, as an ELF file by itself, packed.
fn mini_debug(object: &object::File<'_>, budget: &Budget) -> Option<(Vec<u8>, Share)> {
    let packed = object.section_by_name(".gnu_debugdata")?.data().ok()?;
    // And its dictionary is there for a moment.
    let share = budget.take(MOST_MINI_DEBUG).ok()?;
    let mut unpacked = Vec::new();
    let reader = XzReader::new_mem_limit(packed, false, MOST_MINI_DEBUG_KIB);
    reader.take(MOST_MINI_DEBUG).read_to_end(&mut unpacked).ok()?;
    Some((unpacked, share))
}
