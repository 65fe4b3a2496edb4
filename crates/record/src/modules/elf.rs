//! One file of the program, read where it is loaded: its extent, its build id, the tables by which it is walked, and what tells
//! it from another file in its place. All but that last is read in memory that the loader has read before.

use crate::layout::{Stamp, copy_text};
use core::ffi::{CStr, c_char, c_void};
use core::slice;
use framehop::ExplicitModuleSectionInfo;
use ondeck_core::kernel;
use std::string::String;

/// Bytes of a path that are kept.
const MOST_PATH: usize = 447;
const PAGE: u64 = 4096;

/// A file of the program, as it is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Module {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(crate) bias: u64,
    /// Where the index of its tables is; it tells apart what is loaded at one address at different times.
    pub(super) tables: u64,
    pub(super) path: [u8; 448],
    pub(super) build_id: [u8; 32],
    pub(super) build_id_length: u32,
    pub(super) stamp: Stamp,
    /// Where the build id lies in memory; 0 if that may not be read later.
    pub(super) build_id_at: u64,
    /// The loader's entry; 0 if that is not known.
    pub(super) link_map: u64,
    /// Which of those it is that were at its addresses after each other, of [`in_time`](crate::layout::in_time).
    pub(super) number: u32,
}

impl Module {
    pub(crate) fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Whether it is the file that the loader has now at its addresses: another one may have the same form. Reads only what
    /// is loaded now, wherever that is from.
    pub(super) fn is_still(&self, start: u64, map: &LinkMap) -> bool {
        // Where its segments have holes between them, the loader tells of the one that the address is in.
        if map.bias != self.bias || !(self.start & !(PAGE - 1)..self.end).contains(&start) {
            return false;
        }
        let path = CStr::from_bytes_until_nul(&self.path).unwrap_or_default().to_bytes();
        // SAFETY: the loader's string, of a module that is loaded.
        let name = if map.name.is_null() { c"" } else { unsafe { CStr::from_ptr(map.name) } }.to_bytes();
        let is_its_name = name.get(..path.len()) == Some(path) && (name.len() == path.len() || path.len() == MOST_PATH);
        if !is_its_name {
            return false;
        }
        if self.build_id_length == 0 || self.build_id_at == 0 {
            // Nothing tells a file from one that was built anew, but that it was not loaded anew.
            return self.link_map == 0 || self.link_map == (&raw const *map) as u64;
        }
        let id = &self.build_id[..self.build_id_length as usize];
        // SAFETY: within the first page of what is loaded there: a library's is where the bias says, and no program is loaded anew.
        let now = unsafe { slice::from_raw_parts(self.build_id_at as *const u8, id.len()) };
        now == id
    }

    /// Whether both have some address.
    pub(super) fn is_over(&self, other: &Module) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether it is the same file at the same place.
    pub(super) fn is(&self, other: &Module) -> bool {
        let place = |module: &Module| (module.start, module.end, module.bias, module.tables, module.build_id_length);
        let is_told =
            self.build_id_length > 0 || self.link_map == other.link_map || self.link_map == 0 || other.link_map == 0;
        is_told && place(self) == place(other) && self.path == other.path && self.build_id == other.build_id
    }

    /// The name of the file, without its directory. A new version may have taken its place.
    pub(crate) fn name(&self) -> String {
        let mut path = self.path;
        if path[0] == 0 {
            let most = path.len() - 1;
            super::program(&mut path[..most]);
        }
        let path = CStr::from_bytes_until_nul(&path).unwrap_or_default().to_bytes();
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        String::from_utf8_lossy(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()).into_owned()
    }
}

/// The beginning of the loader's own entry (link.h).
#[repr(C)]
pub(super) struct LinkMap {
    pub(super) bias: u64,
    pub(super) name: *const c_char,
}

/// The program headers of a file that is mapped from its beginning.
pub(super) fn program_headers(start: *const c_void) -> Option<&'static [libc::Elf64_Phdr]> {
    let start = start.cast::<u8>();
    // SAFETY: the first page of a module that is on the stack.
    let head = unsafe { &*start.cast::<libc::Elf64_Ehdr>() };
    if head.e_ident[..4] != *b"\x7fELF" || usize::from(head.e_phentsize) != size_of::<libc::Elf64_Phdr>() {
        return None;
    }
    // SAFETY: as above; the loader has read them there.
    let first = unsafe { start.add(head.e_phoff as usize) };
    // SAFETY: as above.
    Some(unsafe { slice::from_raw_parts(first.cast(), head.e_phnum.into()) })
}

pub(super) fn module(bias: u64, headers: &[libc::Elf64_Phdr], name: *const c_char) -> Option<Module> {
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let start = loads().map(|header| bias + header.p_vaddr).min()?;
    let end = loads().map(|header| bias + header.p_vaddr + header.p_memsz).max()?;
    let tables = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let mut module = Module {
        start,
        end,
        bias,
        tables: tables.map_or(0, |header| bias + header.p_vaddr),
        path: [0; 448],
        build_id: [0; 32],
        build_id_length: 0,
        stamp: NO_STAMP,
        build_id_at: 0,
        link_map: 0,
        number: 0,
    };
    if !name.is_null() {
        // SAFETY: the loader's string.
        copy_text(unsafe { CStr::from_ptr(name) }.to_bytes(), &mut module.path);
    }
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: a note that is loaded.
        let note = unsafe { slice::from_raw_parts((bias + header.p_vaddr) as *const u8, header.p_memsz as usize) };
        if let Some(id) = build_id(note) {
            let length = id.len().min(module.build_id.len());
            module.build_id[..length].copy_from_slice(&id[..length]);
            module.build_id_length = length as u32;
            let at = id.as_ptr() as u64;
            // What takes its place has its first page there too, and perhaps nothing in the others.
            module.build_id_at = if at + length as u64 <= (start & !(PAGE - 1)) + PAGE { at } else { 0 };
        }
    }
    Some(module)
}

/// The build id among the notes of a module.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    // Ended by the end of the notes, which get shorter with each turn.
    loop {
        let field = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name_length, length, kind) = (field(0)? as usize, field(4)? as usize, field(8)?);
        let content = 12 + name_length.next_multiple_of(4);
        let end = content.checked_add(length)?;
        if kind == BUILD_ID && notes.get(12..12 + name_length)? == b"GNU\0" {
            return notes.get(content..end);
        }
        notes = notes.get(end.next_multiple_of(4)..)?;
    }
}

/// The tables of a module, as the walker wants them. All addresses are those that the module is loaded at.
pub(super) fn unwind_tables(module: &Module) -> framehop::Module<&'static [u8]> {
    let mut sections = ExplicitModuleSectionInfo { base_svma: module.start, ..Default::default() };
    let tables = if module.tables == 0 { None } else { frames(module) };
    if let Some(frames) = tables {
        // SAFETY: from the index to the end of the module; reading is by its own lengths, which the loader's other
        // users trust as well.
        let bytes = |from: u64| unsafe { slice::from_raw_parts(from as *const u8, (module.end - from) as usize) };
        sections.eh_frame_hdr_svma = Some(module.tables..module.end);
        sections.eh_frame_hdr = Some(bytes(module.tables));
        sections.eh_frame_svma = Some(frames..module.end);
        sections.eh_frame = Some(bytes(frames));
    }
    framehop::Module::new(std::string::String::new(), module.start..module.end, module.start, sections)
}

/// Where the tables are that the index is of: its header says so, in the form that all linkers write.
fn frames(module: &Module) -> Option<u64> {
    const VERSION: u8 = 1;
    const RELATIVE_4: u8 = 0x1b;
    let index = module.tables as *const u8;
    // SAFETY: the index has at least 8 bytes.
    let head = unsafe { index.cast::<[u8; 8]>().read() };
    if head[..2] != [VERSION, RELATIVE_4] {
        return None;
    }
    let offset = i32::from_ne_bytes([head[4], head[5], head[6], head[7]]);
    let frames = (module.tables + 4).wrapping_add_signed(offset.into());
    (module.start..module.end).contains(&frames).then_some(frames)
}

const NO_STAMP: Stamp = Stamp { device: 0, number: 0, size: 0, modified_ns: 0 };

/// What tells the file of that name from another one that takes its place; of the program itself, which has none. The
/// kernel's code has a name and no path. To be asked before the program starts only: later it would be a system call at a
/// lock.
pub(super) fn stamp(name: *const c_char) -> Stamp {
    // SAFETY: the loader's string.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let path = if name.is_empty() { super::way_to_program() } else { name };
    if !path.to_bytes().contains(&b'/') {
        return NO_STAMP;
    }
    // SAFETY: zeros are a value of it.
    let mut told: libc::stat = unsafe { core::mem::zeroed() };
    let (here, name, place) = (libc::AT_FDCWD as usize, path.as_ptr() as usize, (&raw mut told) as usize);
    // SAFETY: a string of C, and room for the answer.
    if unsafe { kernel::call(libc::SYS_newfstatat, [here, name, place, 0]) }.is_err() {
        return NO_STAMP;
    }
    let modified_ns = told.st_mtime.wrapping_mul(1_000_000_000).wrapping_add(told.st_mtime_nsec);
    Stamp { device: told.st_dev, number: told.st_ino, size: told.st_size as u64, modified_ns }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::ptr;
    use libc::{Elf64_Ehdr, Elf64_Phdr, PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE};
    use std::boxed::Box;
    use std::vec::Vec;

    pub(in crate::modules) const NOTHING: Module = Module {
        start: 0,
        end: 0,
        bias: 0,
        tables: 0,
        path: [0; 448],
        build_id: [0; 32],
        build_id_length: 0,
        stamp: NO_STAMP,
        build_id_at: 0,
        link_map: 0,
        number: 0,
    };

    /// The beginning of a file, as far as it is looked at.
    #[repr(C, align(4096))]
    pub(crate) struct Image {
        pub(in crate::modules) head: Elf64_Ehdr,
        pub(crate) headers: [Elf64_Phdr; 3],
        pub(crate) bytes: [u8; 1024],
        pub(in crate::modules) map: LinkMap,
    }

    impl Image {
        /// Is loaded where it is, has that note, and the index of tables at its `bytes[512]`.
        pub(crate) fn new(note: &[u8]) -> Box<Self> {
            // SAFETY: zeros are a value of it.
            let mut image: Box<Image> = Box::new(unsafe { core::mem::zeroed() });
            image.head.e_ident[..4].copy_from_slice(b"\x7fELF");
            image.head.e_phentsize = size_of::<Elf64_Phdr>() as u16;
            image.head.e_phnum = 3;
            image.head.e_phoff = core::mem::offset_of!(Image, headers) as u64;
            image.bytes[..note.len()].copy_from_slice(note);
            let (at, bytes) = ((&raw const *image) as u64, core::mem::offset_of!(Image, bytes) as u64);
            image.map = LinkMap { bias: at, name: c"/a/file".as_ptr() };
            let parts =
                [(PT_LOAD, 0, size_of::<Image>()), (PT_NOTE, bytes, note.len()), (PT_GNU_EH_FRAME, bytes + 512, 8)];
            for (header, (kind, address, length)) in image.headers.iter_mut().zip(parts) {
                (header.p_type, header.p_vaddr, header.p_memsz) = (kind, address, length as u64);
            }
            image
        }

        pub(crate) fn start(&self) -> u64 {
            (&raw const *self) as u64
        }

        /// As the loader tells of it.
        pub(in crate::modules) fn module(&self, name: *const c_char) -> Module {
            module(self.start(), &self.headers, name).expect("it is loaded")
        }
    }

    /// A note of that kind, by that author.
    fn note(kind: u32, author: &[u8], content: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [author.len() as u32, content.len() as u32, kind] {
            note.extend(word.to_ne_bytes());
        }
        for part in [author, content] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn a_module_is_known_by_its_path_and_its_build_id() {
        let ids = [note(3, b"GNU\0", &[7; 20]), note(3, b"GNU\0", &[8; 40])];
        let mut image = Image::new(&ids[0]);
        let told = image.module(image.map.name);
        assert_eq!((told.start, told.end), (image.start(), image.start() + size_of::<Image>() as u64));
        assert_eq!(told.tables, (&raw const image.bytes[512]) as u64);
        assert_eq!((&told.path[..8], told.build_id_length), (&b"/a/file\0"[..], 20));
        assert_eq!((&told.build_id[..20], told.build_id[20]), (&[7; 20][..], 0));
        // One that does not begin with its file.
        image.headers[0].p_vaddr = 0x100;
        assert_eq!(image.module(ptr::null()).start, image.start() + 0x100);
        // As far as there is room.
        let told = Image::new(&ids[1]).module(ptr::null());
        assert_eq!((told.path[0], told.build_id_length, told.build_id), (0, 32, [8; 32]));
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let id = note(3, b"GNU\0", b"12345");
        let others =
            [note(3, b"Go\0\0", b"a"), note(1, b"GNU\0", b"abcd"), note(3, b"GNUC\0", b"xyz"), note(0, b"", b"")];
        for other in others {
            assert_eq!(build_id(&[&other[..], &id[..]].concat()), Some(&b"12345"[..]), "{other:?}");
            assert_eq!(build_id(&other), None);
        }
        assert_eq!((build_id(&id), build_id(&id[..16]), build_id(&[])), (Some(&b"12345"[..]), None, None));
    }

    #[test]
    fn an_index_of_another_form_is_left_alone() {
        let mut image = Image::new(&[]);
        image.bytes[512..520].copy_from_slice(&[1, 0x1b, 3, 0x3b, 4, 0, 0, 0]);
        let module = image.module(ptr::null());
        assert_eq!(frames(&module), Some(module.tables + 8));
        for (at, other) in [(512, 2), (513, 0x0b), (513, 0)] {
            let before = core::mem::replace(&mut image.bytes[at], other);
            assert_eq!(frames(&module), None);
            image.bytes[at] = before;
        }
        // Out of the module.
        image.bytes[516..520].copy_from_slice(&8192_i32.to_ne_bytes());
        assert_eq!(frames(&module), None);
    }
}
