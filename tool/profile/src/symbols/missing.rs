//! How a user gets names for functions of stripped files: a command that fits the system.

use crate::Note;
use ondeck_kit::wording::{counted, plain, typed};
use std::path::Path;

/// So many files are fetched by one command, those with the most functions: more would be no line any more.
const MOST_FILES: usize = 4;

/// Directories of what the system's packages hold. No server knows the debug files of others.
const PACKAGED: [&str; 6] = ["/usr/bin", "/usr/sbin", "/usr/lib", "/lib", "/bin", "/sbin"];

/// Systems with a server of debug files: their `ID` in `/etc/os-release`, the server, and how its client is installed.
const SERVERS: [(&str, &str, &str); 5] = [
    ("debian", "https://debuginfod.debian.net", "apt-get install debuginfod"),
    ("ubuntu", "https://debuginfod.ubuntu.com", "apt-get install debuginfod"),
    ("fedora", "https://debuginfod.fedoraproject.org", "dnf install elfutils-debuginfod-client"),
    ("arch", "https://debuginfod.archlinux.org", "pacman -S debuginfod"),
    ("opensuse", "https://debuginfod.opensuse.org", "zypper install debuginfod-client"),
];

/// What is known of the system.
pub(super) struct System {
    /// The text of `/etc/os-release`.
    pub(super) release: String,
    /// Whether the client of the servers is there.
    pub(super) has_client: bool,
}

impl System {
    pub(super) fn this() -> System {
        let path = std::env::var_os("PATH").unwrap_or_default();
        System {
            release: std::fs::read_to_string("/etc/os-release").unwrap_or_default(),
            has_client: std::env::split_paths(&path).any(|directory| directory.join("debuginfod-find").is_file()),
        }
    }

    fn server(&self) -> Option<(&'static str, &'static str)> {
        let id = self.release.lines().find_map(|line| line.strip_prefix("ID=")).unwrap_or_default();
        // opensuse-leap, opensuse-tumbleweed.
        let id = id.trim_matches('"').split('-').next().unwrap_or_default();
        SERVERS.iter().find(|(name, ..)| *name == id).map(|(_, server, install)| (*server, *install))
    }
}

/// What to do about these files, those with the most functions first.
pub(super) fn how_to_get_names(files: &[&Path], system: &System) -> Option<Note> {
    let first = files.first()?;
    let have = if files.len() == 1 { "has" } else { "have" };
    let said = format!(
        "some functions have no names, because {} {have} no debug symbols",
        match files.len() {
            1 => plain(&first.display().to_string()),
            n => counted(n, "file"),
        }
    );
    let packaged: Vec<&Path> = files.iter().copied().filter(|file| is_packaged(file)).take(MOST_FILES).collect();
    let fetched = match (packaged.len(), files.len()) {
        (n, all) if n == all => "them".to_owned(),
        (1, _) => format!("those of {}", plain(&packaged[0].display().to_string())),
        (n, _) => format!("those of {n} files"),
    };
    match system.server().filter(|_| !packaged.is_empty()) {
        Some((server, install)) => Some(Note::with_command(
            &format!("{said}. Fetch {fetched}, then profile again:"),
            &command(&packaged, server, install, system),
        )),
        None => Some(format!("{said}. Install debug symbols, or compile with -g and don't strip").into()),
    }
}

fn is_packaged(file: &Path) -> bool {
    PACKAGED.iter().any(|directory| file.starts_with(directory))
}

fn command(files: &[&Path], server: &str, install: &str, system: &System) -> String {
    let install = if system.has_client { String::new() } else { format!("sudo {install} && ") };
    match typed(files) {
        only if files.len() == 1 => format!("{install}DEBUGINFOD_URLS={server} debuginfod-find debuginfo {only}"),
        many => format!(
            "{install}for file in {many}; do DEBUGINFOD_URLS={server} debuginfod-find debuginfo \"$file\"; done"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn told(files: &[&str], release: &str, has_client: bool) -> String {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        how_to_get_names(&files, &System { release: release.into(), has_client })
            .map_or_else(String::new, |note| note.to_string())
    }

    const DEBIAN: &str = "PRETTY_NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n";

    #[test]
    fn the_command_fits_the_system() {
        assert_eq!(
            told(&["/usr/bin/sysbench"], DEBIAN, true),
            "some functions have no names, because /usr/bin/sysbench has no debug symbols. Fetch them, then profile again:\n\
             DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find debuginfo /usr/bin/sysbench"
        );
        let two = ["/usr/bin/a b", "/srv/own", "/lib/x86_64-linux-gnu/libc.so.6"];
        assert_eq!(
            told(&two, "ID=\"opensuse-leap\"\n", false),
            "some functions have no names, because 3 files have no debug symbols. Fetch those of 2 files, then \
             profile again:\n\
             sudo zypper install debuginfod-client && for file in '/usr/bin/a b' /lib/x86_64-linux-gnu/libc.so.6; do \
             DEBUGINFOD_URLS=https://debuginfod.opensuse.org debuginfod-find debuginfo \"$file\"; done"
        );
    }

    #[test]
    fn no_command_is_better_than_one_that_fails() {
        let own = told(&["/srv/own"], DEBIAN, true);
        assert!(own.ends_with("compile with -g and don't strip") && !own.contains('\n'), "{own}");
        let unknown = told(&["/usr/bin/sysbench"], "ID=slackware\n", true);
        assert!(!unknown.contains("debuginfod"), "{unknown}");
        assert!(!told(&["/usr/local/bin/own"], DEBIAN, true).contains("debuginfod"));
        assert!(!told(&["/usr/bin/sysbench"], "", true).contains("debuginfod"));
        assert_eq!(told(&[], DEBIAN, true), "");
    }

    #[test]
    fn a_command_stays_a_line() {
        let names: Vec<String> = (0..40).map(|n| format!("/usr/lib/lib{n}.so")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = told(&names, DEBIAN, true);
        assert!(
            text.contains("40 files")
                && text.contains("those of 4 files")
                && text.matches("/usr/lib/").count() == MOST_FILES,
            "{text}"
        );
    }
}
