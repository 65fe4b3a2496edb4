//! The memory of a process that runs: where the recorders in it are, by their ELF notes as they are loaded, and what is there.
//! Files are not asked: another one may have taken the place of what is loaded.

use super::NotRecorded;
use object::Endianness;
use object::elf::{FileHeader64, PT_LOAD, PT_NOTE};
use object::read::elf::{FileHeader as _, NoteIterator, ProgramHeader as _};
use ondeck_record::control::Control;
use ondeck_record::layout::MAGIC;
use ondeck_trace::process::window;
use std::fs::File;
use std::io::ErrorKind;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

type Header = FileHeader64<Endianness>;

/// It is read and written by file operations, at addresses.
#[derive(Debug)]
pub(super) struct Memory {
    file: File,
    notes: Vec<Note>,
    pid: u32,
}

/// What a recorder says of itself.
#[derive(Debug)]
struct Note {
    magic: u64,
    /// Of its [`Control`].
    control: u64,
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
        let maps = std::fs::read_to_string(format!("/proc/{shown}/maps")).map_err(NotRecorded::NotAllowed)?;
        let notes = maps.lines().filter_map(beginning).flat_map(|start| notes(&file, start)).collect();
        Ok(Memory { file, notes, pid })
    }

    /// Whether there is no such memory any more: the process has ended, or has become another program.
    pub(super) fn is_gone(&self) -> bool {
        // An error says that nothing is mapped at that address.
        self.file.read_at(&mut [0], 0).is_ok_and(|n| n == 0)
    }

    /// Whether the process has other memory than that now, as another program.
    pub(super) fn is_replaced(&self) -> bool {
        let maps = || std::fs::read(format!("/proc/{}/maps", window(self.pid)));
        // Of a process that ends, there are none. The other program may have rights that let nobody see its own.
        self.is_gone()
            && maps().map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |maps| !maps.is_empty())
    }

    /// Whether a recorder is there. A program may have mapped its own file once more, as for names in its stacks: what is said
    /// there leads anywhere.
    fn is_there(&self, control: &u64) -> bool {
        let here = self.word(control.wrapping_add(offset_of!(Control, here) as u64));
        here.is_ok_and(|here: u64| here == *control)
    }

    /// Where the [`Control`]s of recorders are whose recordings can be read.
    pub(super) fn recorders(&self) -> Vec<u64> {
        let controls = self.notes.iter().filter(|note| note.magic == MAGIC).map(|note| note.control);
        controls.filter(|control| self.is_there(control)).collect()
    }

    /// How recordings begin that cannot be read, if there is a recorder that makes such.
    pub(super) fn other_version(&self) -> Option<u64> {
        self.notes.iter().map(|note| note.magic).find(|magic| *magic != MAGIC)
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

/// The notes of a file that is loaded from that address on, as far as they are a recorder's.
fn notes(memory: &File, start: u64) -> Vec<Note> {
    /// Linkers put the program headers behind the header, and there are some ten of 56 bytes.
    const HEADERS: usize = 4096;
    let Some(bytes) = read(memory, start, HEADERS) else { return Vec::new() };
    let found = || -> object::Result<Vec<Note>> {
        let header = Header::parse(bytes.as_slice())?;
        let endian = header.endian()?;
        let headers = header.program_headers(endian, bytes.as_slice())?;
        let first = headers.iter().find(|part| part.p_type(endian) == PT_LOAD);
        // What is added to the addresses of the file.
        let bias = start.wrapping_sub(first.map_or(0, |part| part.p_vaddr(endian)));
        let parts = headers.iter().filter(|part| part.p_type(endian) == PT_NOTE);
        let parts =
            parts.map(|part| (bias.wrapping_add(part.p_vaddr(endian)), part.p_memsz(endian), part.p_align(endian)));
        Ok(parts.flat_map(|(at, length, align)| of_segment(memory, endian, at, length, align)).collect())
    };
    found().unwrap_or_default()
}

fn of_segment(memory: &File, endian: Endianness, at: u64, length: u64, align: u64) -> Vec<Note> {
    const LONGEST: u64 = 1 << 16;
    let Some(bytes) = read(memory, at, length.min(LONGEST) as usize) else { return Vec::new() };
    let Ok(mut notes) = NoteIterator::<Header>::new(endian, align, &bytes) else { return Vec::new() };
    let mut found = Vec::new();
    while let Ok(Some(note)) = notes.next() {
        if note.name() != b"ondeck" || note.n_type(endian).0 != Control::NOTE {
            continue;
        }
        let content = note.desc();
        let Some(&[magic, ahead]) = content.as_chunks::<8>().0.first_chunk() else { continue };
        // Where the content begins, in the process.
        let place = at + (content.as_ptr() as u64 - bytes.as_ptr() as u64) + size_of::<u64>() as u64;
        found.push(Note { magic: u64::from_ne_bytes(magic), control: place.wrapping_add(u64::from_ne_bytes(ahead)) });
    }
    found
}

fn read(memory: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    memory.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
