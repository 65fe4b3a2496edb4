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
    /// The files of its recording: what else is in their directory, it may have put there.
    files: Vec<String>,
    /// Its root, which is there also once it has ended, if it has one of its own; or why that cannot be opened.
    root: Option<Result<File, String>>,
}

impl LookedAt {
    pub(super) fn new(pid: u32, files: Vec<String>) -> Self {
        let shown = window(pid);
        let of = |process: &str, what: &str| std::fs::read_link(format!("/proc/{process}/{what}")).ok();
        let is_own = ["ns/mnt", "root"].into_iter().any(|what| of("self", what) != of(&shown.to_string(), what));
        let root = || File::open(format!("/proc/{shown}/root")).map_err(|error| error.to_string());
        LookedAt { pid, files, root: is_own.then(root) }
    }

    /// Whether the path is of a file of its recording.
    pub(super) fn has(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.files.iter().any(|known| name == known.as_str()))
    }

    /// The file that has that path there, or why there is none; `None` if files there are the same as here. Links lead nowhere else
    /// than there.
    pub(super) fn open(&self, path: &Path) -> Option<Result<Arc<File>, String>> {
        let opened = |root: &File| open_within(root, path).map(Arc::new).map_err(|error| error.to_string());
        Some(self.root.as_ref()?.as_ref().map_err(String::clone).and_then(opened))
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
        let with_root = |root: Result<File, String>| LookedAt { pid: 1, files: Vec::new(), root: Some(root) };
        let process = with_root(File::open(directory.path()).map_err(|error| error.to_string()));
        let opens = |path: &str| process.open(Path::new(path)).expect("its own").is_ok();
        assert!(opens("/library") && opens("/link") && opens("/../library"));
        assert!(!opens("/out") && !opens("/pipe") && !opens("/") && !opens("/nowhere"));
        // All devices are there. To open this one makes a new terminal.
        let process = with_root(File::open("/").map_err(|error| error.to_string()));
        assert!(process.open(Path::new("/dev/ptmx")).unwrap().is_err());
        // Not the file of that name here.
        let process = with_root(Err("refused".to_owned()));
        assert_eq!(process.open(Path::new("/etc/passwd")).unwrap().unwrap_err(), "refused");
        assert!(LookedAt { root: None, ..process }.open(Path::new("/etc/passwd")).is_none());
    }

    #[test]
    fn other_files_in_the_directory_are_none_of_its_recording() {
        let process = LookedAt::new(std::process::id(), vec!["7-0.ondeck".to_owned()]);
        let has = |name: &str| process.has(&Path::new("/somewhere").join(name));
        assert!(has("7-0.ondeck") && !has("7-1.ondeck") && !has("x.ondeck"));
    }
}
