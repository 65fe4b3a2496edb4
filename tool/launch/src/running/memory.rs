//! The memory of a process that runs: where the recorders in it are, by their ELF notes as they are loaded, and what is there.
//! Files are not asked: another one may have taken the place of what is loaded.

use super::NotRecorded;
use object::Endianness;
use object::elf::{FileHeader64, PT_LOAD, PT_NOTE, ProgramHeader64};
use object::read::elf::{FileHeader as _, NoteIterator, ProgramHeader as _};
use ondeck_futex::maps;
use ondeck_futex::process::window;
use ondeck_record::control::Control;
use ondeck_record::layout::MAGIC;
use ondeck_record::read::outside::{Budget, Share};
use std::fs::File;
use std::io::ErrorKind;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

type Header = FileHeader64<Endianness>;

/// It is read and written by file operations, at addresses.
#[derive(Debug)]
pub(super) struct Memory {
    file: File,
    found: Found,
    pid: u32,
}

/// The recorders that a process says it has.
#[derive(Debug, Default)]
struct Found {
    /// Where the [`Control`]s of those are whose recordings can be read.
    recorders: Vec<u64>,
    /// How recordings begin that cannot be read, if there is a recorder that makes such.
    other_version: Option<u64>,
    /// Whether there was more to read than is read.
    is_cut: bool,
}

/// The search for them. A process may say so often that a recorder is somewhere that to look there takes for ever.
struct Search<'m> {
    memory: &'m File,
    read: Share,
    found: Found,
}

/// A number as it lies in memory.
pub(super) trait Word: Sized {
    fn of(bytes: [u8; 8]) -> Self;
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Word for $type {
            fn of(bytes: [u8; 8]) -> Self {
                u64::from_ne_bytes(bytes) as $type
            }
        }
    )*};
}
words!(u8 u32 u64);

impl Memory {
    pub(super) fn of(pid: u32) -> Result<Self, NotRecorded> {
        let shown = window(pid);
        let file = File::options().read(true).write(true).open(format!("/proc/{shown}/mem"));
        let file = file.map_err(NotRecorded::NotAllowed)?;
        let lines = maps::lines(pid).map_err(NotRecorded::NotAllowed)?;
        let starts = lines.filter_map(|line| beginning(&line));
        let found = Search::of(&file, MOST_READ)?.through(starts);
        Ok(Memory { file, found, pid })
    }

    /// Whether there is no such memory any more: the process has ended, or has become another program.
    pub(super) fn is_gone(&self) -> bool {
        // An error says that nothing is mapped at that address.
        self.file.read_at(&mut [0], 0).is_ok_and(|n| n == 0)
    }

    /// Whether the process has other memory than that now, as another program.
    pub(super) fn is_replaced(&self) -> bool {
        let maps = || maps::lines(self.pid).map(|mut lines| lines.next().is_none());
        // Of a process that ends, there are none. The other program may have rights that let nobody see its own.
        self.is_gone() && maps().map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |is_empty| !is_empty)
    }

    /// Where the [`Control`]s of recorders are whose recordings can be read.
    pub(super) fn recorders(&self) -> &[u64] {
        &self.found.recorders
    }

    /// Why there are none.
    pub(super) fn why_none(&self) -> NotRecorded {
        match self.found {
            Found { is_cut: true, .. } => NotRecorded::TooMuch(MOST_READ),
            Found { other_version: Some(magic), .. } => NotRecorded::OtherVersion(magic),
            Found { .. } => NotRecorded::NoRecorder,
        }
    }

    pub(super) fn word<T: Word>(&self, address: u64) -> Result<T, NotRecorded> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes[..size_of::<T>()], address).map_err(NotRecorded::NotAllowed)?;
        Ok(T::of(bytes))
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), NotRecorded> {
        self.file.write_all_at(bytes, address).map_err(NotRecorded::NotAllowed)
    }
}

/// The address of a line of `/proc/PID/maps` with the beginning of a file, if that can be read.
fn beginning(line: &str) -> Option<u64> {
    let mut words = line.split(' ');
    let (range, rights, offset, path) = (words.next()?, words.next()?, words.next()?, words.next_back()?);
    let is_file = offset == "00000000" && rights.starts_with('r') && !path.starts_with('[');
    is_file.then(|| u64::from_str_radix(range.split('-').next()?, 16).ok()).flatten()
}

/// So many bytes of headers and notes are read. A program with ten thousand libraries has a fifth of it.
const MOST_READ: u64 = 256 << 20;

impl<'m> Search<'m> {
    fn of(memory: &'m File, most: u64) -> Result<Self, NotRecorded> {
        let read = Budget::of(most).take(0).map_err(|_| NotRecorded::TooMuch(most))?;
        Ok(Search { memory, read, found: Found::default() })
    }

    /// Looks at the files that are loaded from those addresses on.
    fn through(mut self, starts: impl Iterator<Item = u64>) -> Found {
        /// A program may say anything of itself.
        const MOST: usize = 16;
        for start in starts {
            if self.found.is_cut || self.found.recorders.len() >= MOST {
                break;
            }
            for (at, length, align, endian) in self.segments(start) {
                self.segment(endian, at, length, align);
            }
        }
        self.found.recorders.truncate(MOST);
        self.found
    }

    /// Where the notes of a file are that is loaded from that address on: address, length and alignment.
    fn segments(&mut self, start: u64) -> Vec<(u64, u64, u64, Endianness)> {
        /// Linkers put the program headers behind the header, and there are some ten of 56 bytes.
        const HEADERS: usize = 4096;
        let Some(bytes) = self.bytes(start, HEADERS) else { return Vec::new() };
        let found = || -> object::Result<Vec<_>> {
            let header = Header::parse(bytes.as_slice())?;
            let endian = header.endian()?;
            let headers = header.program_headers(endian, bytes.as_slice())?;
            let first = headers.iter().find(|part| part.p_type(endian) == PT_LOAD);
            // What is added to the addresses of the file.
            let bias = start.wrapping_sub(first.map_or(0, |part| part.p_vaddr(endian)));
            let parts = headers.iter().filter(|part| part.p_type(endian) == PT_NOTE);
            let place = |part: &ProgramHeader64<Endianness>| bias.wrapping_add(part.p_vaddr(endian));
            Ok(parts.map(|part| (place(part), part.p_memsz(endian), part.p_align(endian), endian)).collect())
        };
        found().unwrap_or_default()
    }

    fn segment(&mut self, endian: Endianness, at: u64, length: u64, align: u64) {
        const LONGEST: u64 = 1 << 16;
        let Some(bytes) = self.bytes(at, length.min(LONGEST) as usize) else { return };
        let Ok(mut notes) = NoteIterator::<Header>::new(endian, align, &bytes) else { return };
        while let Ok(Some(note)) = notes.next() {
            if note.name() != b"ondeck" || note.n_type(endian).0 != Control::NOTE {
                continue;
            }
            let content = note.desc();
            let Some(&[magic, ahead]) = content.as_chunks::<8>().0.first_chunk() else { continue };
            // Where the content begins, in the process.
            let place = at.wrapping_add((content.as_ptr() as u64 - bytes.as_ptr() as u64) + size_of::<u64>() as u64);
            let control = place.wrapping_add(u64::from_ne_bytes(ahead));
            match u64::from_ne_bytes(magic) {
                MAGIC if self.is_there(control) => self.found.recorders.push(control),
                MAGIC => {}
                other => self.found.other_version = self.found.other_version.or(Some(other)),
            }
        }
    }

    /// Whether a recorder is there. A program may have mapped its own file once more, as for names in its stacks: what is said
    /// there leads anywhere.
    fn is_there(&mut self, control: u64) -> bool {
        let here = self.bytes(control.wrapping_add(offset_of!(Control, here) as u64), size_of::<u64>());
        here.is_some_and(|here| here == control.to_ne_bytes())
    }

    /// So many bytes from an address on, if they are there, and not too much was read before.
    fn bytes(&mut self, at: u64, length: usize) -> Option<Vec<u8>> {
        /// To read a few bytes takes as long.
        const LEAST: usize = 4096;
        self.found.is_cut |= self.read.grow(length.max(LEAST) as u64).is_err();
        let mut bytes = vec![0; if self.found.is_cut { return None } else { length }];
        self.memory.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file that is nothing but notes of recorders of which none is there, by a header for each page of them.
    fn notes() -> File {
        const HEADERS: u16 = 70;
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        bytes.extend(words(&[0, 64, 0]));
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, HEADERS as u8, 0, 0, 0, 0, 0, 0, 0]);
        for _ in 0..HEADERS {
            bytes.extend(words(&[u64::from(PT_NOTE.0) | 4 << 32, 4096, 4096, 4096, 1 << 16, 1 << 16, 4]));
        }
        bytes.resize(4096, 0);
        while bytes.len() < 4096 + (1 << 16) {
            bytes.extend([7, 16, Control::NOTE].map(u32::to_le_bytes).concat());
            bytes.extend(b"ondeck\0\0");
            bytes.extend(words(&[MAGIC, 0]));
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    /// As a process does that has this file mapped many times.
    #[test]
    fn a_search_among_notes_without_end_ends() {
        let file = notes();
        let search = |most: u64, n: usize| {
            let mut looked_at = 0;
            let starts = (0..n).map(|_| (looked_at += 1, 0).1);
            let found = Search::of(&file, most).unwrap().through(starts);
            (looked_at, found.is_cut, found.recorders.len())
        };
        let (looked_at, is_cut, n_found) = search(16 << 20, 100_000);
        assert!(is_cut && n_found == 0 && looked_at < 5, "{looked_at}");
        assert_eq!(search(1 << 40, 1), (1, false, 0), "and one that fits is whole");
    }

    #[test]
    fn the_beginning_of_a_file_is_told_from_other_memory() {
        for (line, start) in [
            (
                "7f0000001000-7f0000002000 r--p 00000000 08:01 1234    /usr/lib/with space/libc.so.6",
                Some(0x7f00_0000_1000),
            ),
            ("55550000-55560000 r-xp 00000000 08:01 12    /a (deleted)", Some(0x5555_0000)),
            ("7f0000002000-7f0000003000 r-xp 00001000 08:01 1234    /usr/lib/libc.so.6", None),
            ("7f0000002000-7f0000003000 ---p 00000000 08:01 1234    /usr/lib/libc.so.6", None),
            ("7ffd0000-7ffe0000 rw-p 00000000 00:00 0    [stack]", None),
        ] {
            assert_eq!(beginning(line), start, "{line}");
        }
    }
}
