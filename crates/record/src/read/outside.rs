//! What an observed program names and says, and how much of it an observer takes. The observer may be root, and the program
//! anybody's: a path leads where the program has put it, and a size is what it says.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::ffi::CString;
use std::format;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::string::String;
use std::sync::Arc;

/// Opens a plain file to read it: to open a device may do something, a pipe waits for its writer, and to read a file of the
/// kernel's may take away what it says. So it is looked at first, and then opened is what was looked at, whatever the path
/// leads to by then.
///
/// # Errors
/// If there is none, or it may not be read.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let seen = File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
    reopened(&seen, false)
}

/// The same of a path below a directory that is the root for all of it: no link leads out of it.
///
/// # Errors
/// If there is none, or it may not be read.
pub fn open_within(root: &File, path: &Path) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    // SAFETY: numbers, of which all may be 0.
    let mut how: libc::open_how = unsafe { core::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
    let size = size_of::<libc::open_how>();
    // SAFETY: a text that ends with 0, and a structure of that size.
    let open = || unsafe { libc::syscall(libc::SYS_openat2, root.as_raw_fd(), name.as_ptr(), &raw const how, size) };
    // The kernel gives up if anything is renamed meanwhile, anywhere.
    const MOST_TRIES: usize = 100;
    let is_told = |fd: &i64| *fd >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN);
    let fd = (1..MOST_TRIES).map(|_| open()).find(is_told).unwrap_or_else(open);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: opened just now, and nobody else's.
    reopened(&unsafe { File::from_raw_fd(fd as i32) }, false)
}

/// A file of a directory that the program may write: to read and to write, and no link.
pub(super) fn open_made(path: &Path) -> io::Result<File> {
    let seen = File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    reopened(&seen, true)
}

fn reopened(seen: &File, writes: bool) -> io::Result<File> {
    if !seen.metadata()?.is_file() {
        return Err(io::Error::other("it is not an ordinary file"));
    }
    if is_of_kernel(seen) {
        return Err(io::Error::other("it is a file of the kernel's"));
    }
    // Somebody may have a lease on it. Then this is an error, and no wait.
    let mut options = File::options();
    options.read(true).write(writes).custom_flags(libc::O_NONBLOCK);
    options.open(format!("/proc/self/fd/{}", seen.as_raw_fd()))
}

/// Whether a file's content is made when it is read, as in `/proc`.
fn is_of_kernel(file: &File) -> bool {
    const TRACEFS: i64 = 0x7472_6163;
    const CONFIGFS: i64 = 0x6265_6570;
    const PSTORE: i64 = 0x6165_676c;
    const EFIVARS: i64 = 0xde5e_81e4;
    const KINDS: [i64; 12] = [
        libc::PROC_SUPER_MAGIC,
        libc::SYSFS_MAGIC,
        libc::DEBUGFS_MAGIC,
        TRACEFS,
        CONFIGFS,
        PSTORE,
        EFIVARS,
        libc::SECURITYFS_MAGIC,
        libc::SELINUX_MAGIC,
        libc::CGROUP_SUPER_MAGIC,
        libc::CGROUP2_SUPER_MAGIC,
        libc::BPF_FS_MAGIC,
    ];
    let mut about = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: an open file, and room for the answer.
    let answer = unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) };
    // SAFETY: filled by the call, or zeros, which are numbers too.
    answer == 0 && KINDS.contains(&unsafe { about.assume_init() }.f_type)
}

/// How many bytes one observation may keep in memory of what programs say: recordings, symbols, unpacked debug information,
/// names. Files that are mapped do not count. Clones are one budget.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Amounts>);

#[derive(Debug)]
struct Amounts {
    limit: u64,
    taken: AtomicU64,
}

/// A part of a budget, given back when this is dropped. It belongs beside what it was taken for.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    bytes: u64,
}

/// There is not so much left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    wanted: u64,
    left: u64,
    limit: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget::of(Self::USUAL)
    }
}

impl Budget {
    /// The names of a large browser take some 200 MB.
    const USUAL: u64 = 512 << 20;
    /// So many files of recordings are looked at in one directory, and so many files of code of one process.
    pub const MOST_FILES: usize = 1 << 16;

    /// One of so many bytes.
    pub fn of(limit: u64) -> Self {
        Budget(Arc::new(Amounts { limit, taken: AtomicU64::new(0) }))
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// If there are fewer left. Then nothing is taken.
    pub fn take(&self, bytes: u64) -> Result<Share, Spent> {
        let mut share = Share { budget: self.clone(), bytes: 0 };
        share.grow(bytes).map(|()| share)
    }

    /// How many bytes are taken now.
    pub fn taken(&self) -> u64 {
        self.0.taken.load(Relaxed)
    }
}

impl Share {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// If there are fewer left. Then it stays as large as it is.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Spent> {
        let Amounts { limit, taken } = &*self.budget.0;
        let grown = |now: u64| now.checked_add(bytes).filter(|all| all <= limit);
        let before = taken.fetch_update(Relaxed, Relaxed, grown);
        before.map_err(|now| Spent { wanted: bytes, left: limit - now, limit: *limit })?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives so many bytes back, or as many as there are.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.0.taken.fetch_sub(bytes, Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.taken.fetch_sub(self.bytes, Relaxed);
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent { wanted, left, limit } = self;
        let [wanted, left, limit] = [wanted.div_ceil(1 << 20), left >> 20, limit >> 20];
        write!(
            f,
            "{wanted} MB more are needed. One observation keeps at most {limit} MB of what programs say, and {left} MB are left"
        )
    }
}

/// Part of a text that an observed program chose.
pub fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::string::ToString;

    #[test]
    fn a_budget_is_one_sum_and_is_given_back() {
        let budget = Budget::of(10 << 20);
        let mut first = budget.take(4 << 20).unwrap();
        let second = budget.clone().take(5 << 20).unwrap();
        let spent = budget.take(2 << 20).unwrap_err();
        assert_eq!(first.grow(2 << 20), Err(spent));
        assert_eq!(first.grow(u64::MAX).unwrap_err().left, 1 << 20, "and no sum that begins anew");
        let text = spent.to_string();
        assert!(text.starts_with("2 MB more") && text.contains("10 MB") && text.ends_with("1 MB are left"), "{text}");
        drop(second);
        first.grow(6 << 20).unwrap();
        first.shrink(3 << 20);
        assert_eq!(budget.taken(), 7 << 20);
        first.shrink(u64::MAX);
        assert_eq!(budget.taken(), 0);
        first.grow(1 << 20).unwrap();
        drop(first);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn only_plain_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let [plain, link, pipe, out] = ["plain", "link", "pipe", "out"].map(|name| directory.path().join(name));
        std::fs::write(&plain, "x").unwrap();
        symlink(&plain, &link).unwrap();
        symlink("/etc/passwd", &out).unwrap();
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: a text that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(open_plain(&plain).is_ok() && open_plain(&link).is_ok());
        // Each opening of it makes a new terminal, whose number would show.
        for path in [&pipe, Path::new("/dev/ptmx"), Path::new("/proc/self/maps"), directory.path()] {
            assert!(open_plain(path).is_err(), "{}", path.display());
        }
        assert!(open_made(&plain).is_ok() && open_made(&link).is_err() && open_made(&pipe).is_err());
        let root = File::open(directory.path()).unwrap();
        let within = |path: &str| open_within(&root, Path::new(path)).is_ok();
        assert!(within("/plain") && within("../../plain") && !within("/out") && !within("/pipe"));
        assert!(open_plain(&out).is_ok(), "where links may lead anywhere");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shortened("äöü".to_string(), 3), "ä…");
        assert_eq!(shortened("äöü".to_string(), 6), "äöü");
    }
}
