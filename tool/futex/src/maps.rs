//! What is mapped into a process, and which of it is code.

use crate::process::window;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The lines of `/proc/PID/maps`, one after the other: a process may have so many that all take hundreds of MB.
///
/// # Errors
/// If they may not be read, or there is no such process.
pub fn lines(pid: u32) -> io::Result<impl Iterator<Item = String>> {
    let lines = BufReader::new(File::open(format!("/proc/{}/maps", window(pid)))?).split(b'\n');
    Ok(lines.map_while(Result::ok).map(|line| String::from_utf8_lossy(&line).into_owned()))
}

/// Code that is mapped, as the kernel tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where it is in its file.
    pub(crate) offset: u64,
    /// The file's device, and its number there.
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// Whether the path has led to the file just now.
    pub(crate) is_current: bool,
}

/// The kernel's own code in each process, which reads the clocks.
pub(crate) const VDSO: &str = "[vdso]";

/// What the kernel adds to the path of a file that has none any more.
const DELETED: &str = " (deleted)";

/// The path without that.
pub(crate) fn without_mark(path: &Path) -> &Path {
    path.as_os_str().as_bytes().strip_suffix(DELETED.as_bytes()).map_or(path, |path| Path::new(OsStr::from_bytes(path)))
}

/// Code in a line of `/proc/PID/maps`, and its file.
pub(crate) fn executable(line: &str) -> Option<(Mapping, &Path)> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let (device, number, path) = (words.next()?, words.next()?, words.next()?.trim_start());
    if !rights.contains('x') || !path.starts_with('/') && path != VDSO {
        return None;
    }
    let (start, end) = pair(range, '-')?;
    let (major, minor) = pair(device, ':')?;
    let mapping = Mapping {
        start,
        end,
        offset: u64::from_str_radix(offset, 16).ok()?,
        device: major << 32 | minor,
        number: number.parse().ok()?,
        is_current: !path.ends_with(DELETED),
    };
    Some((mapping, Path::new(path)))
}

/// Two hexadecimal numbers.
fn pair(text: &str, between: char) -> Option<(u64, u64)> {
    let (first, second) = text.split_once(between)?;
    Some((u64::from_str_radix(first, 16).ok()?, u64::from_str_radix(second, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read() {
        let line =
            "7f0000001000-7f0000002000 r-xp 00026000 08:01 1234                       /usr/lib/with space/libc.so.6";
        let mapping = Mapping {
            start: 0x7f00_0000_1000,
            end: 0x7f00_0000_2000,
            offset: 0x26000,
            device: 8 << 32 | 1,
            number: 1234,
            is_current: true,
        };
        assert_eq!(executable(line), Some((mapping, Path::new("/usr/lib/with space/libc.so.6"))));
        let gone = format!("{line}{DELETED}");
        let (mapping, path) = executable(&gone).unwrap();
        assert!(!mapping.is_current && without_mark(path) == Path::new("/usr/lib/with space/libc.so.6"));
        for line in ["", "x", "7f0000001000-7f0000002000 r-xp 0 0:0 0 [vsyscall]", "1000-2000 rw-p 0 0:0 1 /a"] {
            assert_eq!(executable(line), None, "{line}");
        }
    }
}
