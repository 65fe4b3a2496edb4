//! What a program's threads write down of its locks while it runs.
//!
//! What is charged to whom, and what that costs: `account`.
//!
//! | file | what is in it |
//! |---|---|
//! | `layout` | the form of a recording: one file for each process |
//! | `waiting` | how many wait, and since when, in one word |
//! | `account` | what a lock and a wait have on their account |
//! | `thread` | what each thread has for itself |
//! | `memory` | what of it may be read |
//! | `chance` | which of many is looked at |
//! | `recording` | where the file is, and its entries |
//! | `ring` | samples, on their way to whoever reads |
//! | `waiters` | which threads wait now |
//! | `named` | names that the program gives its locks |
//! | `locks` | what is known of each lock, by its address where it has no room for a number |
//! | `stacks` | each stack once |
//! | `stamp` | what tells a file from another in its place |
//! | `modules` | the program's files as they are loaded |
//! | `file` | making the file |
//! | `walk` | the calling thread's stack |
//! | `holds` | what a thread remembers of its own holds |
//! | `charge` | what is charged, and what of it is recorded |
//! | `marks`, `wait`, `release` | what a thread does as it acquires a lock, waits for it, and releases it |
//! | `several` | the same for locks that many may have at once to read |
//! | `bare` | the same for locks that have no room for marks |
//! | `tries` | tries to lock a mutex that another thread has |
//! | `opaque` | waits on what has no marks |
//! | `read` | recordings, for those who read them |
//!
//! Each but the last uses those above it.
//!
//! The writing half runs in somebody else's program, inside its locks: it takes no lock of its own that anybody waits for,
//! opens files only when a process begins, and asks for no memory but when a module is seen for the first time.

#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

mod account;
pub mod bare;
mod chance;
mod charge;
mod file;
mod holds;
pub mod layout;
mod locks;
mod marks;
mod memory;
mod modules;
mod named;
mod opaque;
pub mod read;
mod recording;
mod release;
mod ring;
mod several;
mod stacks;
mod stamp;
mod thread;
mod tries;
mod wait;
mod waiters;
mod waiting;
mod walk;

pub use account::{Marks, Wait};
pub use charge::LONG_NS;
pub use file::Wish;
pub use marks::count;
pub use named::name;
pub use opaque::{Opaque, forget, notifies};
pub use recording::is_on;
pub use release::Pending;
pub use several::{Access, is_due, prepare_to_read};
pub use thread::ask_by;
pub use wait::{rotated, slept, spun, woke};

/// What the lock that is recorded tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charging {
    /// Each acquire and release that somebody waits for is looked at.
    Exact,
    /// Waiters ask for a look.
    AtInstants,
}

/// Which part of the process records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The library that stands in for the C library's locks.
    Library,
    /// The program itself.
    Program,
}

/// Asks the loader which files the program is of. To be called before the program starts: takes the loader's lock.
pub fn ask_loader() {
    modules::ask_loader();
}

/// Begins to record this process, as `wish` says; `lock` is the name of the lock that answers. False if there is no file;
/// then nothing is recorded. To be called by one thread at a time, before anything else here, and again in the child of
/// a fork.
pub fn start(wish: &Wish, lock: &str, charging: Charging, source: Source) -> bool {
    memory::time_the_clock();
    stacks::begin();
    locks::begin();
    walk::begin();
    modules::begin();
    account::begin(charging == Charging::Exact);
    let source = match source {
        Source::Library => layout::source::LIBRARY,
        Source::Program => layout::source::PROGRAM,
    };
    let has_begun = file::start(wish, lock, source);
    // So that memory for walks and stacks is there before a lock is held.
    if let Some(recording) = file::current() {
        walk::stack(recording);
    }
    has_begun
}

/// This process is the child of a fork: what it would find is its parent's.
pub fn in_child() {
    file::forget();
}

/// A lock was used of which no more is recorded than waits.
#[inline]
pub fn note_lock() {
    if let Some(recording) = file::current() {
        recording.note_lock();
    }
}

/// The process comes to its regular end.
pub fn exit() {
    if let Some(recording) = file::current() {
        recording.exit();
    }
}

/// A process of its own for a test: what the recorder knows is known once for each process.
#[cfg(test)]
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

#[cfg(test)]
mod tests {
    use crate::memory;
    use crate::modules::tests::{Image, is_known, put};
    use crate::modules::{Look, look};
    use crate::testing::in_its_own_process;

    #[test]
    fn the_loader_is_asked() {
        in_its_own_process("tests::the_loader_is_asked", |_| {
            let here = look as *const () as u64;
            assert_eq!(look(here), Look::Unknown);
            // Of the process's first stack, or of none that is readable: where there is no page, there is room only on that one.
            // SAFETY: always may be called.
            let stack = unsafe { libc::getauxval(libc::AT_RANDOM) };
            let has_room = |mb: u64| {
                let has_room = memory::Stack::new(stack - (mb << 20)).has_room();
                crate::thread::own().stack.set((0, 0));
                has_room
            };
            let closed = (1..120).find(|mb| !has_room(*mb)).expect("not all pages of so many MB are there");
            crate::ask_loader();
            assert!(has_room(closed));
            assert_eq!(look(here), Look::Known);
            // What the C library has and this program does not need.
            // SAFETY: a string of C, and a library that does nothing when it is loaded.
            let library = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let line = maps.lines().find(|line| line.contains("libresolv"));
            let address = line.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
            assert_eq!(library.is_null(), address.is_none());
            // SAFETY: a string of C.
            let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
            if let Some(address) = address.filter(|_| !find.is_null()) {
                assert!(!is_known(address));
                assert_eq!((look(address), is_known(address)), (Look::Known, true));
            }
        });
    }

    #[test]
    fn what_is_loaded_later_is_written_down() {
        in_its_own_process("tests::what_is_loaded_later_is_written_down", |directory| {
            let wish = crate::Wish::of_environment().expect("the environment asks");
            assert!(crate::start(&wish, "a lock", crate::Charging::Exact, crate::Source::Program));
            let mut image = Image::new(&[]);
            assert_eq!(look(put(&mut image)), Look::Known);
            let file = directory.read_dir().unwrap().next().unwrap().unwrap().path();
            let modules = crate::read::Reader::open(&file).unwrap().modules().unwrap();
            let found: Vec<_> = modules.iter().filter(|module| module.start == image.start()).collect();
            assert_eq!((found.len(), found[0].path.to_str()), (1, Some("/a/file")));
        });
    }
}
