//! The tracepoints: their numbers, and where their fields are.
//!
//! Both differ between kernels, so they are read from the `format` file of each tracepoint.

use crate::refusal::Refusal;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The calls and the returns of the system call `futex`: their numbers, and where their fields are, counted from the start of
/// their data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoints {
    /// The number of a call, and its fields.
    pub(crate) enter: u16,
    pub(crate) address: usize,
    pub(crate) op: usize,
    pub(crate) value: usize,
    /// The number of a return, and its field.
    pub(crate) exit: u16,
    pub(crate) result: usize,
}

/// Where tracefs is mounted: its own place, and the older one.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Tracepoints {
    /// For tests: those of one kernel.
    pub(crate) const SOME: Tracepoints =
        Tracepoints { enter: 522, address: 16, op: 24, value: 32, exit: 521, result: 16 };

    pub(crate) fn find() -> Result<Tracepoints, Refusal> {
        Tracepoints::find_in(&PLACES.map(Path::new))
    }

    fn find_in(places: &[&Path]) -> Result<Tracepoints, Refusal> {
        let mut is_unreadable = false;
        for place in places {
            let events = place.join("events");
            match std::fs::metadata(&events) {
                Ok(_) => return Tracepoints::read(&events.join("syscalls")),
                Err(error) => is_unreadable |= error.kind() == ErrorKind::PermissionDenied,
            }
        }
        Err(if is_unreadable { Refusal::Unreadable } else { Refusal::NoTracefs })
    }

    fn read(directory: &Path) -> Result<Tracepoints, Refusal> {
        let format = |name: &str| read_format(directory.join(name).join("format"));
        let (enter, exit) = (format("sys_enter_futex")?, format("sys_exit_futex")?);
        let of_both = || {
            let [address, op, value] = ["uaddr", "op", "val"].map(|name| offset(&enter, name));
            let (address, op, value, result) = (address?, op?, value?, offset(&exit, "ret")?);
            Some(Tracepoints { enter: id(&enter)?, address, op, value, exit: id(&exit)?, result })
        };
        of_both().ok_or(Refusal::NoTracepoints)
    }
}

fn read_format(path: PathBuf) -> Result<String, Refusal> {
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Refusal::Unreadable,
        ErrorKind::NotFound => Refusal::NoTracepoints,
        _ => Refusal::Other("cannot read a tracepoint's format", error),
    })
}

fn id(format: &str) -> Option<u16> {
    format.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())
}

/// Where a field is: `field:u32 * uaddr; offset:16; size:8; signed:0;`.
fn offset(format: &str, name: &str) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let is_it = parts.next()?.rsplit([' ', '*']).next() == Some(name);
        parts.find_map(|part| part.strip_prefix("offset:")).filter(|_| is_it)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTER: &str = "name: sys_enter_futex\nID: 522\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:u32 * uaddr;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:int op;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:u32 val;\toffset:32;\tsize:8;\tsigned:0;\n\tfield:u32 val3;\toffset:56;\tsize:8;\tsigned:0;\n";
    const EXIT: &str = "ID: 521\nformat:\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";

    fn mounted(enter: &str, exit: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("sys_enter_futex", enter), ("sys_exit_futex", exit)] {
            let place = directory.path().join("events/syscalls").join(name);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("format"), text).unwrap();
        }
        directory
    }

    #[test]
    fn numbers_and_places_are_those_of_the_kernel() {
        let directory = mounted(ENTER, EXIT);
        let nowhere = Path::new("/nowhere/at/all");
        assert_eq!(Tracepoints::find_in(&[nowhere, directory.path()]).unwrap(), Tracepoints::SOME);
    }

    #[test]
    fn what_is_missing_is_told_apart() {
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(Tracepoints::find_in(&[empty.path()]), Err(Refusal::NoTracefs)));
        std::fs::create_dir(empty.path().join("events")).unwrap();
        assert!(matches!(Tracepoints::find_in(&[empty.path()]), Err(Refusal::NoTracepoints)));
        let strange = mounted("ID: 522\nformat:\n\tfield:int op;\toffset:x;\n", EXIT);
        assert!(matches!(Tracepoints::find_in(&[strange.path()]), Err(Refusal::NoTracepoints)));
    }
}
