//! Directories for recordings, and what killed observers have left of theirs.
//!
//! An observer holds a lock of the kernel on its directory (`flock`), which ends with the observer, however that ends. So a
//! directory of ours without this lock is nobody's any more. Whoever makes a new one takes such directories away. They have
//! names that begin with [`PREFIX`], belong to us, and lose only files that are named as recordings are. A directory that has
//! anything else in it stays.
//!
//! Between the making of a directory and its lock another observer may take it for left behind. So whoever has the lock looks
//! whether the directory is still there.

use super::rights::own_file_user;
use ondeck_kit::exit::Exit;
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, flock, fstat, openat, statvfs, unlinkat};
use rustix::io::Errno;
use std::fs::Permissions;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How the names of all directories for recordings begin.
pub(super) const PREFIX: &str = "ondeck-recording-";
/// A directory itself, and nothing that leads elsewhere.
pub(super) const ITSELF: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A new directory, which goes away with this.
pub(crate) struct Directory {
    directory: tempfile::TempDir,
    /// Says that we are there.
    _lock: OwnedFd,
}

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    fn make(place: &Path) -> std::io::Result<Self> {
        loop {
            let mut builder = tempfile::Builder::new();
            // Whatever the umask says: who may write here may remove recordings and plant others.
            let builder = builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700));
            let directory = builder.tempdir_in(place)?;
            let lock = openat(CWD, directory.path(), ITSELF, Mode::empty())?;
            // A file system without such locks has directories that stay.
            let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
            if directory.path().exists() {
                return Ok(Directory { directory, _lock: lock });
            }
        }
    }
}

/// Where processes put their recordings: in memory, if there is room for some of them. A disk would be written to
/// by the way, and a program that faults on such a page waits for that. `flag` is what asks for them.
pub(crate) fn directory(max_mb: u32, flag: &str) -> Result<Directory, Exit> {
    const PROCESSES: u64 = 4;
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    for place in &places {
        if let Ok(around) = openat(CWD, place, ITSELF.difference(OFlags::NOFOLLOW), Mode::empty()) {
            remove_leftovers(&around);
        }
    }
    let [memory, other] =
        places.each_ref().map(|place| statvfs(place).map_or(0, |room| room.f_bavail * room.f_frsize) >> 20);
    let is_in_memory = memory >= u64::from(max_mb) * PROCESSES || memory >= other;
    let (place, free) = if is_in_memory { (&places[0], memory) } else { (&places[1], other) };
    if free < max_mb.into() {
        return Err(Exit::Usage(no_room(flag, max_mb, &places[1], memory, other)));
    }
    let failed =
        |error| Exit::Failed(format!("cannot make a directory for recordings in {}: {error}", place.display()));
    Directory::make(place).map_err(failed)
}

/// Says where room was looked for, and what would do.
fn no_room(flag: &str, max_mb: u32, temporary: &Path, memory_mb: u64, temporary_mb: u64) -> String {
    let most = memory_mb.max(temporary_mb);
    let can_be_smaller = flag == "--max-mb" && most > 0;
    let smaller = if can_be_smaller { format!("--max-mb up to {most}, or ") } else { String::new() };
    format!(
        "{flag}: no room for the recording of one process, {max_mb} MB. /dev/shm has {memory_mb} MB free, and {}, the \
         directory for temporary files, has {temporary_mb} MB; accepted: {smaller}TMPDIR=DIRECTORY with {max_mb} MB free",
        temporary.display()
    )
}

/// Removes what observers that are no more have left in a directory. Of the directories of whoever acts here.
pub(super) fn remove_leftovers(around: &OwnedFd) {
    let user = own_file_user();
    for name in names(around).filter(|name| name.to_bytes().starts_with(PREFIX.as_bytes())) {
        let Ok(left) = openat(around, &name, ITSELF, Mode::empty()) else { continue };
        let is_ours = fstat(&left).is_ok_and(|about| about.st_uid == user);
        if is_ours && flock(&left, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = remove(around, &name, &left);
        }
    }
}

/// Removes a directory with the recordings in it. If it has anything else in it, that stays, and so does the directory.
pub(super) fn remove(around: impl AsFd, name: impl rustix::path::Arg, directory: &OwnedFd) -> Result<(), Errno> {
    let recordings = names(directory).filter(|name| name.to_bytes().ends_with(b".ondeck"));
    recordings.for_each(|name| _ = unlinkat(directory, &name, AtFlags::empty()));
    unlinkat(around, name, AtFlags::REMOVEDIR)
}

/// What is in a directory.
pub(super) fn names(directory: &OwnedFd) -> impl Iterator<Item = std::ffi::CString> {
    Dir::read_from(directory).into_iter().flatten().flatten().map(|entry| entry.file_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_room_learns_where_to_make_some() {
        let text = no_room("--max-mb", 64, Path::new("/tmp"), 3, 10);
        for words in
            ["--max-mb: ", "64 MB", "/dev/shm has 3 MB", "/tmp", "has 10 MB", "--max-mb up to 10", "TMPDIR=DIRECTORY"]
        {
            assert!(text.contains(words), "{words:?} is missing in: {text}");
        }
        for (flag, free) in [("--max-mb", 0), ("--stats", 10)] {
            let text = no_room(flag, 64, Path::new("/tmp"), 0, free);
            assert!(text.starts_with(flag) && text.contains("accepted: TMPDIR=DIRECTORY with 64 MB"), "{text}");
        }
    }

    /// Of what has such a name, one directory is left by an observer that is gone, one has somebody's text in it, one is a link,
    /// and one belongs to an observer that lives.
    #[test]
    fn what_killed_observers_left_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let (left, others) = (at("ondeck-recording-a"), at("ondeck-recording-b"));
        for directory in [&left, &others, &at("ondeck-other"), &at("elsewhere")] {
            std::fs::create_dir(directory).unwrap();
            std::fs::write(directory.join("7-0.ondeck"), "recorded").unwrap();
        }
        std::fs::write(others.join("notes.txt"), "mine").unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("ondeck-recording-c")).unwrap();
        let alive = Directory::make(place.path()).unwrap();
        std::fs::write(alive.path().join("8-0.ondeck"), "recorded").unwrap();
        remove_leftovers(&openat(CWD, place.path(), ITSELF, Mode::empty()).unwrap());
        assert!(!left.exists());
        assert!(others.join("notes.txt").exists());
        assert!(at("ondeck-other/7-0.ondeck").exists() && at("elsewhere/7-0.ondeck").exists());
        assert!(alive.path().join("8-0.ondeck").exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    #[test]
    fn only_we_may_write_into_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::make(place.path()).unwrap();
        assert_eq!(directory.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
