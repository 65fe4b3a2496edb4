//! The program's files as they are loaded: where their code is, and the tables by which their stacks are walked. `elf` reads
//! one of them; this is the list of all. `walk` looks in it, and `files` writes it into a new recording.
//!
//! The list is replaced as a whole, by one thread at a time, and no version of it is freed: a thread that walks may read it.
//!
//! Those that are there at the start are asked of the loader then. One that is loaded later is found when one of its
//! addresses is first on a stack, without the loader's lock, which may be held by who waits for a lock of ours:
//! `_dl_find_object` (glibc 2.35). It also tells if something else is there now than was: that has a number of its own, which
//! its addresses have too (`layout::in_time`), and what was there before is remembered. Where there is no such function,
//! code that is loaded later is walked by frame pointers.

pub(crate) mod elf;

use crate::layout;
use crate::layout::in_time;
use crate::store::{self, Recording, current, locks};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use core::{ptr, slice};
pub(crate) use elf::Module;
use elf::{LinkMap, module, program_headers, stamp, unwind_tables};
use framehop::{MustNotAllocateDuringUnwind, Unwinder as _, UnwinderNative};
use ondeck_core::{Hardware, Platform as _, kernel};
use std::ffi::CString;
use std::sync::OnceLock;
use std::vec::Vec;

pub(crate) type Tables = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;

/// All of them, at one time. Replaced as a whole, and never freed: others may be reading it.
#[derive(Clone)]
pub(crate) struct ModuleTable {
    pub(crate) tables: Tables,
    /// For code of no module, which may lie where a module was whose tables are gone.
    pub(crate) no_tables: Tables,
    pub(crate) modules: Vec<Module>,
}

static KNOWN: AtomicPtr<ModuleTable> = AtomicPtr::new(ptr::null_mut());
/// How often they were replaced.
static N_REPLACED: AtomicU32 = AtomicU32::new(0);
static IS_ADDING: AtomicBool = AtomicBool::new(false);
/// Whether memory may be asked for while a thread is at a lock.
static MAY_ASK: AtomicBool = AtomicBool::new(true);
static FIND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Forgets who was adding modules in another process, our parent.
pub(crate) fn begin() {
    static BEGUN_IN: AtomicU32 = AtomicU32::new(0);
    if BEGUN_IN.swap(store::process(), Relaxed) != store::process() {
        IS_ADDING.store(false, Relaxed);
    }
}

/// The modules that are known now.
pub(crate) fn known() -> Option<&'static ModuleTable> {
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

// -- What was there before ------------------------------------------------------------------------------------------

/// One that another has taken the place of. Never freed.
struct Gone {
    module: Module,
    before: *const Gone,
}

static GONE: AtomicPtr<Gone> = AtomicPtr::new(ptr::null_mut());
/// How many numbers were given to those that took a place.
static N_NUMBERED: AtomicU32 = AtomicU32::new(0);

/// Those whose place was taken, the last first.
fn gone() -> impl Iterator<Item = &'static Module> {
    // SAFETY: null, or never freed.
    let first = unsafe { GONE.load(Acquire).as_ref() };
    // SAFETY: as above.
    core::iter::successors(first, |gone| unsafe { gone.before.as_ref() }).map(|gone| &gone.module)
}

/// The module that an address of [`in_time`] is of, be it there or gone.
pub(crate) fn of(address: u64) -> Option<&'static Module> {
    let (plain, number) = (in_time::plain(address), in_time::module(address));
    let known = known().into_iter().flat_map(|known| &known.modules);
    known.chain(gone()).find(|module| module.number == number && module.has(plain))
}

/// The number of the module at an address where a [look](look) has found that.
pub(crate) fn number(address: u64, found: AddressLookup) -> u32 {
    match found {
        AddressLookup::Changed => return in_time::UNTOLD,
        AddressLookup::Unknown => return 0,
        AddressLookup::Known if N_NUMBERED.load(Acquire) == 0 => return 0,
        AddressLookup::Known => {}
    }
    let mut modules = known().into_iter().flat_map(|known| &known.modules);
    modules.find(|module| module.has(address)).map_or(0, |module| module.number)
}

/// Gives a new module its number: one that was there before keeps its own, one that takes a place gets the next.
fn numbered(module: &Module, known: &[Module]) -> Module {
    let mut before = known.iter().copied().chain(gone().copied()).filter(|other| other.is_over(module)).peekable();
    let is_first = before.peek().is_none();
    let number = match before.find(|other| other.is(module)) {
        Some(same) => same.number,
        None if is_first => 0,
        None => N_NUMBERED.fetch_add(1, Release) + 1,
    };
    Module { number, ..*module }
}

/// Keeps one whose place is taken, and forgets the locks that were in it.
fn keep_gone(module: Module) {
    if !gone().any(|other| other.is(&module)) {
        let gone = Gone { module, before: GONE.load(Acquire) };
        GONE.store(std::boxed::Box::leak(std::boxed::Box::new(gone)), Release);
    }
    locks::forget_within(module.start..module.end);
}

/// The addresses of the library that this one is in; `None` if it is in the program itself, or nowhere.
pub(crate) fn library_of(address: u64) -> Option<core::ops::Range<u64>> {
    let module = known()?.modules.iter().find(|module| (module.start..module.end).contains(&address))?;
    (module.path[0] != 0).then_some(module.start..module.end)
}

/// The program's file, if the kernel takes the loader for the program, as that was started with the program's path.
static LOADED: OnceLock<CString> = OnceLock::new();

/// Whether the kernel takes the loader for the program.
pub(crate) fn is_loaded() -> bool {
    LOADED.get().is_some()
}

/// What leads to the program's file: itself, or a link.
fn way_to_program() -> &'static CStr {
    // Not the process's, which shows nothing once its first thread has ended.
    LOADED.get().map_or(c"/proc/thread-self/exe", |path| path.as_c_str())
}

/// Writes the path of the program's file; how long it is.
pub(crate) fn program(room: &mut [u8]) -> usize {
    let Some(path) = LOADED.get() else { return kernel::read_link(way_to_program(), room) };
    let path = path.as_bytes();
    let length = path.len().min(room.len());
    room[..length].copy_from_slice(&path[..length]);
    length
}

/// Finds what is mapped where the program begins, if the loader was run as a program. To be called before the program starts.
fn find_loaded(start: u64, loaded: &[Module]) {
    // The loader makes the kernel's other words those of the program. Not by a system call: this program may be under a filter.
    // SAFETY: takes a number.
    let is_the_kernels = unsafe { libc::getauxval(libc::AT_BASE) } != 0;
    let is_loader = |module: &Module| {
        let path = CStr::from_bytes_until_nul(&module.path).unwrap_or_default().to_bytes();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        [&b"ld-"[..], b"ld64.so", b"ld.so"].iter().any(|start| name.starts_with(start))
    };
    // A static program has none.
    if is_the_kernels || !loaded.iter().any(is_loader) {
        return;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let path = maps.lines().find_map(|line| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        (number(from)?..number(to)?).contains(&start).then(|| line.find('/').map(|at| &line[at..]))?
    });
    if let Some(path) = path.and_then(|path| CString::new(path).ok()) {
        LOADED.get_or_init(|| path);
    }
}

/// Asks the loader for what is there. Before the program starts: takes the loader's lock.
pub(crate) fn ask_loader() {
    let program = |module: &&Module| module.path[0] == 0;
    let found = loaded();
    if let Some(program) = found.iter().find(program) {
        find_loaded(program.start, &found);
    }
    // SAFETY: a string of C.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND.store(find, Relaxed);
    add(&loaded());
}

/// What the loader has now. Takes its lock.
pub(crate) fn loaded() -> Vec<Module> {
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback has the right form, and `found` lives longer than the call.
    unsafe { libc::dl_iterate_phdr(Some(one_of_loader), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn one_of_loader(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
    // SAFETY: what the loader gives.
    let info = unsafe { &*info };
    // SAFETY: what was given to the loader.
    let found = unsafe { &mut *found.cast::<Vec<Module>>() };
    // SAFETY: the loader's table.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let module = module(info.dlpi_addr, headers, info.dlpi_name);
    found.extend(module.map(|module| Module { stamp: stamp(info.dlpi_name), ..module }));
    0
}

/// What `_dl_find_object` fills (dlfcn.h).
#[repr(C)]
struct DlFindObject {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    link_map: *const LinkMap,
    tables: *const c_void,
    reserved: [u64; 7],
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressLookup {
    /// A module that is known.
    Known,
    /// Nothing that is known.
    Unknown,
    /// Another module than what is known there, whose tables may be gone, or none.
    Changed,
}

/// What is at that address, after a look for it if it is not known. What is known and what was there before the call may
/// differ: ask [`known`] afterwards.
pub(crate) fn look(address: u64) -> AddressLookup {
    let find = FIND.load(Relaxed);
    let here =
        |known: &'static ModuleTable| known.modules.iter().find(|module| (module.start..module.end).contains(&address));
    if find.is_null() {
        return if known().and_then(here).is_some() { AddressLookup::Known } else { AddressLookup::Unknown };
    }
    // SAFETY: zeros are a value of it.
    let mut found: DlFindObject = unsafe { core::mem::zeroed() };
    // SAFETY: the function has this type.
    let find =
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, *mut DlFindObject) -> c_int>(find) };
    // SAFETY: `found` is room for the answer.
    let is_there = unsafe { find(address, &raw mut found) } == 0;
    let before = known().and_then(here);
    let otherwise = if before.is_some() { AddressLookup::Changed } else { AddressLookup::Unknown };
    // SAFETY: the loader's own entry of a module that is on the stack.
    let Some(map) = (unsafe { found.link_map.as_ref() }).filter(|_| is_there) else { return otherwise };
    if before.is_some_and(|module| module.tables == found.tables as u64 && module.is_still(found.start as u64, map)) {
        return AddressLookup::Known;
    }
    if !may_ask_for_memory() {
        return otherwise;
    }
    let Some(headers) = program_headers(found.start) else { return otherwise };
    let link_map = found.link_map as u64;
    let is_added = module(map.bias, headers, map.name).is_some_and(|module| add(&[Module { link_map, ..module }]));
    if is_added { AddressLookup::Known } else { otherwise }
}

/// Adds modules to those that are known, in the place of what was there before. False if somebody else is at it for long.
fn add(modules: &[Module]) -> bool {
    const MOST_REPLACED: u32 = 2000;
    /// Two threads may be the first at a lock of a new library, and the look that fails here leaves that lock without a name.
    /// The other may have lost its core. Or it is this very thread, which a signal has interrupted: so not for ever.
    const MOST_YIELDS: u32 = 10_000;
    let mut yields = 0..MOST_YIELDS;
    while IS_ADDING.swap(true, Acquire) {
        if yields.next().is_none() {
            return false;
        }
        Hardware::yield_now();
    }
    // Never freed, so there is an end to it: a program that loads and closes libraries for ever keeps its memory.
    let is_too_much = N_REPLACED.fetch_add(1, Relaxed) >= MOST_REPLACED;
    if is_too_much || !has_memory() {
        IS_ADDING.store(false, Release);
        return false;
    }
    let mut next = known().cloned().unwrap_or_else(|| ModuleTable {
        tables: Tables::new(),
        no_tables: Tables::new(),
        modules: Vec::new(),
    });
    for module in modules {
        let module = numbered(module, &next.modules);
        for other in next.modules.iter().filter(|other| other.is_over(&module)) {
            next.tables.remove_module(other.start);
            if !other.is(&module) {
                keep_gone(*other);
            }
        }
        next.modules.retain(|other| !other.is_over(&module));
        next.modules.push(module);
        next.tables.add_module(unwind_tables(&module));
        if let Some(recording) = current() {
            write(recording, &module);
        }
    }
    KNOWN.store(std::boxed::Box::leak(std::boxed::Box::new(next)), Release);
    IS_ADDING.store(false, Release);
    true
}

/// Writes all that are known into a new recording.
pub(crate) fn write_all(recording: &Recording) {
    for module in known().iter().flat_map(|known| &known.modules) {
        write(recording, module);
    }
}

/// Each once: one that was gone and is back has the number that it had.
fn write(recording: &Recording, module: &Module) {
    let start = in_time::address(module.start, module.number);
    for at in 0..recording.modules.room {
        let Some(entry) = recording.entry::<layout::Module>(recording.modules, at) else { return };
        if entry.is_complete.load(Relaxed) != 0 {
            if entry.start == start {
                return;
            }
            continue;
        }
        let place = (&raw const *entry).cast_mut();
        let content = layout::Module {
            is_complete: 0.into(),
            build_id_length: module.build_id_length,
            start,
            end: in_time::address(module.end, module.number),
            bias: module.bias.wrapping_add(in_time::address(0, module.number)),
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

/// Whether the system has memory for what is kept of modules and walks: it cannot be asked for in a way that may fail, and
/// a program that lives with too little of it must not end by that.
pub(crate) fn has_memory() -> bool {
    const ENOUGH: usize = 4 << 20;
    // SAFETY: a mapping of our own, which nobody else knows.
    let unmap = |place: *mut libc::c_void| unsafe { kernel::call(libc::SYS_munmap, [place as usize, ENOUGH]) };
    kernel::map_memory(ENOUGH).is_some_and(|place| unmap(place).is_ok())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::elf::tests::{Image, NOTHING};
    use super::*;
    use crate::testing::in_its_own_process;

    /// Another thread is at it.
    pub(crate) fn somebody_adds() {
        IS_ADDING.store(true, Relaxed);
    }

    pub(crate) fn does_somebody_add() -> bool {
        IS_ADDING.load(Relaxed)
    }

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

    // -- What comes later -----------------------------------------------------------------------------------------------

    static IMAGE: AtomicPtr<Image> = AtomicPtr::new(ptr::null_mut());

    /// Stands in for the loader's function: there is nothing but that image.
    unsafe extern "C" fn find_image(address: u64, found: *mut DlFindObject) -> c_int {
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
            assert_eq!(look(address), AddressLookup::Known);
            assert!(is_known(address) && !is_known(other.start()));
            // It is gone; something else is there then, whose tables are elsewhere.
            let elsewhere = put(&mut other);
            assert_eq!((look(address), look(elsewhere)), (AddressLookup::Changed, AddressLookup::Known));
            put(&mut one);
            one.headers[2].p_vaddr += 8;
            add(&[one.module(one.map.name)]);
            MAY_ASK.store(false, Relaxed);
            assert_eq!(look(address), AddressLookup::Changed);
            MAY_ASK.store(true, Relaxed);
            one.headers[2].p_vaddr -= 8;
            assert_eq!((look(address), look(address)), (AddressLookup::Known, AddressLookup::Known));
        });
    }

    #[test]
    fn what_takes_a_place_has_a_number_of_its_own_and_keeps_it() {
        in_its_own_process("modules::tests::what_takes_a_place_has_a_number_of_its_own_and_keeps_it", |_| {
            let mut image = Image::new(&[]);
            let address = put(&mut image);
            let number_now = || number(address, look(address));
            assert_eq!(number_now(), 0);
            // Of the same form at the same place: nothing but its name tells it.
            image.map.name = c"/another/file".as_ptr();
            assert_eq!([number_now(), number_now()], [1, 1]);
            image.map.name = c"/a/third".as_ptr();
            assert_eq!(number_now(), 2);
            image.map.name = c"/another/file".as_ptr();
            assert_eq!(number_now(), 1, "it is back");
            let path = |number| of(in_time::address(address, number)).map(Module::name);
            assert_eq!([0, 1, 2].map(path), ["file", "file", "third"].map(|name| Some(name.into())));
            // What cannot be added is told from what was there.
            image.map.name = c"/a/fourth".as_ptr();
            MAY_ASK.store(false, Relaxed);
            assert_eq!(number_now(), in_time::UNTOLD);
            assert!(of(in_time::address(address, in_time::UNTOLD)).is_none());
        });
    }

    /// As two plugins take turns at one place: a recording has room for a few hundred modules.
    #[test]
    fn what_is_back_is_not_written_down_again() {
        in_its_own_process("modules::tests::what_is_back_is_not_written_down_again", |directory| {
            let options = crate::RecordOptions::of_environment().expect("the environment asks");
            assert!(crate::start(&options, "a lock", crate::Sleep::AtOnce, crate::Source::Program));
            let mut image = Image::new(&[]);
            let address = put(&mut image);
            for name in [c"/a/one", c"/another"].into_iter().cycle().take(600).chain([c"/a/third"]) {
                image.map.name = name.as_ptr();
                assert_eq!(look(address), AddressLookup::Known);
            }
            let file = directory.read_dir().unwrap().next().unwrap().unwrap().path();
            let modules = crate::read::Reader::open(&file).unwrap().modules().unwrap();
            let there = modules.iter().filter(|module| in_time::plain(module.start) == image.start());
            let there: Vec<_> = there.map(|module| (in_time::module(module.start), module.path.to_str())).collect();
            assert_eq!(there, [(0, Some("/a/one")), (1, Some("/another")), (2, Some("/a/third"))]);
        });
    }

    /// Two threads are the first at a lock of a new library, and one of them adds the library.
    #[test]
    fn who_adds_waits_for_another_who_does() {
        in_its_own_process("modules::tests::who_adds_waits_for_another_who_does", |_| {
            IS_ADDING.store(true, Release);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                    IS_ADDING.store(false, Release);
                });
                assert!(add(&[]));
            });
            IS_ADDING.store(true, Release);
            assert!(!add(&[]), "not for ever");
        });
    }

    #[test]
    fn what_cannot_be_added_stays_unknown() {
        in_its_own_process("modules::tests::what_cannot_be_added_stays_unknown", |_| {
            let mut image = Image::new(&[]);
            let address = put(&mut image);
            let expect = |expected| {
                assert_eq!(look(address), expected);
                assert_eq!(is_known(address), expected == AddressLookup::Known);
            };
            image.head.e_ident[3] = b'f';
            expect(AddressLookup::Unknown);
            image.head.e_ident[3] = b'F';
            image.head.e_phentsize += 1;
            expect(AddressLookup::Unknown);
            image.head.e_phentsize -= 1;
            N_REPLACED.store(u32::MAX / 2, Relaxed);
            expect(AddressLookup::Unknown);
            N_REPLACED.store(0, Relaxed);
            ask_for_no_more_memory();
            assert!(!may_ask_for_memory());
            expect(AddressLookup::Unknown);
            MAY_ASK.store(true, Relaxed);
            expect(AddressLookup::Known);
            // Where the loader has no such function, nothing is looked for.
            FIND.store(ptr::null_mut(), Relaxed);
            expect(AddressLookup::Known);
            assert_eq!(look(address + (1 << 20)), AddressLookup::Unknown);
        });
    }

    #[test]
    fn memory_that_was_asked_for_to_see_whether_there_is_some_is_given_back() {
        let in_use = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
        };
        let before = in_use();
        // 4 MB each.
        assert!((0..1000).all(|_| has_memory()));
        assert!(in_use() < before + (1 << 30));
    }
}
