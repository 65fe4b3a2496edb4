//! The files of a recording that a command begins. The observer makes them, so that the process has to ask the kernel for little.

use ondeck_futex::process::{number_inside, parent, window};
use ondeck_record::layout::{Header, PROGRAM_BYTES};
use rustix::process::{Resource, getrlimit};
use std::fs::{File, read_link};
use std::io;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The name of the file for one recorder of a process.
pub fn file_name(pid: u32, recorder: usize) -> String {
    format!("{}-{recorder}.ondeck", number_inside(pid).unwrap_or(pid))
}

/// Gives a new file its length, and writes into it which process it is for.
pub fn make_ready(file: &File, pid: u32, max_mb: u32) -> io::Result<()> {
    let length = u64::from(max_mb) << 20;
    // Who makes a longer file is killed.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| length > most) {
        return Err(io::Error::other("ondeck's own limit for files (ulimit -f) is less than --max-mb"));
    }
    file.set_len(length)?;
    let inside = number_inside(pid).unwrap_or(pid);
    file.write_all_at(&parent_inside(pid).to_ne_bytes(), offset_of!(Header, parent) as u64)?;
    let program = program_inside(pid);
    let program = program.as_os_str().as_bytes();
    let program = &program[..program.len().min(PROGRAM_BYTES - 1)];
    file.write_all_at(program, offset_of!(Header, program) as u64)?;
    // By this the process knows that the rest is there.
    file.write_all_at(&inside.to_ne_bytes(), offset_of!(Header, pid) as u64)
}

/// The parent, by the number that the process has for it; 0 if that is outside of its PID namespace.
fn parent_inside(pid: u32) -> u32 {
    let namespace = |pid: u32| read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(parent) = parent(pid).filter(|parent| *parent != 0) else { return 0 };
    if namespace(parent) != namespace(pid) { 0 } else { number_inside(parent).unwrap_or(parent) }
}

/// The program's file, as the process sees it.
fn program_inside(pid: u32) -> PathBuf {
    let [program, root] =
        ["exe", "root"].map(|what| read_link(format!("/proc/{}/{what}", window(pid))).unwrap_or_default());
    match program.strip_prefix(&root) {
        Ok(within) if !root.as_os_str().is_empty() => Path::new("/").join(within),
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_record::layout::HEADER_BYTES;

    #[test]
    fn a_file_is_as_the_process_would_have_made_it() {
        let file = tempfile::tempfile().unwrap();
        let pid = std::process::id();
        make_ready(&file, pid, 2).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 2 << 20);
        assert_eq!(file_name(pid, 1), format!("{pid}-1.ondeck"));
        let mut header = vec![0; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0).unwrap();
        let number = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
        assert_eq!(number(offset_of!(Header, pid)), pid);
        assert_eq!(number(offset_of!(Header, parent)), std::os::unix::process::parent_id());
        let program = &header[offset_of!(Header, program)..][..PROGRAM_BYTES];
        let program = std::ffi::CStr::from_bytes_until_nul(program).unwrap().to_str().unwrap();
        assert_eq!(Path::new(program), std::env::current_exe().unwrap());
        assert_eq!(number(offset_of!(Header, magic)), 0, "nothing is recorded yet");
    }
}
