//! Where a process that we did not start puts its recording: a directory that it sees too, and may write in.
//!
//! The process may be anybody's, and we root. So nothing here follows a link that it could have made: the place is looked up within
//! its own root, and the directory is known by its descriptor from the moment on that it is made.

use ondeck_launch::running::{HEADER_BYTES, file_name, make_ready};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, fallocate, fchown, fstat, mkdirat,
    openat, openat2, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(super) struct Place {
    /// The directory around it, which is there also if the process ends and its own root with it.
    around: OwnedFd,
    directory: OwnedFd,
    name: String,
    /// Where it is, as the process sees it.
    pub(super) inside: PathBuf,
    /// As whom the process makes files.
    user: u32,
}

impl Place {
    /// A directory that belongs to the user of the process, where there is room, with so many files for it.
    pub(super) fn for_process(pid: u32, max_mb: u32, n_files: usize) -> Result<Self, String> {
        const PLACES: [&str; 3] = ["dev/shm", "tmp", "var/tmp"];
        let mut why = String::new();
        for name in PLACES {
            match Self::within(pid, name, max_mb, n_files) {
                Ok(place) => return Ok(place),
                Err(error) => why = format!("{why}; /{name}: {error}"),
            }
        }
        Err(format!("there is no directory for its recording{why}"))
    }

    fn within(pid: u32, place: &str, max_mb: u32, n_files: usize) -> Result<Self, String> {
        let told = |error: Errno| error.to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty()).map_err(told)?;
        let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let around = openat2(&root, place, flags, Mode::empty(), within).map_err(told)?;
        let free = super::free_bytes(&path_of(&around)) >> 20;
        if free < max_mb.into() {
            return Err(format!("{free} MB are free, and --max-mb is {max_mb}"));
        }
        let (user, group) = user_of(pid).ok_or("its user is not known")?;
        let ns = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
        let name = format!("ondeck-{}-{ns}", std::process::id());
        mkdirat(&around, &name, Mode::RWXU).map_err(told)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&around, &name, flags, Mode::empty()).map_err(told)?;
        let place = Place { around, directory, inside: Path::new("/").join(place).join(&name), name, user };
        // Another one may have taken its place.
        if !place.is_of(ourselves()) {
            return Err("another user has moved the directory that was made".to_owned());
        }
        let group = Gid::from_raw(group);
        (0..n_files).try_for_each(|n| place.make(&file_name(pid, n), pid, max_mb, group))?;
        // Where we may not, it is ours already, or the process cannot write there and says so.
        let _ = fchown(&place.directory, Some(Uid::from_raw(user)), Some(group));
        Ok(place)
    }

    /// Makes a file for the process. To be called before the directory is the process's: then nobody else makes it.
    fn make(&self, name: &str, pid: u32, max_mb: u32, group: Gid) -> Result<(), String> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR).map_err(|error| error.to_string())?;
        let file = File::from(file);
        make_ready(&file, pid, max_mb).map_err(|error| error.to_string())?;
        // As with the directory.
        let _ = fchown(&file, Some(Uid::from_raw(self.user)), Some(group));
        Ok(())
    }

    fn is_of(&self, user: u32) -> bool {
        fstat(&self.directory).is_ok_and(|about| about.st_uid == user)
    }

    /// Where it is for us.
    pub(super) fn path(&self) -> PathBuf {
        path_of(&self.directory)
    }

    /// The files in it that are the process's.
    fn files(&self) -> impl Iterator<Item = File> {
        let entries = std::fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| self.file(&entry.file_name()))
    }

    fn file(&self, name: &std::ffi::OsStr) -> Option<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::empty()).ok()?;
        let about = fstat(&file).ok()?;
        let is_plain = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile && about.st_nlink == 1;
        (is_plain && about.st_uid == self.user).then(|| File::from(file))
    }

    /// Removes the directory. The content of the files is there until the answer is dropped.
    pub(super) fn remove(self) -> Content {
        Content(self.files().collect())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let entries = std::fs::read_dir(self.path()).into_iter().flatten().flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        for name in names {
            let _ = unlinkat(&self.directory, &name, AtFlags::empty());
        }
        // Of what is in a directory for all users, only the owner may remove it.
        let _ = fchown(&self.directory, Some(Uid::from_raw(ourselves())), None);
        let _ = unlinkat(&self.around, &self.name, AtFlags::REMOVEDIR);
    }
}

fn ourselves() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn path_of(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// What is in files that are removed, and that the process has mapped to its end: the memory is given back at the end of this.
pub(crate) struct Content(Vec<File>);

impl Content {
    /// The process may still write: it gives the memory back itself.
    pub(super) fn leave(mut self) {
        self.0.clear();
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        for file in &self.0 {
            let length = file.metadata().map_or(0, |about| about.len()).saturating_sub(HEADER_BYTES);
            // A file system that cannot do it keeps the content until the process ends.
            let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, HEADER_BYTES, length);
        }
    }
}

/// As which user and group a process makes files.
fn user_of(pid: u32) -> Option<(u32, u32)> {
    /// Real, effective, saved, and of file systems.
    const OF_FILES: usize = 3;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(OF_FILES)?.parse().ok()
    };
    Some((number("Uid:")?, number("Gid:")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// What is in the directory may be a link to anything, a pipe, or another name of a file.
    #[test]
    fn only_what_the_process_has_made_is_emptied() {
        let other = tempfile::tempdir().unwrap();
        let precious = other.path().join("precious");
        std::fs::write(&precious, [7; 20_000]).unwrap();
        let place = Place::for_process(std::process::id(), 1, 0).unwrap();
        let directory = place.path().canonicalize().unwrap();
        let made = directory.join("1-0.ondeck");
        std::fs::write(&made, [7; 20_000]).unwrap();
        symlink(&precious, directory.join("2-0.ondeck")).unwrap();
        let kept = File::open(&made).unwrap();
        let content = place.remove();
        assert!(!directory.exists());
        drop(content);
        assert_eq!(std::fs::read(&precious).unwrap(), [7; 20_000]);
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut &kept, &mut bytes).unwrap();
        // The header stays.
        let (head, rest) = bytes.split_at(HEADER_BYTES as usize);
        assert!(head.iter().all(|byte| *byte == 7) && rest.iter().all(|byte| *byte == 0));
    }
}
