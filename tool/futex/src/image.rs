//! Processes, their programs and libraries.
//!
//! The kernel tells when something is mapped, but it tells each CPU's ring, and a call on another CPU may be read first. So
//! an address that no module has makes us look into `/proc`, if the process is still there.
//!
//! # Files
//! A file is opened once, when the first process is seen to have mapped it, and stays open: a program may have been rebuilt
//! when its names are read, or its container may be gone. So there are as many open files as different programs and
//! libraries. This user's limit, which is raised for the events, has room for that. These are tried in turn:
//!
//! | path | why it is the file that was mapped |
//! |---|---|
//! | `/proc/PID/map_files/FROM-TO` | the kernel's own link to it, also if it was replaced or deleted, and in a container; root's only. What it leads to has the number that the kernel has told: something else may be there by now |
//! | `/proc/PID/exe` | the same for the program, for who may trace it |
//! | its path, below `/proc/PID/root` and then as ours | `/proc/PID/maps` does not say `(deleted)` just now, or the file has the number that the kernel has told |
//!
//! The code that the kernel gives each process, in which threads are that read a clock, is the same as ours, and is copied from there.
//!
//! Of a process whose first thread has ended, the kernel shows these under the number of another thread only.

use crate::elf;
use crate::in_time;
use crate::loader;
use crate::maps::{self, Mapping, VDSO, executable, without_mark};
use crate::open_files::{self, FileKey};
use crate::process::{now_ns, parent, window};
use crate::walk::module::{Elf, Module};
use crate::walk::{Cache, KnownWalks, Reads, Walker, Words};
use indexmap::IndexSet;
use ondeck_record::read::outside::open_within;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One program in one process.
pub struct Image {
    /// The process's number.
    pub pid: u32,
    /// That of its parent.
    pub parent: u32,
    /// Its program.
    pub program: PathBuf,
    /// When it was first known, by the monotonic clock.
    pub from_ns: u64,
    /// When it ended, or became another program.
    pub to_ns: Option<u64>,
    /// What is loaded.
    pub modules: Vec<Module>,
    walker: Walker,
    /// Pages that have been looked for in vain.
    unknown: HashSet<u64>,
    /// Whether a stack of it is kept.
    has_stacks: bool,
    looks: LookupTimes,
    /// Whether a module took the place of another one, and when one did last.
    has_replaced: bool,
    replaced_ns: u64,
}

/// When `/proc` may be looked into again. Code that the process writes itself, as Java and node do, is in no file, so looking helps
/// nothing there, and takes longer the more of it there is.
#[derive(Clone, Copy)]
struct LookupTimes {
    from: Instant,
    gap: Duration,
}

impl LookupTimes {
    const FIRST: Duration = Duration::from_millis(1);
    const LONGEST: Duration = Duration::from_secs(4);

    fn new() -> Self {
        LookupTimes { from: Instant::now(), gap: Self::FIRST }
    }

    /// After a look: each in vain doubles the time until the next.
    fn done(&mut self, now: Instant, has_helped: bool) {
        self.gap = if has_helped { Self::FIRST } else { (self.gap * 2).min(Self::LONGEST) };
        self.from = now + self.gap;
    }
}

impl Image {
    /// Whether it has a file with that address.
    fn has(&self, address: u64) -> bool {
        self.module(address).is_some()
    }

    /// The file with that address that was loaded last.
    pub(crate) fn module(&self, address: u64) -> Option<&Module> {
        let has = |module: &&Module| module.file.is_ok() && (module.start..module.end).contains(&address);
        self.modules.iter().rev().find(has)
    }
}

/// So many files of code are kept of one process: each new one is compared with them. A browser has some hundreds.
pub const MOST_MODULES: usize = 1 << 13;
impl Image {
    /// An address as it was at a time, of [`in_time`].
    pub(crate) fn in_time(&self, address: u64, at: u64) -> u64 {
        if !self.has_replaced {
            return address;
        }
        let mut there = self.modules.iter().rev().filter(|module| (module.start..module.end).contains(&address));
        let first = there.clone().next_back();
        let then = there.find(|module| module.from_ns <= at).or(first);
        in_time::address(address, then.map_or(0, |module| module.number))
    }

    /// Adds a module; false if it is there already. One that takes the place of others has a number of its own, but for one
    /// that comes back: which it does only if it is mapped, at that time.
    fn put(&mut self, mut module: Module, mapped: Option<u64>) -> bool {
        let over = || self.modules.iter().filter(|other| other.is_over(&module));
        let Some(last) = over().next_back() else {
            self.modules.push(module);
            return true;
        };
        let same = over().find(|other| other.is(&module)).map(|same| same.number);
        if last.is(&module) || same.is_some() && mapped.is_none() {
            return false;
        }
        let at = mapped.unwrap_or_else(now_ns);
        module.number = same.unwrap_or_else(|| self.modules.iter().map(|other| other.number).max().unwrap_or(0) + 1);
        module.from_ns = at;
        (self.has_replaced, self.replaced_ns) = (true, self.replaced_ns.max(at));
        self.modules.push(module);
        true
    }
}

/// All processes that were seen.
#[derive(Default)]
pub(crate) struct Images {
    pub(crate) list: Vec<Image>,
    /// The images of a process, the last one last.
    of_process: FxHashMap<u32, Vec<usize>>,
    /// `None` for what is no program and no library.
    files: BTreeMap<FileKey, Option<Arc<Elf>>>,
    stacks: Stacks,
    cache: Option<Cache>,
    known_walks: KnownWalks,
    /// Whether there is mapped code of which nothing is kept.
    has_left_out: bool,
    /// Modules that were added.
    pub(crate) n_added: usize,
    /// Walks that were made, as they were not known.
    pub(crate) n_walks: u64,
}

/// How the names of memory begin that has no file. Programs put code there that they make as they run.
const NO_FILES: [&[u8]; 4] = [b"/memfd:", b"/SYSV", b"/dev/zero", b"//anon"];

/// Each stack of an image once, as long as there is room. A program may have stacks without end.
#[derive(Default)]
struct Stacks {
    list: IndexSet<(usize, Vec<u64>)>,
    n_addresses: usize,
    /// How often one was given that is cut.
    n_cut: u64,
}

impl Stacks {
    /// So many addresses are kept of whole stacks: 8 MB, and some more for what is added up for each. That is 30,000 stacks of
    /// usual depth.
    const MOST: usize = 1 << 20;
    /// Then so many of each new one, which still tell who waits.
    const INNERMOST: usize = 8;
    /// So many addresses in all. Then a new stack is empty.
    const MOST_OF_ALL: usize = 2 * Self::MOST;

    fn number(&mut self, image: usize, addresses: Vec<u64>) -> u32 {
        let mut stack = (image, addresses);
        if let Some(known) = self.list.get_index_of(&stack) {
            return known as u32;
        }
        if self.n_addresses >= Self::MOST {
            self.n_cut += 1;
            stack.1.truncate(if self.n_addresses < Self::MOST_OF_ALL { Self::INNERMOST } else { 0 });
        }
        // An empty one takes room, too.
        let room = stack.1.len() + 1;
        let (number, is_new) = self.list.insert_full(stack);
        self.n_addresses += if is_new { room } else { 0 };
        number as u32
    }

    fn addresses(&self, number: u32) -> &[u64] {
        self.list.get_index(number as usize).map_or(&[], |(_, addresses)| addresses)
    }
}

impl Images {
    /// The image that a process had at a time; a new one if it has none yet.
    pub(crate) fn at(&mut self, pid: u32, at: u64) -> usize {
        let known = self.of_process.get(&pid).map_or(&[][..], Vec::as_slice);
        let last = known.iter().rev().find(|index| self.list[**index].from_ns <= at).or(known.first());
        last.copied().unwrap_or_else(|| {
            let index = self.begin(pid, parent(pid).unwrap_or(0), at, Walker::new(), Vec::new());
            self.look(index);
            index
        })
    }

    fn begin(&mut self, pid: u32, parent: u32, from_ns: u64, walker: Walker, modules: Vec<Module>) -> usize {
        let program = std::fs::read_link(format!("/proc/{}/exe", window(pid))).unwrap_or_default();
        let program = without_mark(&program).to_owned();
        let loaded = || loader::program_of_process(window(pid));
        let program = if loader::is_loader(&program) { loaded().unwrap_or(program) } else { program };
        let image = Image {
            pid,
            parent,
            program,
            from_ns,
            to_ns: None,
            modules,
            walker,
            unknown: HashSet::new(),
            has_stacks: false,
            looks: LookupTimes::new(),
            has_replaced: false,
            replaced_ns: 0,
        };
        self.list.push(image);
        self.of_process.entry(pid).or_default().push(self.list.len() - 1);
        self.list.len() - 1
    }

    /// Thousands of processes may come and go: gives back what the next stack of one would need that has ended without any.
    /// Its first thread may have ended before others. If one of these waits after all, its modules are looked for again.
    fn sweep(&mut self, at: u64) {
        const EACH: usize = 256;
        const LONG_NS: u64 = 2_000_000_000;
        if !self.list.len().is_multiple_of(EACH) {
            return;
        }
        let has_ended = |image: &&mut Image| image.to_ns.is_some_and(|to_ns| to_ns.saturating_add(LONG_NS) < at);
        for image in self.list.iter_mut().filter(has_ended).filter(|image| !image.has_stacks) {
            (image.modules, image.walker, image.unknown) = (Vec::new(), Walker::new(), HashSet::new());
        }
    }

    /// A process has become another program.
    pub(crate) fn exec(&mut self, pid: u32, at: u64) {
        let last = self.of_process.get(&pid).and_then(|known| known.last().copied());
        let parent = last.map_or_else(|| parent(pid).unwrap_or(0), |last| self.list[last].parent);
        if let Some(last) = last {
            self.list[last].to_ns = Some(at);
        }
        self.begin(pid, parent, at, Walker::new(), Vec::new());
    }

    /// A process has started another one, which has all that it has.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32, at: u64) {
        let last = self.at(parent, at);
        let Image { walker, modules, program, has_replaced, replaced_ns, .. } = &self.list[last];
        let (walker, modules, program) = (walker.clone(), modules.clone(), program.clone());
        let (has_replaced, replaced_ns) = (*has_replaced, *replaced_ns);
        let index = self.begin(pid, parent, at, walker, modules);
        let image = &mut self.list[index];
        (image.program, image.has_replaced, image.replaced_ns) = (program, has_replaced, replaced_ns);
        self.sweep(at);
    }

    /// A thread has ended. With its first one a process ends, or with the last of those that run on.
    pub(crate) fn ended(&mut self, pid: u32, thread: u32, at: u64) {
        let Some(last) = self.of_process.get(&pid).and_then(|known| known.last()) else { return };
        let to_ns = &mut self.list[*last].to_ns;
        if pid == thread || to_ns.is_some() {
            *to_ns = (*to_ns).max(Some(at));
        }
    }

    /// Something is mapped there.
    pub(crate) fn mapped(&mut self, pid: u32, at: u64, mapping: &Mapping, path: &Path) {
        let index = self.at(pid, at);
        self.add(index, mapping, path, Some(at));
    }

    fn add(&mut self, index: usize, mapping: &Mapping, path: &Path, mapped: Option<u64>) {
        let is_kernels = path == Path::new(VDSO);
        if !path.is_absolute() && !is_kernels {
            return;
        }
        if self.list[index].modules.len() >= MOST_MODULES {
            self.has_left_out = true;
            return;
        }
        let Mapping { start, end, offset, .. } = *mapping;
        let file = self.file(self.list[index].pid, mapping, path);
        let image = &mut self.list[index];
        let module = match file {
            Ok(Some(elf)) => elf.module(start, offset).map(|module| (elf, module)),
            Ok(None) => None,
            Err(fault) => {
                let (path, bias, build_id) = (without_mark(path).to_owned(), start.wrapping_sub(offset), Vec::new());
                let file = Err(fault);
                image.put(Module { path, bias, start, end, build_id, file, number: 0, from_ns: 0 }, mapped);
                None
            }
        };
        let Some((elf, module)) = module else { return };
        let n_before = image.modules.len();
        if !image.put(module.clone(), mapped) {
            return;
        }
        for gone in image.modules[..n_before].iter().filter(|other| other.is_over(&module)) {
            image.walker.remove(gone.start);
        }
        if image.program.as_os_str().is_empty() && !is_kernels {
            image.program = without_mark(path).to_owned();
        }
        image.walker.add(&module, &elf);
        self.known_walks.clear();
        self.n_added += 1;
        image.unknown.clear();
    }

    /// The file that a process has mapped; `None` if it is no program and no library. What cannot be opened now may be later,
    /// or by another process.
    fn file(&mut self, pid: u32, mapping: &Mapping, path: &Path) -> Result<Option<Arc<Elf>>, String> {
        let key = (mapping.device, mapping.number, without_mark(path).to_owned());
        if let Some(known) = self.files.get(&key) {
            return Ok(known.clone());
        }
        if path == Path::new(VDSO) {
            return Ok(open_files::vdso());
        }
        let elf = match open(window(pid), mapping, path) {
            Ok((lasting, file)) => open_files::read(without_mark(path), lasting, file),
            Err(_) if NO_FILES.iter().any(|kind| path.as_os_str().as_bytes().starts_with(kind)) => None,
            // Another process's look may have opened it, as long as that could be done.
            Err(fault) => Some(open_files::known(mapping, without_mark(path)).ok_or(fault)?),
        };
        self.files.insert(key, elf.clone());
        Ok(elf)
    }

    /// Reads what is mapped now.
    pub(crate) fn look(&mut self, index: usize) {
        let window = window(self.list[index].pid);
        let Ok(lines) = maps::lines(window) else { return };
        for line in lines {
            if let Some((mapping, path)) = executable(&line) {
                self.add(index, &mapping, path, None);
            }
        }
    }

    /// The number of a stack, from what a call has left at a time; addresses that no module has are looked for once.
    pub(crate) fn stack(&mut self, index: usize, at: u64, registers: &[u64], stack: &mut impl Words) -> u32 {
        // What was called before is told later, too.
        let is_as_now = at >= self.list[index].replaced_ns;
        if let Some(number) = self.known_walks.find(index, registers, stack).filter(|_| is_as_now) {
            return number;
        }
        self.n_walks += 1;
        let (mut addresses, mut reads) = self.walk(index, registers, stack);
        let now = Instant::now();
        let may_look = self.list[index].looks.from <= now;
        if may_look && self.is_strange(index, &addresses) {
            let n_before = self.list[index].modules.len();
            self.look(index);
            let image = &mut self.list[index];
            image.looks.done(now, image.modules.len() > n_before);
            (addresses, reads) = self.walk(index, registers, stack);
        }
        self.list[index].has_stacks = true;
        let image = &self.list[index];
        let are_known = addresses.iter().all(|address| image.has(*address) || image.unknown.contains(&page(*address)));
        let addresses = addresses.into_iter().map(|address| image.in_time(address, at)).collect();
        let is_as_now = at >= image.replaced_ns;
        let number = self.stacks.number(index, addresses);
        // One that a look may mend later is walked again then.
        if is_as_now && (may_look || are_known) {
            self.known_walks.add(index, registers, reads, number);
        }
        number
    }

    fn walk(&mut self, index: usize, registers: &[u64], stack: &mut impl Words) -> (Vec<u64>, Reads) {
        let (cache, mut reads) = (self.cache.get_or_insert_with(Cache::new), Reads::new());
        (self.list[index].walker.walk(cache, registers, stack, &mut reads), reads)
    }

    /// The number of a stack of these addresses behind instructions, from what is loaded now.
    pub(crate) fn numbered(&mut self, index: usize, mut addresses: Vec<u64>) -> u32 {
        let image = &mut self.list[index];
        image.has_stacks = true;
        addresses.iter_mut().for_each(|address| *address = image.in_time(*address, u64::MAX));
        self.stacks.number(index, addresses)
    }

    /// Where the function begins that has the instruction before that address, if the tables have it.
    pub(crate) fn function(&self, index: usize, address: u64) -> Option<u64> {
        self.list[index].walker.function(address.wrapping_sub(1)).map(|function| function.code.start)
    }

    /// How often a stack was cut, as there was no room for one more.
    pub(crate) fn n_cut(&self) -> u64 {
        self.stacks.n_cut
    }

    /// Whether mapped code was left out, as its process has too much of it.
    pub(crate) fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    fn is_strange(&mut self, index: usize, addresses: &[u64]) -> bool {
        let image = &mut self.list[index];
        let unknown: Vec<u64> =
            addresses.iter().filter(|address| !image.has(**address)).map(|address| page(*address)).collect();
        let n_before = image.unknown.len();
        image.unknown.extend(unknown);
        image.unknown.len() > n_before
    }

    /// The addresses of a stack, the innermost first, of [`in_time`].
    pub(crate) fn addresses(&self, stack: u32) -> &[u64] {
        self.stacks.addresses(stack)
    }
}

/// The number of the page of an address.
fn page(address: u64) -> u64 {
    address / 4096
}

/// Whether a link of the kernel's has led to the file that was mapped: another one may be at its addresses by now. Where files
/// are mapped under other numbers than they are opened under (overlayfs, btrfs), their device is another one too, and names tell.
fn is_of(file: &File, mapping: &Mapping, path: &Path) -> bool {
    let Ok(opened) = file.metadata() else { return false };
    let (major, minor) = (libc::major(opened.dev()), libc::minor(opened.dev()));
    if u64::from(major) << 32 | u64::from(minor) == mapping.device {
        return opened.ino() == mapping.number;
    }
    let opened = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    without_mark(&opened).file_name() == without_mark(path).file_name()
}

/// A file that was mapped, and a path that leads to it, or has. See the module's header.
fn open(window: u32, mapping: &Mapping, path: &Path) -> Result<(PathBuf, File), String> {
    // In a container, the process's own files are elsewhere, and here others may have their names.
    let inside = PathBuf::from(format!("/proc/{window}/root{}", path.display()));
    let lasting = if open_files::sees_ours(window) { path } else { &inside };
    let exe = PathBuf::from(format!("/proc/{window}/exe"));
    let is_exe = std::fs::read_link(&exe).is_ok_and(|program| program == path);
    let link = PathBuf::from(format!("/proc/{window}/map_files/{:x}-{:x}", mapping.start, mapping.end));
    for link in [Some(&link), Some(&exe).filter(|_| is_exe)].into_iter().flatten() {
        match elf::open(link) {
            Ok(file) if is_of(&file, mapping, path) => return Ok((without_mark(lasting).to_owned(), file)),
            _ => {}
        }
    }
    let mut fault = None;
    let below_root = || open_within(&File::open(format!("/proc/{window}/root"))?, path);
    let ours = || elf::open(path);
    let opens: [(&dyn Fn() -> std::io::Result<File>, bool); 2] = [(&below_root, mapping.is_current), (&ours, false)];
    for (open, is_current) in opens {
        match open() {
            Ok(file) if is_current || file.metadata().is_ok_and(|now| now.ino() == mapping.number) => {
                return Ok((lasting.to_owned(), file));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => fault = Some(error),
            _ => {}
        }
    }
    Err(match fault {
        Some(error) => elf::unreadable(error),
        None => "was gone or replaced before ondeck could read it. To get names, run ondeck as root, or start the \
            program again"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_in_vain_become_rare_and_one_that_helps_makes_them_frequent_again() {
        let (now, mut looks) = (Instant::now(), LookupTimes::new());
        let mut gap = |has_helped| {
            looks.done(now, has_helped);
            looks.from - now
        };
        assert_eq!([gap(false), gap(false), gap(true)], [2, 4, 1].map(Duration::from_millis));
        assert_eq!((0..20).map(|_| gap(false)).max(), Some(LookupTimes::LONGEST));
    }

    #[test]
    fn stacks_without_end_are_cut_and_then_empty() {
        let mut stacks = Stacks::default();
        let whole = |first: u64| (first..first + 64).collect::<Vec<u64>>();
        let first = stacks.number(0, whole(0));
        stacks.n_addresses = Stacks::MOST;
        assert_eq!((stacks.number(0, whole(0)), stacks.n_cut), (first, 0), "a known one is whole");
        let cut = stacks.number(0, whole(1000));
        assert_eq!(stacks.addresses(cut), &whole(1000)[..Stacks::INNERMOST]);
        let mut other_end = whole(1000);
        other_end[20] = 7;
        assert_eq!((stacks.number(0, other_end), stacks.n_cut), (cut, 2));
        assert_ne!(stacks.number(1, whole(1000)), cut, "another program's");
        stacks.n_addresses = Stacks::MOST_OF_ALL;
        let empty = stacks.number(0, whole(2000));
        assert!(stacks.addresses(empty).is_empty());
        assert_eq!((stacks.number(0, whole(3000)), stacks.n_cut), (empty, 5));
        // Each new one takes some of the room, so there are not more of them than that.
        assert!(stacks.n_addresses > Stacks::MOST_OF_ALL);
    }

    #[test]
    fn a_process_has_the_image_of_its_time() {
        let pid = std::process::id();
        let mut images = Images::default();
        let first = images.at(pid, 100);
        assert!(images.list[first].modules.len() > 1, "this program and a library");
        images.exec(pid, 200);
        images.forked(4_000_000, pid, 300);
        let second = images.at(pid, 250);
        assert_eq!([images.at(pid, 50), images.at(pid, 199)], [first; 2]);
        assert_ne!(second, first);
        assert_eq!((images.list[first].to_ns, images.list[second].to_ns), (Some(200), None));
        let child = images.at(4_000_000, 301);
        assert_eq!(images.list[child].parent, pid);
        images.ended(4_000_000, 4_000_001, 390);
        assert_eq!(images.list[child].to_ns, None);
        images.ended(4_000_000, 4_000_000, 400);
        assert_eq!(images.list[child].to_ns, Some(400));
        images.ended(4_000_000, 4_000_002, 500);
        assert_eq!(images.list[child].to_ns, Some(500), "its first thread was not the last");
    }

    #[test]
    fn who_has_ended_without_a_stack_gives_back_what_its_stacks_would_need() {
        let (pid, mut images) = (std::process::id(), Images::default());
        images.at(pid, 100);
        let [quiet, told, running, at_no_time] = [1, 2, 3, 4].map(|n| {
            images.forked(4_000_000 + n, pid, 110);
            images.at(4_000_000 + n, 111)
        });
        images.list[told].has_stacks = true;
        images.ended(4_000_001, 4_000_001, 120);
        images.ended(4_000_002, 4_000_002, 120);
        images.ended(4_000_004, 4_000_004, u64::MAX);
        let n_modules = images.list[running].modules.len();
        for more in 10..600 {
            images.forked(4_000_000 + more, pid, 10_000_000_000);
        }
        assert!(n_modules > 1);
        let left = [quiet, told, running, at_no_time].map(|index| images.list[index].modules.len());
        assert_eq!(left, [0, n_modules, n_modules, n_modules]);
    }

    /// As Java's: nothing is said of a file.
    #[test]
    fn code_that_a_program_makes_as_it_runs_is_in_no_file() {
        let mapping = Mapping { start: 16, end: 32, offset: 0, device: 0, number: 0, is_current: false };
        let file = |path| Images::default().file(std::process::id(), &mapping, Path::new(path));
        assert!(matches!(file("//anon"), Ok(None)) && matches!(file("/memfd:jit (deleted)"), Ok(None)));
        assert!(file("/a/file").is_err());
    }

    /// As one library takes the place of another before what the kernel has told of that one is read.
    #[test]
    fn a_file_is_the_one_that_was_mapped_whatever_is_at_its_addresses_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["one", "other"] {
            std::fs::write(path(name), name).unwrap();
        }
        let other = elf::map(&File::open(path("other")).unwrap()).unwrap();
        let start = other.as_ptr() as u64;
        let lines = maps::lines(std::process::id()).unwrap();
        // As if its code were mapped.
        let line = lines.map(|line| line.replace("r--", "r-x")).find(|line| line.ends_with("/other")).unwrap();
        let mapping = executable(&line).unwrap().0;
        assert_eq!(mapping.start, start);
        let number = std::fs::metadata(path("one")).unwrap().ino();
        let read = |number, name| {
            let mapping = Mapping { number, is_current: false, ..mapping };
            let (_, file) = open(std::process::id(), &mapping, &path(name))?;
            std::io::read_to_string(file).map_err(|error| error.to_string())
        };
        assert_eq!(read(number, "one").as_deref(), Ok("one"));
        assert_eq!(read(mapping.number, "other").as_deref(), Ok("other"));
        std::fs::remove_file(path("one")).unwrap();
        assert!(read(number, "one").is_err());
    }
}
