//! What is needed of a program file or library: where it is loaded, and its tables for walking stacks.

use crate::elf::{Segment, build_id, map, parse, segments};
use crate::walk::caller::Functions;
use framehop::ExplicitModuleSectionInfo;
use gimli::BaseAddresses;
use memmap2::Mmap;
use object::{CompressionFormat, Object, ObjectSection};
use std::fs::File;
use std::ops::{Deref, Range};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

/// A program file or library as it is loaded into a process.
#[derive(Clone, Debug)]
pub struct Module {
    /// A path of its file. Another file may be there by now.
    pub path: PathBuf,
    /// By how much addresses in the process are higher than those in the file (wrapping).
    pub bias: u64,
    /// Its first address in the process.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// The build id of the file; empty where it has none.
    pub build_id: Vec<u8>,
    /// The file itself. It stays open, as no path may lead to it when it is read. Or why it could not be opened: then `bias`
    /// is that of a file whose addresses are its places.
    pub file: Result<Arc<File>, String>,
    /// Which of the modules it is that were at its place, of [`in_time`](crate::in_time).
    pub number: u32,
    /// Since when it was there, by the monotonic clock; 0 if nothing was there before.
    pub(crate) from_ns: u64,
}

impl Module {
    /// Whether the other is the same at the same place.
    pub(crate) fn is(&self, other: &Module) -> bool {
        let place = |module: &Module| (module.start, module.end, module.bias, module.file.is_ok());
        let is_one_file = match (&self.file, &other.file) {
            // Each file is opened once. One without a build id may have been built anew.
            (Ok(one), Ok(other)) => Arc::ptr_eq(one, other),
            _ => true,
        };
        is_one_file && place(self) == place(other) && self.path == other.path && self.build_id == other.build_id
    }

    /// Whether both have some address.
    pub(crate) fn is_over(&self, other: &Module) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// A part of a mapped file.
#[derive(Clone)]
pub(crate) struct Part(Arc<Mmap>, Range<usize>);

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0[self.1.clone()]
    }
}

fn version(file: &File) -> Option<(u64, i64, i64)> {
    let about = file.metadata().ok()?;
    Some((about.len(), about.mtime(), about.mtime_nsec()))
}

/// A file, read once for all processes.
pub(crate) struct Elf {
    path: PathBuf,
    file: Arc<File>,
    /// Its length, and when it was written last, as it was read.
    version: (u64, i64, i64),
    build_id: Vec<u8>,
    segments: Vec<Segment>,
    sections: Vec<(String, Range<u64>, Option<Part>)>,
}

impl Elf {
    /// `None` for what is no such file. `path` is one that has led to it.
    pub(crate) fn read(path: PathBuf, file: File) -> Option<Elf> {
        let version = version(&file)?;
        // A program that writes code as it runs may shorten such a file while it is mapped here.
        let mut beginning = [0; 4];
        file.read_exact_at(&mut beginning, 0).ok().filter(|()| beginning == *b"\x7fELF")?;
        let mapped = Arc::new(map(&file).ok()?);
        let object = parse(&mapped).ok()?;
        let wanted = [".text", ".eh_frame", ".eh_frame_hdr", ".got", ".debug_frame"];
        let sections = object.sections().filter_map(|section| {
            let name = section.name().ok().filter(|name| wanted.contains(name))?.to_owned();
            let range = section.address()..section.address().saturating_add(section.size());
            let packed = section.compressed_file_range().ok()?;
            let end = packed.offset.checked_add(packed.compressed_size)?;
            let is_plain = packed.format == CompressionFormat::None && end <= mapped.len() as u64;
            let part = is_plain.then(|| Part(mapped.clone(), packed.offset as usize..end as usize));
            Some((name, range, part))
        });
        let sections = sections.collect();
        let (build_id, segments) = (build_id(&object), segments(&object));
        Some(Elf { path, file: Arc::new(file), version, build_id, segments, sections })
    }

    /// Whether its path still leads anywhere. Of a process with a root directory of its own it does not once that has ended.
    pub(crate) fn is_at_its_path(&self) -> bool {
        !self.path.starts_with("/proc") || self.path.exists()
    }

    /// Whether nothing was written to it since it was read.
    pub(crate) fn is_unchanged(&self) -> bool {
        version(&self.file) == Some(self.version)
    }

    /// The module, from one of its mappings: an address, and the place in the file that is mapped there.
    pub(crate) fn module(&self, address: u64, offset: u64) -> Option<Module> {
        const PAGE: u64 = 4095;
        let is_there = |file: &Range<u64>| (file.start & !PAGE..file.end).contains(&offset);
        let Segment { memory, file } = self.segments.iter().rev().find(|segment| is_there(&segment.file))?;
        let bias = address.wrapping_sub(memory.start.wrapping_add(offset).wrapping_sub(file.start));
        let first = self.segments.iter().map(|segment| segment.memory.start & !PAGE).min()?;
        let last = self.segments.iter().map(|segment| segment.memory.end).max()?;
        let (start, end) = (first.wrapping_add(bias), last.wrapping_add(bias));
        let (path, build_id, file) = (self.path.clone(), self.build_id.clone(), Ok(self.file.clone()));
        (start < end).then(|| Module { path, bias, start, end, build_id, file, number: 0, from_ns: 0 })
    }

    /// The same for who walks stacks.
    pub(crate) fn tables(&self, module: &Module) -> framehop::Module<Part> {
        let section = |name: &str| self.sections.iter().find(|(other, ..)| other == name);
        let range = |name: &str| section(name).map(|(_, range, _)| range.clone());
        let part = |name: &str| section(name).and_then(|(_, _, part)| part.clone());
        let info = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            text: part(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: part(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: part(".eh_frame_hdr"),
            debug_frame: part(".debug_frame"),
            base_svma: 0,
            stubs_svma: None,
            stub_helper_svma: None,
            unwind_info: None,
            text_segment_svma: None,
            text_segment: None,
        };
        let name = module.path.to_string_lossy().into_owned();
        framehop::Module::new(name, module.start..module.end, module.bias, info)
    }

    /// Where its functions are; `None` if it has no table of them.
    pub(crate) fn functions(&self, module: &Module) -> Option<Functions> {
        let section = |name: &str| self.sections.iter().find(|(other, ..)| other == name);
        let start = |name: &str| section(name).map_or(0, |(_, range, _)| range.start);
        let part = |name: &str| section(name)?.2.clone();
        let (header, frames) = (part(".eh_frame_hdr")?, part(".eh_frame")?);
        let bases = BaseAddresses::default().set_eh_frame(start(".eh_frame")).set_eh_frame_hdr(start(".eh_frame_hdr"));
        let bases = bases.set_text(start(".text")).set_got(start(".got"));
        Some(Functions { bias: module.bias, bases, header, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::open;
    use crate::maps::executable;
    use std::path::Path;

    fn read(path: &Path) -> Option<Elf> {
        Elf::read(path.to_owned(), open(path).ok()?)
    }

    #[test]
    fn a_module_is_where_its_mapping_says() {
        let path = std::env::current_exe().unwrap();
        let elf = read(&path).unwrap();
        // Ourselves, by a function that the file has a symbol for.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let function = a_module_is_where_its_mapping_says as *const () as u64;
        let (mapping, _) = maps.lines().filter_map(executable).find(|(_, file)| *file == path).unwrap();
        let module = elf.module(mapping.start, mapping.offset).unwrap();
        assert!((module.start..module.end).contains(&function));
        let content = std::fs::read(&path).unwrap();
        let object = object::File::parse(&content[..]).unwrap();
        let own = function.wrapping_sub(module.bias);
        let text = object.section_by_name(".text").unwrap();
        assert!((text.address()..text.address() + text.size()).contains(&own));
        assert!(elf.module(mapping.start, u64::MAX).is_none());
    }

    #[test]
    fn what_is_no_program_is_none() {
        assert!(read(Path::new("/dev/null")).is_none());
        assert!(read(Path::new("/no/such/file")).is_none());
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "hello").unwrap();
        assert!(read(text.path()).is_none());
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let name = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: a text that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(read(&pipe).is_none(), "and nobody waits for who would write into it");
    }
}
