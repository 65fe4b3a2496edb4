//! To handle files as another process would: with the user and group of that process, and with no capability.
//!
//! A process that is recorded may be anybody's, and we root. What it names, and what it has mounted, renamed or linked there,
//! is its own choice. So root's rights must not be what a step in its directories is done with: whatever happens to such a
//! step, the process could have done it itself.
//!
//! Rights of the kernel belong to threads. A thread takes these on, does the work, and ends; no other thread ever has them, and
//! none gets them back. Only the user *for files* changes: with another effective user, processes of this user could send us
//! signals.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups};

/// What a process may do with files, without its capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    pub(super) user: u32,
    group: u32,
}

impl Rights {
    /// Those of a process.
    pub(super) fn of(pid: u32) -> Option<Self> {
        /// Real, effective, saved, and of files.
        const OF_FILES: usize = 3;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().nth(OF_FILES)?.parse().ok()
        };
        Some(Rights { user: number("Uid:")?, group: number("Gid:")? })
    }

    /// Does something with these rights. An error if they cannot be taken on.
    pub(super) fn act<T: Send>(self, what: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
        std::thread::scope(|scope| {
            let acting = scope.spawn(|| {
                self.take_on()?;
                what()
            });
            acting.join().unwrap_or_else(|_| Err("a thread has panicked".to_owned()))
        })
    }

    /// For this thread, for good.
    fn take_on(self) -> Result<(), String> {
        let is_another = self.user != geteuid().as_raw();
        let groups = set_thread_groups(&[]);
        file_group(self.group);
        file_user(self.user);
        // The kernel does not say whether that has worked.
        let (user, group) = (file_user(ASKED), file_group(ASKED));
        let has_all = user == self.user && group == self.group && groups.is_ok();
        // Of our own user, who is not root, all other rights are those that the caller has as well.
        if user != self.user || is_another && !has_all {
            let what = "the rights of its user cannot be taken on; accepted: root, or CAP_SETUID and CAP_SETGID";
            return Err(what.to_owned());
        }
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, none).map_err(|error| format!("capabilities cannot be dropped: {error}"))
    }
}

/// No number of a user or group: changes nothing.
const ASKED: u32 = u32::MAX;

/// The user for files of this thread.
pub(super) fn own_file_user() -> u32 {
    file_user(ASKED)
}

/// Changes the user for files of this thread, and returns the one before.
fn file_user(user: u32) -> u32 {
    // SAFETY: takes a number.
    (unsafe { libc::setfsuid(user) }) as u32
}

fn file_group(group: u32) -> u32 {
    // SAFETY: as above.
    (unsafe { libc::setfsgid(group) }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// Of `/proc/thread-self/status`.
    fn line(name: &str) -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
    }

    #[test]
    fn only_the_thread_that_acts_has_other_rights() {
        let (user, capabilities) = (line("Uid:"), line("CapEff:"));
        let own = Rights::of(std::process::id()).unwrap();
        let inside = own.act(|| Ok((line("CapEff:"), line("CapPrm:")))).unwrap();
        for line in [&inside.0, &inside.1] {
            assert!(line.ends_with("\t0000000000000000"), "{line}");
        }
        assert_eq!((line("Uid:"), line("CapEff:")), (user, capabilities));
    }

    /// Root may make a file for anybody, and then cannot what this user cannot.
    #[test]
    fn root_acts_as_the_user_and_as_nobody_else() {
        let other = Rights { user: 12_345, group: 12_346 };
        let directory = tempfile::tempdir().unwrap();
        let (open, closed) = (directory.path().join("open"), directory.path().join("closed"));
        for (path, mode) in [(directory.path(), 0o755), (&open, 0o777), (&closed, 0o755)] {
            let _ = std::fs::create_dir(path);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let write =
            |path: &std::path::Path| std::fs::write(path.join("file"), "text").map_err(|error| error.to_string());
        let made = other.act(|| write(&open));
        if geteuid().is_root() {
            made.unwrap();
            let about = open.join("file").metadata().unwrap();
            assert_eq!((about.uid(), about.gid()), (12_345, 12_346));
            assert!(other.act(|| write(&closed)).unwrap_err().contains("denied"));
        } else {
            assert!(made.unwrap_err().contains("accepted: root"));
            assert!(!open.join("file").exists());
        }
    }
}
