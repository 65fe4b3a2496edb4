//! Programs and libraries that are open now.

use crate::walk::module::Elf;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A file by its device, its number, and its path, for file systems whose numbers are not unique.
pub(crate) type FileKey = (u64, u64, PathBuf);

/// Files that any [`Images`](crate::image::Images) has open. A thousand processes of one program have the same few, and only so many files may be open.
static FILES: Mutex<BTreeMap<FileKey, Weak<Elf>>> = Mutex::new(BTreeMap::new());

/// The file, if it is open already and has not been written since.
pub(crate) fn open_already(key: &FileKey) -> Option<Arc<Elf>> {
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.get(key).and_then(Weak::upgrade).filter(|elf| elf.is_unchanged())
}

pub(crate) fn is_open(key: &FileKey, elf: &Arc<Elf>) {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.retain(|_, elf| elf.strong_count() > 0);
    files.insert(key.clone(), Arc::downgrade(elf));
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
