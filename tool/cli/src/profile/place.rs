//! Where a process that we did not start puts its recording: a directory that it sees too, and may write in.
//!
//! The process may be anybody's, and we root. Its directories hold what it wants them to: it may rename ours, put a link or
//! another directory in its place, or mount anything upon it at any moment. A check of what a name leads to is worth nothing
//! the moment after. So every step in its directories is made with its own [`Rights`], within its root, and never across a mount
//! or a link of its last part: what then goes wrong is what it could have done by itself. What root still does is to read and to
//! empty files that were opened this way.
//!
//! Its rights are looked up before and after its root is opened. So they are not those of a program that it becomes meanwhile.

use super::directory::{ITSELF, PREFIX, names, remove, remove_leftovers};
use super::rights::Rights;
use ondeck_futex::process::window;
use ondeck_launch::running::{HEADER_BYTES, file_name, make_ready};
use rustix::fs::{
    CWD, FallocateFlags, FileType, FlockOperation, Mode, OFlags, ResolveFlags, fallocate, flock, fstat, fstatvfs,
    mkdirat, openat, openat2,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(super) struct Place {
    /// The directory around it, which is there also if the process ends and its own root with it.
    around: OwnedFd,
    directory: OwnedFd,
    name: String,
    /// Where it is, as the process sees it.
    pub(super) inside: PathBuf,
    /// The names of the files for its recording.
    pub(super) files: Vec<String>,
    rights: Rights,
}

impl Place {
    /// A directory that belongs to the user of the process, where there is room, with so many files for it.
    pub(super) fn for_process(pid: u32, max_mb: u32, n_files: usize) -> Result<Self, String> {
        const PLACES: [&str; 3] = ["dev/shm", "tmp", "var/tmp"];
        const UNKNOWN: &str = "its user is not known";
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let rights = Rights::of(pid).ok_or(UNKNOWN)?;
        let root = openat(CWD, format!("/proc/{}/root", window(pid)), flags, Mode::empty());
        let root = root.map_err(|error| format!("its files cannot be reached: {error}"))?;
        if Rights::of(pid) != Some(rights) {
            return Err("its user has changed just now".to_owned());
        }
        let mut why = String::new();
        for name in PLACES {
            match rights
                .act(|| Self::within(&root, name, rights, max_mb))
                .and_then(|place| place.with_files(pid, max_mb, n_files))
            {
                Ok(place) => return Ok(place),
                Err(error) => why = format!("{why}; /{name}: {error}"),
            }
        }
        Err(format!("there is no directory for its recording{why}"))
    }

    /// Makes files for the process. Only to open them is done with its rights: what they say of it, it may not be able to find out.
    fn with_files(mut self, pid: u32, max_mb: u32, n_files: usize) -> Result<Self, String> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        for n in 0..n_files {
            let name = file_name(pid, n);
            let open = || openat(&self.directory, &name, flags, mode).map_err(|error| error.to_string());
            make_ready(&self.rights.act(open)?.into(), pid, max_mb).map_err(|error| error.to_string())?;
            self.files.push(name);
        }
        Ok(self)
    }

    /// With the rights of the process.
    fn within(root: &OwnedFd, place: &str, rights: Rights, max_mb: u32) -> Result<Self, String> {
        let told = |error: Errno| error.to_string();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let around = openat2(root, place, flags, Mode::empty(), within).map_err(told)?;
        remove_leftovers(&around);
        let free = fstatvfs(&around).map_or(0, |room| room.f_bavail * room.f_frsize) >> 20;
        if free < max_mb.into() {
            return Err(format!("{free} MB are free, and --max-mb is {max_mb}"));
        }
        let ns = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
        let name = format!("{PREFIX}{}-{ns}", std::process::id());
        mkdirat(&around, &name, Mode::RWXU).map_err(told)?;
        let directory = made(&around, &name).map_err(told)?;
        let _ = flock(&directory, FlockOperation::NonBlockingLockExclusive);
        Ok(Place { around, directory, inside: Path::new("/").join(place).join(&name), name, files: Vec::new(), rights })
    }

    /// Where it is for us.
    pub(super) fn path(&self) -> PathBuf {
        path_of(&self.directory)
    }

    /// A file in it that the process has made, with the rights of the process. It is looked at before it is opened: a device may
    /// do something as it is opened.
    fn file(&self, name: &CStr) -> Option<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat2(&self.directory, name, flags, Mode::empty(), ONLY_HERE).ok()?;
        let about = fstat(&file).ok()?;
        let is_plain = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile && about.st_nlink == 1;
        let is_its_own = is_plain && about.st_uid == self.rights.user;
        // Not waiting: who has a lease of a file may hold up others that open it for most of a minute.
        let open = || File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path_of(&file)).ok();
        is_its_own.then(open).flatten()
    }

    /// Removes the directory. The content of the files is there until the answer is dropped.
    pub(super) fn remove(self) -> Content {
        /// A process has some. It may make any number, and each takes a file of ours; the memory of the rest is given back as the
        /// process ends.
        const MOST: usize = 128;
        let files = || Ok(names(&self.directory).filter_map(|name| self.file(&name)).take(MOST).collect());
        Content(self.rights.act(files).unwrap_or_default())
    }
}

/// No step to another file system, nor to another part of this one that is mounted there.
const ONLY_HERE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_XDEV)
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// The directory with that name that was made here, and no other that is mounted upon it or that the name leads to.
fn made(around: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    openat2(around, name, ITSELF, Mode::empty(), ONLY_HERE)
}

fn path_of(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed with these rights is not ours.
        let _ =
            self.rights.act(|| remove(&self.around, &self.name, &self.directory).map_err(|error| error.to_string()));
    }
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

    /// A process of another user, if we may be one, with mounts of its own that a shell has made. It ends with this.
    struct Hostile(std::process::Child);

    impl Hostile {
        fn with(mounts: &str) -> Self {
            let mut unshare = std::process::Command::new("setpriv");
            if rustix::process::geteuid().is_root() {
                unshare.args(["--reuid=12345", "--regid=12345", "--clear-groups"]);
            }
            let script = format!("{mounts}\necho ready; exec sleep 60");
            unshare.args(["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", &script]);
            let mut child = unshare.stdout(std::process::Stdio::piped()).spawn().unwrap();
            let mut ready = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            Hostile(child)
        }

        fn root(&self) -> OwnedFd {
            openat(CWD, format!("/proc/{}/root", self.0.id()), OFlags::PATH, Mode::empty()).unwrap()
        }
    }

    impl Drop for Hostile {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A directory that everybody can look into, and only we can change.
    fn precious() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        std::fs::write(directory.path().join("7-0.ondeck"), "kept").unwrap();
        directory
    }

    /// As between the making of a directory and its opening.
    /// It would be held up for as long as the kernel gives who has the lease, most of a minute for each file.
    #[test]
    fn who_has_a_lease_of_a_file_is_not_waited_for() {
        let place = Place::for_process(std::process::id(), 1, 0).unwrap();
        let made = place.path().canonicalize().unwrap().join("1-0.ondeck");
        std::fs::write(&made, [7; 20_000]).unwrap();
        let leased = File::open(&made).unwrap();
        // A signal that is ignored by itself tells of the other one.
        const F_SETSIG: i32 = 10;
        // SAFETY: numbers only.
        assert_eq!(unsafe { libc::fcntl(leased.as_raw_fd(), F_SETSIG, libc::SIGURG) }, 0);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::fcntl(leased.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) }, 0);
        let began = std::time::Instant::now();
        drop(place.remove());
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_mounted_upon_the_new_directory_is_not_taken_for_it() {
        let precious = precious();
        let mounts = format!(
            "mount -t tmpfs none /dev/shm; mkdir /dev/shm/made /dev/shm/free; mount --bind {} /dev/shm/made; ln -s free /dev/shm/link",
            precious.path().display()
        );
        let hostile = Hostile::with(&mounts);
        let around = openat2(hostile.root(), "dev/shm", OFlags::PATH, Mode::empty(), ResolveFlags::IN_ROOT).unwrap();
        assert_eq!(made(&around, "made").unwrap_err(), Errno::XDEV);
        assert_eq!(made(&around, "link").unwrap_err(), Errno::NOTDIR);
        made(&around, "free").unwrap();
    }

    #[test]
    fn nothing_is_made_or_removed_where_the_process_may_not() {
        if !rustix::process::geteuid().is_root() {
            // All that it could be given away is its own.
            return;
        }
        let precious = precious();
        let mount = |place| format!("mount --bind {} {place}\n", precious.path().display());
        // The last one hides the directory's own path.
        let hostile = Hostile::with(&["/dev/shm", "/var/tmp", "/tmp"].map(mount).concat());
        let why = Place::for_process(hostile.0.id(), 1, 1).err().unwrap();
        assert!(why.contains("/dev/shm: Permission denied") && why.contains("/var/tmp: Permission denied"), "{why}");
        let left: Vec<_> =
            std::fs::read_dir(precious.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["7-0.ondeck"]);
    }

    /// As in a container without root: users of the host that are none of its own can make nothing in its file systems.
    #[test]
    fn a_process_in_a_user_namespace_has_a_place() {
        let hostile = Hostile::with("mount -t tmpfs -o mode=1777 none /dev/shm; mount -t tmpfs none /tmp");
        let place = Place::for_process(hostile.0.id(), 1, 1).unwrap();
        assert!(place.inside.starts_with("/dev/shm"), "{}", place.inside.display());
        let seen = format!("/proc/{}/root{}", hostile.0.id(), place.inside.display());
        let user = place.rights.user;
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&seen).unwrap()), user);
        drop(place);
        assert!(!Path::new(&seen).exists());
    }
}
