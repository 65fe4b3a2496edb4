//! Processes, their programs and libraries.
//!
//! The kernel tells when something is mapped, but it tells each CPU's ring, and a call on another CPU may be read first. So
//! an address that no module has makes us look into `/proc`, if the process is still there.

use crate::elf::{Elf, Module};
use crate::walk::{Cache, Walker};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    looks: Looks,
}

/// When `/proc` may be looked into again. Code that the process writes itself, as Java and node do, is in no file, so looking helps
/// nothing there, and takes longer the more of it there is.
#[derive(Clone, Copy)]
struct Looks {
    from: Instant,
    gap: Duration,
}

impl Looks {
    const FIRST: Duration = Duration::from_millis(1);
    const LONGEST: Duration = Duration::from_secs(4);

    fn new() -> Self {
        Looks { from: Instant::now(), gap: Self::FIRST }
    }

    /// After a look: each in vain doubles the time until the next.
    fn done(&mut self, now: Instant, has_helped: bool) {
        self.gap = if has_helped { Self::FIRST } else { (self.gap * 2).min(Self::LONGEST) };
        self.from = now + self.gap;
    }
}

/// All processes that were seen.
#[derive(Default)]
pub(crate) struct Images {
    pub(crate) list: Vec<Image>,
    /// The images of a process, the last one last.
    of_process: HashMap<u32, Vec<usize>>,
    files: BTreeMap<PathBuf, Option<Arc<Elf>>>,
    stacks: Stacks,
    cache: Option<Cache>,
}

/// Each stack of an image once, as long as there is room. A program may have stacks without end.
#[derive(Default)]
struct Stacks {
    list: Vec<Vec<u64>>,
    numbers: HashMap<(usize, Vec<u64>), u32>,
    n_addresses: usize,
    /// How often one was given that is cut.
    n_cut: u64,
}

impl Stacks {
    /// So many addresses are kept of whole stacks, twice: 16 MB, and some more for what is added up for each. That is 30,000
    /// stacks of usual depth.
    const MOST: usize = 1 << 20;
    /// Then so many of each new one, which still tell who waits.
    const INNERMOST: usize = 8;
    /// So many addresses in all. Then a new stack is empty.
    const MOST_OF_ALL: usize = 2 * Self::MOST;

    fn number(&mut self, image: usize, mut addresses: Vec<u64>) -> u32 {
        let key = (image, addresses);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        addresses = key.1;
        if self.n_addresses >= Self::MOST {
            self.n_cut += 1;
            addresses.truncate(if self.n_addresses < Self::MOST_OF_ALL { Self::INNERMOST } else { 0 });
        }
        let Stacks { list, numbers, n_addresses, .. } = self;
        *numbers.entry((image, addresses)).or_insert_with_key(|(_, addresses)| {
            // An empty one takes room, too.
            *n_addresses += addresses.len() + 1;
            list.push(addresses.clone());
            list.len() as u32 - 1
        })
    }
}

impl Images {
    /// The image that a process had at a time; a new one if it has none yet.
    pub(crate) fn at(&mut self, pid: u32, at: u64) -> usize {
        let known = self.of_process.get(&pid).map_or(&[][..], Vec::as_slice);
        let last = known.iter().rev().find(|index| self.list[**index].from_ns <= at).or(known.first());
        last.copied().unwrap_or_else(|| {
            let index = self.begin(pid, parent_of(pid), at, Walker::new(), Vec::new());
            self.look(index);
            index
        })
    }

    fn begin(&mut self, pid: u32, parent: u32, from_ns: u64, walker: Walker, modules: Vec<Module>) -> usize {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
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
            looks: Looks::new(),
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
        let has_ended = |image: &&mut Image| image.to_ns.is_some_and(|to_ns| to_ns + LONG_NS < at);
        for image in self.list.iter_mut().filter(has_ended).filter(|image| !image.has_stacks) {
            (image.modules, image.walker, image.unknown) = (Vec::new(), Walker::new(), HashSet::new());
        }
    }

    /// A process has become another program.
    pub(crate) fn exec(&mut self, pid: u32, at: u64) {
        let last = self.of_process.get(&pid).and_then(|known| known.last().copied());
        let parent = last.map_or_else(|| parent_of(pid), |last| self.list[last].parent);
        if let Some(last) = last {
            self.list[last].to_ns = Some(at);
        }
        self.begin(pid, parent, at, Walker::new(), Vec::new());
    }

    /// A process has started another one, which has all that it has.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32, at: u64) {
        let last = self.at(parent, at);
        let Image { walker, modules, program, .. } = &self.list[last];
        let (walker, modules, program) = (walker.clone(), modules.clone(), program.clone());
        let index = self.begin(pid, parent, at, walker, modules);
        self.list[index].program = program;
        self.sweep(at);
    }

    /// A process has ended.
    pub(crate) fn ended(&mut self, pid: u32, at: u64) {
        if let Some(last) = self.of_process.get(&pid).and_then(|known| known.last()) {
            self.list[*last].to_ns = Some(at);
        }
    }

    /// Something is mapped there.
    pub(crate) fn mapped(&mut self, pid: u32, at: u64, start: u64, offset: u64, path: &Path) {
        let index = self.at(pid, at);
        self.add(index, start, offset, path);
    }

    fn add(&mut self, index: usize, start: u64, offset: u64, path: &Path) {
        if !path.is_absolute() {
            return;
        }
        let image = &mut self.list[index];
        // In a container, the process's own files are elsewhere, and here others may have their names.
        let inside = PathBuf::from(format!("/proc/{}/root{}", image.pid, path.display()));
        let place = if sees_our_files(image.pid) && path.exists() { path.to_owned() } else { inside };
        let elf = self.files.entry(place.clone()).or_insert_with(|| Elf::read(&place).map(Arc::new));
        let Some(elf) = elf.as_ref() else { return };
        let Some(module) = elf.module(&place, start, offset) else { return };
        if image.modules.contains(&module) {
            return;
        }
        if image.program.as_os_str().is_empty() {
            image.program = path.to_owned();
        }
        image.walker.add(elf.tables(&module));
        image.modules.push(module);
        image.unknown.clear();
    }

    /// Reads what is mapped now.
    fn look(&mut self, index: usize) {
        let pid = self.list[index].pid;
        let Ok(maps) = std::fs::read_to_string(format!("/proc/{pid}/maps")) else { return };
        for (start, offset, path) in maps.lines().filter_map(executable) {
            self.add(index, start, offset, path);
        }
    }

    /// The number of a stack, from what a call has left; addresses that no module has are looked for once.
    pub(crate) fn stack(&mut self, index: usize, registers: &[u64], copy: &[u8]) -> u32 {
        let cache = self.cache.get_or_insert_with(Cache::new);
        let mut addresses = self.list[index].walker.walk(cache, registers, copy);
        let now = Instant::now();
        if self.list[index].looks.from <= now && self.is_strange(index, &addresses) {
            let n_before = self.list[index].modules.len();
            self.look(index);
            let image = &mut self.list[index];
            image.looks.done(now, image.modules.len() > n_before);
            let cache = self.cache.get_or_insert_with(Cache::new);
            addresses = self.list[index].walker.walk(cache, registers, copy);
        }
        self.list[index].has_stacks = true;
        self.stacks.number(index, addresses)
    }

    /// How often a stack was cut, as there was no room for one more.
    pub(crate) fn n_cut(&self) -> u64 {
        self.stacks.n_cut
    }

    fn is_strange(&mut self, index: usize, addresses: &[u64]) -> bool {
        const PAGE: u64 = 4096;
        let image = &mut self.list[index];
        let is_known = |address: u64| image.modules.iter().any(|module| (module.start..module.end).contains(&address));
        let unknown: Vec<u64> =
            addresses.iter().filter(|address| !is_known(**address)).map(|address| address / PAGE).collect();
        let n_before = image.unknown.len();
        image.unknown.extend(unknown);
        image.unknown.len() > n_before
    }

    /// The addresses of a stack, the innermost first.
    pub(crate) fn addresses(&self, stack: u32) -> &[u64] {
        self.stacks.list.get(stack as usize).map_or(&[], Vec::as_slice)
    }
}

/// Whether a process has the same files as this one by the same paths. One that is gone is taken to have had them.
fn sees_our_files(pid: u32) -> bool {
    ["ns/mnt", "root"].iter().all(|what| {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/{what}")).ok();
        of(&pid.to_string()).is_none_or(|theirs| of("self").is_none_or(|ours| ours == theirs))
    })
}

/// Where an executable mapping begins, where that is in its file, and the file.
fn executable(line: &str) -> Option<(u64, u64, &Path)> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let path = words.nth(2)?.trim_start();
    let is_file = rights.contains('x') && path.starts_with('/');
    let start = u64::from_str_radix(range.split('-').next()?, 16).ok()?;
    is_file.then_some((start, u64::from_str_radix(offset, 16).ok()?, Path::new(path)))
}

fn parent_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it may hold anything, a parenthesis too.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read() {
        let line =
            "7f0000001000-7f0000002000 r-xp 00026000 08:01 1234                       /usr/lib/with space/libc.so.6";
        let expected = (0x7f00_0000_1000, 0x26000, Path::new("/usr/lib/with space/libc.so.6"));
        assert_eq!(executable(line), Some(expected));
        for line in ["", "x", "7f0000001000-7f0000002000 r-xp 0 0:0 0 [vdso]", "1000-2000 rw-p 0 0:0 1 /a"] {
            assert_eq!(executable(line), None, "{line}");
        }
    }

    #[test]
    fn looks_in_vain_become_rare_and_one_that_helps_makes_them_frequent_again() {
        let (now, mut looks) = (Instant::now(), Looks::new());
        let mut gap = |has_helped| {
            looks.done(now, has_helped);
            looks.from - now
        };
        assert_eq!([gap(false), gap(false), gap(true)], [2, 4, 1].map(Duration::from_millis));
        assert_eq!((0..20).map(|_| gap(false)).max(), Some(Looks::LONGEST));
    }

    #[test]
    fn stacks_without_end_are_cut_and_then_empty() {
        let mut stacks = Stacks::default();
        let whole = |first: u64| (first..first + 64).collect::<Vec<u64>>();
        let first = stacks.number(0, whole(0));
        stacks.n_addresses = Stacks::MOST;
        assert_eq!((stacks.number(0, whole(0)), stacks.n_cut), (first, 0), "a known one is whole");
        let cut = stacks.number(0, whole(1000));
        assert_eq!(stacks.list[cut as usize], whole(1000)[..Stacks::INNERMOST]);
        let mut other_end = whole(1000);
        other_end[20] = 7;
        assert_eq!((stacks.number(0, other_end), stacks.n_cut), (cut, 2));
        assert_ne!(stacks.number(1, whole(1000)), cut, "another program's");
        stacks.n_addresses = Stacks::MOST_OF_ALL;
        let empty = stacks.number(0, whole(2000));
        assert!(stacks.list[empty as usize].is_empty());
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
        images.ended(4_000_000, 400);
        assert_eq!(images.list[child].to_ns, Some(400));
    }

    #[test]
    fn who_has_ended_without_a_stack_gives_back_what_its_stacks_would_need() {
        let (pid, mut images) = (std::process::id(), Images::default());
        images.at(pid, 100);
        let [quiet, told, running] = [1, 2, 3].map(|n| {
            images.forked(4_000_000 + n, pid, 110);
            images.at(4_000_000 + n, 111)
        });
        images.list[told].has_stacks = true;
        images.ended(4_000_001, 120);
        images.ended(4_000_002, 120);
        let n_modules = images.list[running].modules.len();
        for more in 10..600 {
            images.forked(4_000_000 + more, pid, 10_000_000_000);
        }
        assert!(n_modules > 1);
        assert_eq!([quiet, told, running].map(|index| images.list[index].modules.len()), [0, n_modules, n_modules]);
    }
}
