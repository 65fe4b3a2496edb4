//! The loader, run as a program: `ld.so OPTIONS PROGRAM ARGUMENTS`. The kernel then takes the loader for the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Whether a file is glibc's loader, by its name: where links end.
pub fn is_loader(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or(path.to_owned());
    path.file_name().is_some_and(|name| is_name_of_loader(name.as_bytes()))
}

/// Whether glibc's loader is called so.
pub fn is_name_of_loader(name: &[u8]) -> bool {
    [&b"ld-linux"[..], b"ld-2.", b"ld64.so"].iter().any(|start| name.starts_with(start))
}

/// The program among the words behind the loader's name.
///
/// # Errors
/// The option with which the loader runs none; empty if no word is left.
pub fn program_of<S: AsRef<OsStr>>(words: &[S]) -> Result<&OsStr, &OsStr> {
    const WITH_VALUE: [&str; 7] = [
        "--library-path",
        "--glibc-hwcaps-prepend",
        "--glibc-hwcaps-mask",
        "--inhibit-rpath",
        "--audit",
        "--preload",
        "--argv0",
    ];
    const WITHOUT: [&str; 6] = ["--list", "--verify", "--help", "--version", "--list-tunables", "--list-diagnostics"];
    let mut words = words.iter().map(AsRef::as_ref);
    let is_any = |word: &OsStr, options: &[&str]| options.iter().any(|option| word == OsStr::new(option));
    // Each turn takes a word.
    loop {
        match words.next() {
            None => return Err(OsStr::new("")),
            Some(word) if word == "--" => return words.next().ok_or(OsStr::new("")),
            Some(word) if is_any(word, &WITHOUT) => return Err(word),
            Some(word) if is_any(word, &WITH_VALUE) => drop(words.next()),
            Some(word) if word.as_bytes().starts_with(b"--") => {}
            Some(word) => return Ok(word),
        }
    }
}

/// The program of a process of which the kernel says that it is the loader.
pub(crate) fn program_of_process(pid: u32) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<OsString> = line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect();
    let program = Path::new(program_of(words.get(1..)?).ok()?);
    let here = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    Some(here.join(program.strip_prefix(".").unwrap_or(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_word_that_is_no_option() {
        let program = |words: &str| {
            let words: Vec<&str> = words.split_whitespace().collect();
            program_of(&words).map(|word| word.to_owned()).map_err(|word| word.to_owned())
        };
        for (words, expected) in [
            ("./app a b", Ok("./app")),
            ("--library-path /a:/b --inhibit-cache --argv0 name ./app --list", Ok("./app")),
            ("--preload /x.so --audit y -- ./app", Ok("./app")),
            ("--list ./app", Err("--list")),
            ("--argv0 ./app", Err("")),
            ("", Err("")),
        ] {
            assert_eq!(program(words), expected.map(Into::into).map_err(Into::into), "{words}");
        }
    }
}
