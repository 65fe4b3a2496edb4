//! What the kernel would never tell: whatever stands in its records, a profile comes of them.

use super::{FutexCollector, Namer};
use crate::collect::Run;
use crate::made_up::show;
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags};
use ondeck_futex::Tracer;
use proptest::prelude::*;
use proptest::sample::select;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

const PAGE: usize = 4096;
const RING: usize = 64 << 10;
/// Where the first page says how far the kernel has written.
const HEAD: u64 = 1024;
/// Where the library is in the process that has it.
const BASE: u64 = 0x7000_0000_0000;
/// Processes that are not there: no system has such numbers.
const NOBODY: [u32; 3] = [4_194_305, 4_194_306, u32::MAX];

/// A library with functions of the names that tell what is waited for.
struct Library {
    path: PathBuf,
    number: u64,
    /// Where the code is in memory, how long it is, and where it is in the file.
    code: (u64, u64, u64),
    functions: Vec<u64>,
    _directory: tempfile::TempDir,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let names = [
        "pthread_mutex_lock",
        "pthread_rwlock_rdlock",
        "pthread_cond_wait",
        "pthread_barrier_wait",
        "_ZN3std3sys4sync6rwlock5futex6RwLock14read_contendedEv",
        "_ZN3std6thread4parkEv",
        "work",
    ];
    let function = |(n, name): (usize, &&str)| format!("void f{n}(void) __asm__(\"{name}\"); void f{n}(void) {{}}\n");
    let directory = tempfile::tempdir().unwrap();
    let [source, path] = ["waits.c", "libwaits.so"].map(|name| directory.path().join(name));
    std::fs::write(&source, names.iter().enumerate().map(function).collect::<String>()).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&path, &source]).status();
    assert!(status.expect("cc, of build-essential").success());
    let bytes = std::fs::read(&path).unwrap();
    let object = object::File::parse(&bytes[..]).unwrap();
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
    let segment = object.segments().find(|segment| is_code(segment.flags())).unwrap();
    let code = (BASE + segment.address(), segment.size().next_multiple_of(PAGE as u64), segment.file_range().0);
    let functions: Vec<u64> = names
        .iter()
        .map(|name| BASE + object.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address())
        .collect();
    let number = std::fs::metadata(&path).unwrap().ino();
    Library { path, number, code, functions, _directory: directory }
});

/// Numbers that somebody's program may have, and those that none has.
fn number() -> impl Strategy<Value = u64> {
    let extremes = vec![1 << 31, 1 << 33, 1 << 63, u64::MAX - 1, u64::MAX, i64::MAX as u64, 0xffff_ffff_ffff_fff8];
    prop_oneof![3 => 0..5_u64, 1 => select(extremes), 1 => any::<u64>()]
}

/// Times come in any order.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1_000_000..2_000_000_000_u64, 1 => number()]
}

/// An address that a stack may have: behind a call in one of the functions, or anywhere.
fn address() -> impl Strategy<Value = u64> {
    let functions: Vec<u64> = LIBRARY.functions.iter().map(|at| at + 1).collect();
    prop_oneof![6 => select(functions), 1 => number()]
}

fn pid() -> impl Strategy<Value = u32> {
    select(&NOBODY[..])
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn pair(low: u32, high: u64) -> u64 {
    u64::from(low) | high << 32
}

prop_compose! {
    /// Calls that may sleep or wake, and returns.
    fn sample()(
        (pid, thread, at) in (pid(), 0..4_u64, time()), is_exit: bool, has_stack in prop::bool::weighted(0.8),
        futex in prop_oneof![4 => 0..4_u64, 2 => Just(0x1000), 1 => number()], op in prop_oneof![4 => 0..14_u64, 1 => number()],
        result in prop_oneof![4 => -5..5_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => Just(-110)],
        (abi, pointer) in (prop_oneof![6 => Just(2), 1 => number()], prop_oneof![4 => Just(0x10_000), 1 => number()]),
        ip in address(), stack in prop::collection::vec(address(), 0..8), used in prop_oneof![3 => Just(None), 1 => number().prop_map(Some)],
    ) -> (u32, u16, Vec<u8>) {
        let data = if is_exit { [521, 0, result as u64, 0] } else { [522, 0, futex, op] };
        let mut bytes = words(&[pair(pid, thread), at]);
        bytes.extend((8 * data.len() as u32 + 4).to_ne_bytes());
        bytes.extend(words(&data));
        bytes.extend([0; 4]);
        if has_stack || !is_exit {
            bytes.extend(words(&[abi, op, futex, pointer, pointer, ip, 8 * stack.len() as u64]));
            bytes.extend(words(&stack));
            if !stack.is_empty() {
                bytes.extend(words(&[used.unwrap_or(8 * stack.len() as u64)]));
            }
        }
        (9, 0, bytes)
    }
}

prop_compose! {
    /// Code that is mapped.
    fn mapped()(pid in pid(), at in time(), moved in number(), which in 0..8_u8) -> (u32, u16, Vec<u8>) {
        let (mut start, mut length, mut offset) = LIBRARY.code;
        let part = match which { 0 => Some(&mut start), 1 => Some(&mut length), 2 => Some(&mut offset), _ => None };
        part.into_iter().for_each(|part| *part = moved);
        let mut bytes = words(&[pair(pid, 1), start, length, offset, 0, LIBRARY.number, 0, 0]);
        bytes.extend(LIBRARY.path.to_str().unwrap().as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(words(&[pair(pid, 1), at]));
        (10, 0, bytes)
    }
}

prop_compose! {
    /// Processes that begin and end, and what was lost.
    fn other()(
        (pid, parent, thread, at) in (pid(), pid(), 0..4_u64, time()),
        n in prop_oneof![Just(1), number()],
        which in 0..5_usize,
    ) -> (u32, u16, Vec<u8>) {
        let about = [pair(pid, thread), at];
        let family = [pair(pid, parent.into()), pair(if thread == 0 { pid } else { thread as u32 }, 0), at];
        match which {
            0 => (7, 0, words(&family)),
            1 => (4, 0, words(&family)),
            2 => (3, 1 << 13, words(&[&[pair(pid, thread), 0], &about[..]].concat())),
            3 => (2, 0, words(&[&[0, n], &about[..]].concat())),
            _ => (13, 0, words(&[&[n], &about[..]].concat())),
        }
    }
}

prop_compose! {
    /// A record, maybe one that ends early, or in which something is changed.
    fn record()(
        (kind, misc, mut body) in prop_oneof![6 => sample(), 2 => mapped(), 2 => other()],
        damage in prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2)],
        (place, value) in (any::<prop::sample::Index>(), number()),
    ) -> Vec<u8> {
        let at = place.index(body.len() / 8) * 8;
        match damage {
            1 => body.truncate(at),
            2 => body[at..at + 8].copy_from_slice(&value.to_ne_bytes()),
            _ => {}
        }
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((8 + body.len() as u16).to_ne_bytes());
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// A ring, as the kernel would write it, and a collector for it.
struct Kernel {
    file: File,
    head: u64,
    ring_bytes: usize,
    collector: FutexCollector,
}

impl Kernel {
    fn new(started_ns: u64, ring_bytes: usize) -> Kernel {
        let file = tempfile::tempfile().unwrap();
        file.set_len((PAGE + ring_bytes) as u64).unwrap();
        let tracer = Tracer::of_file(file.try_clone().unwrap().into(), ring_bytes).unwrap();
        let run = Run { command: vec!["p".to_owned()], started_realtime_ns: 1, started_ns, cores: 2 };
        Kernel { file, head: 0, ring_bytes, collector: FutexCollector::new(tracer, run) }
    }

    fn tell(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            self.file.write_all_at(word, PAGE as u64 + self.head % self.ring_bytes as u64).unwrap();
            self.head += 8;
        }
        self.file.write_all_at(&self.head.to_ne_bytes(), HEAD).unwrap();
    }
}

/// A header would go over the end of the ring: of a record behind others of odd lengths, or where we have come to.
#[test]
fn what_is_no_whole_number_of_words_is_no_record() {
    const TAIL: u64 = HEAD + 8;
    for (length, tail) in [(12_u64, 0), (16, PAGE as u64 - 4)] {
        let mut kernel = Kernel::new(0, PAGE);
        let record = words(&[length << 48, 0]);
        kernel.tell(&record[..length as usize].iter().copied().cycle().take(PAGE).collect::<Vec<u8>>());
        kernel.file.write_all_at(&tail.to_ne_bytes(), TAIL).unwrap();
        kernel.file.write_all_at(&(tail + PAGE as u64).to_ne_bytes(), HEAD).unwrap();
        kernel.collector.take_last(None);
        assert!(kernel.collector.is_empty());
    }
}

proptest! {
    #[test]
    fn whatever_the_kernel_tells_a_profile_comes_of_it(
        parts in prop::collection::vec((prop::collection::vec(record(), 0..40), time()), 1..5),
        started_ns in time(),
    ) {
        let (mut kernel, mut namer) = (Kernel::new(started_ns, RING), Namer::default());
        for (records, now_ns) in parts {
            records.iter().for_each(|record| kernel.tell(record));
            kernel.collector.take();
            show(&namer.profile(&kernel.collector.snapshot(now_ns)));
        }
        kernel.collector.take_last(None);
        show(&namer.profile(&kernel.collector.told(2_000_000_000)));
    }

    /// Nothing of it is a record, and the kernel is anywhere.
    #[test]
    fn a_ring_of_anything_is_read_to_its_end(
        bytes in prop::collection::vec(any::<u8>(), 1..2000),
        head in prop_oneof![3 => 0..2 * PAGE as u64, 1 => number()],
    ) {
        let mut kernel = Kernel::new(0, PAGE);
        kernel.tell(&bytes.iter().copied().cycle().take(PAGE).collect::<Vec<u8>>());
        for head in [head, head.wrapping_add(8), head.wrapping_add(2000)] {
            kernel.file.write_all_at(&head.to_ne_bytes(), HEAD).unwrap();
            kernel.collector.take_last(None);
        }
        show(&Namer::default().profile(&kernel.collector.told(1)));
    }
}
