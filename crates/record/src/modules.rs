//! The program's files as they are loaded: where their code is, and the tables by which their stacks are walked.
//!
//! Those that are there at the start are asked of the loader then. One that is loaded later is found when one of its
//! addresses is first on a stack, without the loader's lock, which may be held by who waits for a lock of ours:
//! `_dl_find_object` (glibc 2.35). It also tells if something else is there now than was. Where there is no such function,
//! code that is loaded later is walked by frame pointers.

use crate::recording::{self as file, Recording};
use crate::{layout, memory};
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
    found.extend(module(info.dlpi_addr, headers, info.dlpi_name));
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
        sections.text_svma = Some(module.start..module.end);
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
        };
        // SAFETY: who adds modules is alone at it, and nobody reads an entry that is not complete.
        unsafe { place.write(content) };
        entry.is_complete.store(1, Release);
        return;
    }
}
