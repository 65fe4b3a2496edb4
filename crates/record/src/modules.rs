//! The program's files as they are loaded: where their code is, and the tables by which their stacks are walked.
//!
//! Those that are there at the start are asked of the loader then. One that is loaded later is found when one of its
//! addresses is first on a stack, without the loader's lock, which may be held by who waits for a lock of ours:
//! `_dl_find_object` (glibc 2.35). It also tells if something else is there now than was. Where there is no such function,
//! code that is loaded later is walked by frame pointers.

use crate::recording::{self as file, Recording};
use crate::{layout, memory, stamp};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use core::{ptr, slice};
use framehop::{ExplicitModuleSectionInfo, MustNotAllocateDuringUnwind, Unwinder, UnwinderNative};
use std::vec::Vec;

pub(crate) type Tables = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;

/// All of them, at one time. Replaced as a whole, and never freed: others may be reading it.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) tables: Tables,
    /// For code of no module, which may lie where a module was whose tables are gone.
    pub(crate) no_tables: Tables,
    modules: Vec<Module>,
}

#[derive(Clone, Copy)]
struct Module {
    start: u64,
    end: u64,
    bias: u64,
    /// Where the index of its tables is; it tells apart what is loaded at one address at different times.
    tables: u64,
    path: [u8; 448],
    build_id: [u8; 32],
    build_id_length: u32,
    stamp: layout::Stamp,
}

static KNOWN: AtomicPtr<Known> = AtomicPtr::new(ptr::null_mut());
/// How often they were replaced.
static N_REPLACED: AtomicU32 = AtomicU32::new(0);
static IS_ADDING: AtomicBool = AtomicBool::new(false);
/// Whether memory may be asked for while a thread is at a lock.
static MAY_ASK: AtomicBool = AtomicBool::new(true);
static FIND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Forgets who was adding modules in another process, our parent.
pub(crate) fn begin() {
    IS_ADDING.store(false, Relaxed);
}

/// The modules that are known now.
pub(crate) fn known() -> Option<&'static Known> {
    // SAFETY: null, or never freed.
    unsafe { KNOWN.load(Acquire).as_ref() }
}

/// Modules that come later are not added: the program's allocator may be what is being locked.
pub(crate) fn ask_for_no_more_memory() {
    MAY_ASK.store(false, Relaxed);
}

pub(crate) fn may_ask_for_memory() -> bool {
    MAY_ASK.load(Relaxed)
}

/// The addresses of the library that this one is in; `None` if it is in the program itself, or nowhere.
pub(crate) fn library_of(address: u64) -> Option<core::ops::Range<u64>> {
    let module = known()?.modules.iter().find(|module| (module.start..module.end).contains(&address))?;
    (module.path[0] != 0).then_some(module.start..module.end)
}

/// Asks the loader for what is there. Before the program starts: takes the loader's lock.
pub(crate) fn ask_loader() {
    // SAFETY: a string of C.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND.store(find, Relaxed);
    memory::keep_first_stack();
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback has the right form, and `found` lives longer than the call.
    unsafe { libc::dl_iterate_phdr(Some(one_of_loader), (&raw mut found).cast()) };
    add(&found);
}

unsafe extern "C" fn one_of_loader(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
    // SAFETY: what the loader gives.
    let info = unsafe { &*info };
    // SAFETY: what was given to the loader.
    let found = unsafe { &mut *found.cast::<Vec<Module>>() };
    // SAFETY: the loader's table.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let module = module(info.dlpi_addr, headers, info.dlpi_name);
    found.extend(module.map(|module| Module { stamp: stamp::of(info.dlpi_name), ..module }));
    0
}

/// What `_dl_find_object` fills (dlfcn.h).
#[repr(C)]
struct Found {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    link_map: *const LinkMap,
    tables: *const c_void,
    reserved: [u64; 7],
}

/// The beginning of the loader's own entry (link.h).
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A module that is known.
    Known,
    /// Nothing that is known.
    Unknown,
    /// Another module than what is known there, whose tables may be gone.
    Changed,
}

/// What is at that address, after a look for it if it is not known. What is known and what was there before the call may
/// differ: ask [`known`] afterwards.
pub(crate) fn look(address: u64) -> Look {
    let find = FIND.load(Relaxed);
    let here =
        |known: &'static Known| known.modules.iter().find(|module| (module.start..module.end).contains(&address));
    if find.is_null() {
        return if known().and_then(here).is_some() { Look::Known } else { Look::Unknown };
    }
    // SAFETY: zeros are a value of it.
    let mut found: Found = unsafe { core::mem::zeroed() };
    // SAFETY: the function has this type.
    let find = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, *mut Found) -> c_int>(find) };
    // SAFETY: `found` is room for the answer.
    if unsafe { find(address, &raw mut found) } != 0 {
        return Look::Unknown;
    }
    let before = known().and_then(here);
    if before.is_some_and(|module| module.tables == found.tables as u64) {
        return Look::Known;
    }
    let otherwise = if before.is_some() { Look::Changed } else { Look::Unknown };
    if !may_ask_for_memory() {
        return otherwise;
    }
    // SAFETY: the loader's own entry of a module that is on the stack.
    let map = unsafe { &*found.link_map };
    let Some(headers) = program_headers(found.start) else { return otherwise };
    let is_added = module(map.bias, headers, map.name).is_some_and(|module| add(&[module]));
    if is_added { Look::Known } else { otherwise }
}

/// The program headers of a file that is mapped from its beginning.
fn program_headers(start: *const c_void) -> Option<&'static [libc::Elf64_Phdr]> {
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

fn module(bias: u64, headers: &[libc::Elf64_Phdr], name: *const c_char) -> Option<Module> {
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
        stamp: stamp::UNKNOWN,
    };
    if !name.is_null() {
        // SAFETY: the loader's string.
        memory::copy_text(unsafe { CStr::from_ptr(name) }.to_bytes(), &mut module.path);
    }
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        // SAFETY: a note that is loaded.
        let note = unsafe { slice::from_raw_parts((bias + header.p_vaddr) as *const u8, header.p_memsz as usize) };
        if let Some(id) = build_id(note) {
            let length = id.len().min(module.build_id.len());
            module.build_id[..length].copy_from_slice(&id[..length]);
            module.build_id_length = length as u32;
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

/// Adds modules to those that are known, in the place of what was there before. False if somebody else is at it for long.
fn add(modules: &[Module]) -> bool {
    const TURNS: u32 = 1000;
    const MOST_REPLACED: u32 = 2000;
    let mut left = TURNS;
    while IS_ADDING.swap(true, Acquire) {
        left -= 1;
        if left == 0 {
            return false;
        }
        core::hint::spin_loop();
    }
    // Never freed, so there is an end to it: a program that loads and closes libraries for ever keeps its memory.
    let is_too_much = N_REPLACED.fetch_add(1, Relaxed) >= MOST_REPLACED;
    if is_too_much || !memory::has_memory() {
        IS_ADDING.store(false, Release);
        return false;
    }
    let mut next = known().cloned().unwrap_or_else(|| Known {
        tables: Tables::new(),
        no_tables: Tables::new(),
        modules: Vec::new(),
    });
    for module in modules {
        let is_over = |other: &Module| module.start < other.end && other.start < module.end;
        for other in next.modules.iter().filter(|other| is_over(other)) {
            next.tables.remove_module(other.start);
        }
        next.modules.retain(|other| !is_over(other));
        next.modules.push(*module);
        next.tables.add_module(unwind_tables(module));
        if let Some(recording) = file::current() {
            write(recording, module);
        }
    }
    KNOWN.store(std::boxed::Box::leak(std::boxed::Box::new(next)), Release);
    IS_ADDING.store(false, Release);
    true
}

/// The tables of a module, as the walker wants them. All addresses are those that the module is loaded at.
fn unwind_tables(module: &Module) -> framehop::Module<&'static [u8]> {
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

/// Writes all that are known into a new recording.
pub(crate) fn write_all(recording: &Recording) {
    for module in known().iter().flat_map(|known| &known.modules) {
        write(recording, module);
    }
}

fn write(recording: &Recording, module: &Module) {
    for at in 0..recording.modules.room {
        let Some(entry) = recording.entry::<layout::Module>(recording.modules, at) else { return };
        if entry.is_complete.load(Relaxed) != 0 {
            continue;
        }
        let place = (&raw const *entry).cast_mut();
        let content = layout::Module {
            is_complete: 0.into(),
            build_id_length: module.build_id_length,
            start: module.start,
            end: module.end,
            bias: module.bias,
            build_id: module.build_id,
            path: module.path,
            stamp: module.stamp,
        };
        // SAFETY: who adds modules is alone at it, and nobody reads an entry that is not complete.
        unsafe { place.write(content) };
        entry.is_complete.store(1, Release);
        return;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::in_its_own_process;
    use libc::{Elf64_Ehdr, Elf64_Phdr, PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE};
    use std::boxed::Box;

    /// Another thread is at it.
    pub(crate) fn somebody_adds() {
        IS_ADDING.store(true, Relaxed);
    }

    pub(crate) fn does_somebody_add() -> bool {
        IS_ADDING.load(Relaxed)
    }

    const NOTHING: Module = Module {
        start: 0,
        end: 0,
        bias: 0,
        tables: 0,
        path: [0; 448],
        build_id: [0; 32],
        build_id_length: 0,
        stamp: stamp::UNKNOWN,
    };

    /// Where nothing else is: behind all that a process can map.
    const HIGH: u64 = 0x8000_0000_0000;

    /// A module of whole pages there, without tables.
    fn pages(from: u64, to: u64) -> Module {
        Module { start: HIGH + from * 0x1000, end: HIGH + to * 0x1000, ..NOTHING }
    }

    /// Where the modules are that were made by [`pages`].
    fn known_pages() -> Vec<(u64, u64)> {
        let high = known().into_iter().flat_map(|known| &known.modules).filter(|module| module.start >= HIGH);
        let mut pages: Vec<_> =
            high.map(|module| ((module.start - HIGH) / 0x1000, (module.end - HIGH) / 0x1000)).collect();
        pages.sort_unstable();
        pages
    }

    #[test]
    fn a_module_takes_the_place_of_those_that_it_overlaps() {
        in_its_own_process("modules::tests::a_module_takes_the_place_of_those_that_it_overlaps", |_| {
            assert!(add(&[pages(10, 20), pages(30, 40)]));
            // Neighbours, and those further away on either side.
            for (from, to) in [(20, 30), (40, 50), (5, 10), (1, 2), (60, 61)] {
                assert!(add(&[pages(from, to)]));
            }
            assert_eq!(known_pages(), [(1, 2), (5, 10), (10, 20), (20, 30), (30, 40), (40, 50), (60, 61)]);
            assert!(add(&[pages(19, 31)]));
            assert_eq!(known_pages(), [(1, 2), (5, 10), (19, 31), (40, 50), (60, 61)]);
            assert!(add(&[pages(6, 7), pages(39, 51)]));
            assert_eq!(known_pages(), [(1, 2), (6, 7), (19, 31), (39, 51), (60, 61)]);
            // The walker has no tables of what is gone.
            let last = || (known().unwrap().tables.max_known_code_address() - HIGH) / 0x1000;
            assert_eq!(last(), 61);
            assert!(add(&[pages(55, 60)]) && add(&[pages(59, 61)]));
            assert!(add(&[pages(58, 60)]));
            assert_eq!((known_pages().last(), last()), (Some(&(58, 60)), 60));
        });
    }

    /// They are given up where others are at it for long, where there is no memory, and when it was done too often.
    #[test]
    fn modules_are_not_added_at_any_price() {
        in_its_own_process("modules::tests::modules_are_not_added_at_any_price", |_| {
            somebody_adds();
            assert!(!add(&[pages(0, 1)]));
            assert!(does_somebody_add() && known_pages().is_empty());
            begin();
            assert!(add(&[pages(0, 1)]));
            // No address space for anything that is large.
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: room for the answer.
            assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) }, 0);
            let set = |rlim_cur| {
                let limit = libc::rlimit { rlim_cur, ..limit };
                // SAFETY: of this process.
                assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
            };
            set(1 << 20);
            let is_added = add(&[pages(1, 2)]);
            set(limit.rlim_cur);
            assert!(!is_added && !does_somebody_add());
            N_REPLACED.store(1999, Relaxed);
            assert!(add(&[pages(2, 3)]) && !add(&[pages(3, 4)]) && !does_somebody_add());
            assert_eq!(known_pages(), [(0, 1), (2, 3)]);
        });
    }

    // -- A module in memory ---------------------------------------------------------------------------------------------

    /// The beginning of a file, as far as it is looked at.
    #[repr(C, align(4096))]
    pub(crate) struct Image {
        head: Elf64_Ehdr,
        pub(crate) headers: [Elf64_Phdr; 3],
        pub(crate) bytes: [u8; 1024],
        map: LinkMap,
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
        fn module(&self, name: *const c_char) -> Module {
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

    // -- What comes later -----------------------------------------------------------------------------------------------

    static IMAGE: AtomicPtr<Image> = AtomicPtr::new(ptr::null_mut());

    /// Stands in for the loader's function: there is nothing but that image.
    unsafe extern "C" fn find_image(address: u64, found: *mut Found) -> c_int {
        // SAFETY: null, or set by a test that keeps it.
        let image = unsafe { IMAGE.load(Relaxed).as_ref() };
        let start = image.map_or(0, Image::start);
        if !(start..start + 100).contains(&address) {
            return -1;
        }
        // SAFETY: room for the answer.
        let found = unsafe { &mut *found };
        found.start = start as *const _;
        if let Some(image) = image {
            (found.link_map, found.tables) = (&raw const image.map, (&raw const image.bytes[512]).cast());
        }
        0
    }

    /// Loads it there.
    pub(crate) fn put(image: &mut Image) -> u64 {
        IMAGE.store(image, Relaxed);
        FIND.store(find_image as *mut c_void, Relaxed);
        image.start() + 50
    }

    pub(crate) fn is_known(address: u64) -> bool {
        library_of(address).is_some()
    }

    #[test]
    fn what_is_loaded_later_is_known_once_it_is_looked_for() {
        in_its_own_process("modules::tests::what_is_loaded_later_is_known_once_it_is_looked_for", |_| {
            let (mut one, mut other) = (Image::new(&[]), Image::new(&[]));
            let address = put(&mut one);
            assert_eq!(look(address), Look::Known);
            assert!(is_known(address) && !is_known(other.start()));
            // It is gone; something else is there then, whose tables are elsewhere.
            let elsewhere = put(&mut other);
            assert_eq!((look(address), look(elsewhere)), (Look::Unknown, Look::Known));
            put(&mut one);
            one.headers[2].p_vaddr += 8;
            add(&[one.module(one.map.name)]);
            MAY_ASK.store(false, Relaxed);
            assert_eq!(look(address), Look::Changed);
            MAY_ASK.store(true, Relaxed);
            one.headers[2].p_vaddr -= 8;
            assert_eq!((look(address), look(address)), (Look::Known, Look::Known));
        });
    }

    #[test]
    fn what_cannot_be_added_stays_unknown() {
        in_its_own_process("modules::tests::what_cannot_be_added_stays_unknown", |_| {
            let mut image = Image::new(&[]);
            let address = put(&mut image);
            let expect = |expected| {
                assert_eq!(look(address), expected);
                assert_eq!(is_known(address), expected == Look::Known);
            };
            image.head.e_ident[3] = b'f';
            expect(Look::Unknown);
            image.head.e_ident[3] = b'F';
            image.head.e_phentsize += 1;
            expect(Look::Unknown);
            image.head.e_phentsize -= 1;
            N_REPLACED.store(u32::MAX / 2, Relaxed);
            expect(Look::Unknown);
            N_REPLACED.store(0, Relaxed);
            ask_for_no_more_memory();
            assert!(!may_ask_for_memory());
            expect(Look::Unknown);
            MAY_ASK.store(true, Relaxed);
            expect(Look::Known);
            // Where the loader has no such function, nothing is looked for.
            FIND.store(ptr::null_mut(), Relaxed);
            expect(Look::Known);
            assert_eq!(look(address + (1 << 20)), Look::Unknown);
        });
    }
}
