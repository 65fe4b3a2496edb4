//! Programs and libraries that are open now.

use crate::maps::{self, Mapping, VDSO};
use crate::process::memory;
use crate::walk::module::Elf;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A file by its device, its number, and the path that it was mapped by.
pub(crate) type FileKey = (u64, u64, PathBuf);

/// Files that any [`Images`](crate::image::Images) has open. A thousand processes of one program have the same few, and only so many files may be open.
/// By what each was opened as: under what numbers it was mapped, a file system may map others, too.
static FILES: Mutex<BTreeMap<FileKey, Weak<Elf>>> = Mutex::new(BTreeMap::new());

/// What that file is, of which `path` says where it was found; `None` if it is no program and no library. If it is open already, it
/// stays open once, under the path of that time.
pub(crate) fn read(mapped: &Path, path: PathBuf, file: File) -> Option<Arc<Elf>> {
    let opened = file.metadata().ok()?;
    let key = (opened.dev(), opened.ino(), mapped.to_owned());
    let files = || FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = files().get(&key).and_then(Weak::upgrade);
    if let Some(known) = known.filter(|elf| elf.is_unchanged() && elf.is_at_its_path()) {
        return Some(known);
    }
    let elf = Arc::new(Elf::read(path, file)?);
    let mut files = files();
    files.retain(|_, elf| elf.strong_count() > 0);
    files.insert(key, Arc::downgrade(&elf));
    Some(elf)
}

/// What was mapped, if it is open, and if its file system maps files under the numbers that it opens them under.
pub(crate) fn known(mapping: &Mapping, mapped: &Path) -> Option<Arc<Elf>> {
    let device = libc::makedev((mapping.device >> 32) as u32, mapping.device as u32);
    let key = (device, mapping.number, mapped.to_owned());
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.get(&key).and_then(Weak::upgrade).filter(|elf| elf.is_unchanged() && elf.is_at_its_path())
}

/// Whether a process has the same files as this one by the same paths. One that is gone is taken to have had them.
pub(crate) fn sees_ours(pid: u32) -> bool {
    ["ns/mnt", "root"].iter().all(|what| {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/{what}")).ok();
        of(&pid.to_string()).is_none_or(|theirs| of("self").is_none_or(|ours| ours == theirs))
    })
}

/// The kernel's code in each process, as a file in memory.
pub(crate) fn vdso() -> Option<Arc<Elf>> {
    static COPY: OnceLock<Arc<Elf>> = OnceLock::new();
    let made = || copy_of_vdso().and_then(|file| Elf::read(VDSO.into(), file)).map(Arc::new);
    COPY.get().cloned().or_else(|| made().map(|elf| COPY.get_or_init(|| elf).clone()))
}

fn copy_of_vdso() -> Option<File> {
    let own = std::process::id();
    let line = maps::lines(own).ok()?.find(|line| line.ends_with(VDSO))?;
    let (mapping, _) = maps::executable(&line)?;
    // SAFETY: a name that ends with 0.
    let fd = unsafe { libc::memfd_create(c"vdso".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: opened just now, and nobody else's.
    let mut file = (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })?;
    file.write_all(&memory(own, mapping.start, (mapping.end - mapping.start) as usize)?).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use crate::image::Images;
    use std::fs::File;
    use std::sync::Arc;

    /// As of a thousand processes of one program.
    #[test]
    fn a_file_is_open_once() {
        let pid = std::process::id();
        let [one, other] = [(); 2].map(|()| {
            let mut images = Images::default();
            images.at(pid, 0);
            images
        });
        let files = |images: &Images| -> Vec<Arc<File>> {
            images.list.iter().flat_map(|image| &image.modules).filter_map(|module| module.file.clone().ok()).collect()
        };
        let (files, others) = (files(&one), files(&other));
        assert!(files.len() > 1 && files.len() == others.len(), "{}", files.len());
        assert!(files.iter().zip(&others).all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
