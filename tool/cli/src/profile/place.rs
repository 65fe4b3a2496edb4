//! Where a process that we did not start puts its recording: a directory that it sees too, and may write in.

use crate::exit::Exit;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
use std::fs::{File, Permissions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(super) struct Place {
    directory: TempDir,
    /// The same, as the process sees it.
    pub(super) inside: PathBuf,
    /// Keeps the directory around it, also if the process ends and its own root with it.
    _around: OwnedFd,
}

impl Place {
    /// A directory that belongs to the user of the process, where there is room.
    pub(super) fn for_process(pid: u32, max_mb: u32) -> Result<Self, Exit> {
        const PLACES: [&str; 3] = ["dev/shm", "tmp", "var/tmp"];
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let mut why = String::new();
        for name in PLACES {
            match Self::within(&root, name, pid, max_mb) {
                Ok(place) => return Ok(place),
                Err(error) => why = format!("{why}; /{name}: {error}"),
            }
        }
        Err(Exit::Failed(format!("process {pid}: there is no directory for its recording{why}")))
    }

    fn within(root: &Path, name: &str, pid: u32, max_mb: u32) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let around = openat(CWD, root.join(name), flags, Mode::empty()).map_err(|error| error.to_string())?;
        let here = PathBuf::from(format!("/proc/self/fd/{}", around.as_raw_fd()));
        let free = super::free_bytes(&here) >> 20;
        if free < max_mb.into() {
            return Err(format!("{free} MB are free, and --max-mb is {max_mb}"));
        }
        let own = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix("ondeck-").permissions(own).tempdir_in(&here).map_err(told)?;
        if let Some((user, group)) = user_of(pid) {
            // Where we may not, it is ours already, or the process cannot write there and says so.
            let _ = chown(directory.path(), Some(user), Some(group));
        }
        let inside = Path::new("/").join(name).join(directory.path().file_name().unwrap_or_default());
        Ok(Place { directory, inside, _around: around })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes the directory. The content of the files is there until the answer is dropped.
    pub(super) fn remove(self) -> Content {
        let files = std::fs::read_dir(self.path()).into_iter().flatten().flatten();
        Content(files.filter_map(|file| File::options().write(true).open(file.path()).ok()).collect())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Of what is in a directory for all users, only the owner may remove it.
        let _ = chown(self.path(), Some(rustix::process::geteuid().as_raw()), None);
    }
}

/// What is in files that are removed, and that the process has mapped to its end: the memory is given back at the end of this.
pub(super) struct Content(Vec<File>);

impl Drop for Content {
    fn drop(&mut self) {
        for file in &self.0 {
            let length = file.metadata().map_or(0, |about| about.len());
            // A file system that cannot do it keeps the content until the process ends.
            let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, length);
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
