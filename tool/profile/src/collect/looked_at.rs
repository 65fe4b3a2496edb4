//! A process that is looked at for a while: its number here, and its files where they are others than ours.

use ondeck_futex::process::window;
use ondeck_record::read::outside::open_within;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Such a process.
#[derive(Debug)]
pub(super) struct LookedAt {
    pub(super) pid: u32,
    /// Its root, which is there also once it has ended, if it has one of its own.
    root: Option<File>,
}

impl LookedAt {
    pub(super) fn new(pid: u32) -> Self {
        let shown = window(pid);
        let of = |process: &str, what: &str| std::fs::read_link(format!("/proc/{process}/{what}")).ok();
        let is_own = ["ns/mnt", "root"].into_iter().any(|what| of("self", what) != of(&shown.to_string(), what));
        let root = is_own.then(|| File::open(format!("/proc/{shown}/root")).ok()).flatten();
        LookedAt { pid, root }
    }

    /// The file that has that path there, if files there are others than here. Links lead nowhere else than there.
    pub(super) fn open(&self, path: &Path) -> Option<Arc<File>> {
        open_within(self.root.as_ref()?, path).ok().map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As root of a process that has its own.
    #[test]
    fn what_a_process_names_is_a_file_below_its_root_or_none() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("library"), "x").unwrap();
        std::os::unix::fs::symlink("/library", at("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("out")).unwrap();
        let name = std::ffi::CString::new(at("pipe").as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: a text that ends with 0.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let process = LookedAt { pid: 1, root: File::open(directory.path()).ok() };
        let opens = |path: &str| process.open(Path::new(path)).is_some();
        assert!(opens("/library") && opens("/link") && opens("/../library"));
        assert!(!opens("/out") && !opens("/pipe") && !opens("/") && !opens("/nowhere"));
        // All devices are there. To open this one makes a new terminal.
        let process = LookedAt { pid: 1, root: File::open("/").ok() };
        assert!(process.open(Path::new("/dev/ptmx")).is_none());
    }
}
