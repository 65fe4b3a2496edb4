//! What a program's threads write down of its locks while it runs.
//!
//! | module | what is in it | uses |
//! |---|---|---|
//! | `layout` | the form of a recording: one file for each process | |
//! | `options` | what is to be recorded | |
//! | `control` | orders from outside, to begin and to end | `layout`, `options` |
//! | `thread` | what the calling thread has for itself, its clock, and its numbers by chance | |
//! | `store` | the recording of this process: entries for locks, names, samples, stacks and waiting threads | `control`, `thread` |
//! | `modules` | the program's files as they are loaded | `store` |
//! | `walk` | the calling thread's stack | `modules` |
//! | `files` | making the file of a process | `modules` |
//! | `buckets` | how lengths are sorted for statistics | |
//! | `counts` | statistics of the locks, in memory | `walk` |
//! | `charging` | who waits, who is charged for it, and what that costs | `walk` |
//! | `hooks` | what locks call | `charging`, `counts`, `files` |
//! | `stats` | what the program asks for its statistics | `hooks` |
//! | `read` | recordings, for those who read them; what they take of an observed program | `files` |
//!
//! Each may use as well what those use that it uses, and nothing else. The parts of a module use its head and each other in
//! one direction.
//!
//! The writing half runs in somebody else's program, inside its locks: it takes no lock of its own that anybody waits for,
//! opens files only when a process begins, and asks for no memory but when a module is seen for the first time. `stats` is called
//! by the program itself.

mod buckets;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod charging;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
pub mod control;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod counts;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod files;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
pub mod filters;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod hooks;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
pub mod layout;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod modules;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod options;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
pub mod read;
pub mod stats;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod store;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod thread;
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod walk;

#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
pub use {
    charging::{LONG_NS, Marks},
    hooks::*,
    options::RecordOptions,
    store::is_on,
    store::names::name,
    thread::ask_by,
};

/// A process of its own for a test: what the recorder knows is known once for each process.
#[cfg(all(test, target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod testing {
    use std::path::Path;
    use std::process::Command;

    /// Names the test that a process is for.
    const CASE: &str = "ONDECK_RECORD_UNIT_CASE";

    /// Runs `body` in a process of its own, whose environment asks for a recording of 1 MB, of each acquisition, in the directory
    /// that `body` is given. `name` is the test's.
    #[track_caller]
    pub(crate) fn in_its_own_process(name: &str, body: impl FnOnce(&Path)) {
        if std::env::var(CASE).is_ok_and(|case| case == name) {
            return body(Path::new(&std::env::var_os("ONDECK_RECORD").expect("is set with the case")));
        }
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        command.env(CASE, name).env("ONDECK_RECORD", directory.path());
        command.env("ONDECK_RECORD_RATE", "1").env("ONDECK_RECORD_MAX_MB", "1");
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{name}: {}\n{text}", output.status);
        assert!(text.contains("1 passed"), "no test is called {name}:\n{text}");
    }
}
