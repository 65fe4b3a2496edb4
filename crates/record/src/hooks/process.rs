//! The process: it begins to record, forks, and ends.

use super::lock_order;
use crate::control::{self, answer, command};
use crate::files;
use crate::options::RecordOptions;
use crate::store::{self, current, locks, stacks};
use crate::{charging, counts, layout, modules, thread, walk};

/// What the lock that is recorded tells of a thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Nothing: it sleeps at once, as far as is known.
    AtOnce,
    /// When it goes to sleep.
    Told,
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
    walk::keep_first_stack();
    modules::ask_loader();
}

/// Begins to record this process, as `options` says; `lock` is the name of the lock that answers. What records a program from
/// within is exact in any case. False if there is no file;
/// then nothing is recorded. To be called by one thread at a time, before anything else here, and again in the child of
/// a fork.
pub fn start(options: &RecordOptions, lock: &str, sleep: Sleep, source: Source) -> bool {
    start_with(options, lock, sleep, source, 0)
}

/// The same; what threads had before may count, in orders of locks, until that time, which is 0 if no observer has commanded it.
fn start_with(options: &RecordOptions, lock: &str, sleep: Sleep, source: Source, until: u64) -> bool {
    forget_all();
    lock_order::begin(options.order != 0, until);
    let is_exact = options.is_exact() || source == Source::Program;
    charging::begin(is_exact, sleep == Sleep::Told, options.rate, options.budget);
    let source = match source {
        Source::Library => layout::source::LIBRARY,
        Source::Program => layout::source::PROGRAM,
    };
    let has_begun = files::start(options, lock, source, until > 0);
    // So that memory for walks and stacks is there before a lock is held.
    if let Some(recording) = current() {
        walk::stack(recording);
    }
    has_begun
}

/// Begins a recording without a file, for statistics, which end if there is no memory. As [`start`].
pub(crate) fn count(sleep: Sleep) {
    forget_all();
    charging::begin_without_samples(sleep == Sleep::Told, counts::rate());
    if !files::start_without_file(counts::rate()) {
        counts::give_up();
    }
}

/// What another recording has left, or one of our parent's.
fn forget_all() {
    thread::time_the_clock();
    control::begin(false, 0);
    lock_order::begin(false, 0);
    stacks::begin();
    locks::begin();
    walk::begin();
    modules::begin();
}

/// What a command has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The process records from here on.
    Begun,
    /// It records no more.
    Ended,
    /// Nothing.
    Nothing,
}

/// Does what an observer has commanded, see [`control`], and then `changed`, which has threads look at the recording or not,
/// and stops the bell. Nothing, and false, if no command is there, or another thread has taken it. `lock` is the name of the lock
/// that answers; `None` if that cannot be recorded.
pub fn obey(lock: Option<&str>, sleep: Sleep, source: Source, changed: impl FnOnce(Change)) -> bool {
    let wanted = control::take();
    let (change, answer) = match wanted {
        command::NOTHING => return false,
        command::BEGIN => begin_by_command(lock, sleep, source),
        _ if control::is_commanded() => {
            end(wanted == command::ABANDON);
            (Change::Ended, answer::ENDED)
        }
        _ => (Change::Nothing, answer::ENDED),
    };
    changed(change);
    control::answer(answer);
    true
}

fn begin_by_command(lock: Option<&str>, sleep: Sleep, source: Source) -> (Change, u32) {
    let Some(lock) = lock else { return (Change::Nothing, answer::OTHER_LOCK) };
    // There is one observer at a time: another one that has commanded a recording is gone.
    if control::is_commanded() {
        end(true);
    }
    match current() {
        Some(recording) if recording.has_file() => return (Change::Nothing, answer::RECORDED),
        // The statistics go on in the recording that begins.
        Some(recording) => {
            store::forget();
            counts::keep_missed(recording);
            files::give_back(recording);
        }
        None => {}
    }
    let until = thread::now_ns() + lock_order::GRACE_NS;
    if !start_with(control::begin_with(), lock, sleep, source, until) {
        return (Change::Ended, answer::NO_FILE);
    }
    control::begin(true, thread::now_ns());
    (Change::Begun, answer::BEGUN)
}

/// Ends the recording. Threads that are inside of it may still write into its file. Where nobody will read that, it is removed.
fn end(is_abandoned: bool) {
    let Some(recording) = current() else { return };
    store::forget();
    counts::keep_missed(recording);
    control::begin(false, 0);
    lock_order::begin(false, 0);
    if is_abandoned {
        files::remove(control::begun_with(), (&raw const *recording).cast_mut().cast());
    }
}

/// This process is the child of a fork, and the kernel has not wiped what it would find: that is its parent's.
pub fn in_child() {
    store::wipe();
    leave_parents();
}

/// If this process is the child of a fork, it gives back the memory of its parent's recording. May be called at any time.
pub fn leave_parents() {
    store::leave_parents();
}

/// A lock was used of which no more is recorded than waits.
#[inline]
pub fn note_lock() {
    if let Some(recording) = current() {
        recording.note_lock();
    }
}

/// The process comes to its regular end.
pub fn exit() {
    if let Some(recording) = current() {
        recording.exit();
    }
}

#[cfg(test)]
mod tests {
    use crate::charging::Marks;
    use crate::layout::NONE;
    use crate::modules::elf::tests::Image;
    use crate::modules::tests::{is_known, put};
    use crate::modules::{AddressLookup, look};
    use crate::store::{self, current};
    use crate::testing::in_its_own_process;
    use crate::thread::Hold;
    use crate::{RecordOptions, Sleep, Source, start};
    use core::sync::atomic::Ordering::Relaxed;

    /// A thread finds a recording, and has lost its core until after the next one has begun.
    #[test]
    fn who_is_late_in_one_recording_tells_the_next_one_nothing() {
        in_its_own_process("hooks::process::tests::who_is_late_in_one_recording_tells_the_next_one_nothing", |_| {
            const LOCK: u64 = 0x5000;
            let options = RecordOptions::of_environment().expect("the environment asks");
            let begin = || {
                assert!(start(&options, "a lock", Sleep::AtOnce, Source::Library));
                current().expect("it has begun")
            };
            let one = begin();
            store::forget();
            let next = begin();
            let marks = Marks::new();
            assert_eq!(marks.begin_to_wait(one, LOCK, false).unwrap().end(true, LOCK), 0);
            let hold = Some(Hold::new(one, LOCK, 0, NONE, true));
            marks.release_bare(one, LOCK, hold, |_, _| true).unwrap().done();
            assert_eq!(next.head.load(Relaxed), 0);
            // What it has left in the marks is of the one.
            let hold = Some(Hold::new(next, LOCK, 0, NONE, true));
            marks.release_bare(next, LOCK, hold, |_, _| true).unwrap().done();
            assert_eq!((one.head.load(Relaxed), next.head.load(Relaxed)), (0, 1));
        });
    }

    #[test]
    fn the_loader_is_asked() {
        in_its_own_process("hooks::process::tests::the_loader_is_asked", |_| {
            let here = look as *const () as u64;
            assert_eq!(look(here), AddressLookup::Unknown);
            // Of the process's first stack, or of none that is readable: where there is no page, there is room only on that one.
            // SAFETY: always may be called.
            let stack = unsafe { libc::getauxval(libc::AT_RANDOM) };
            let has_room = |mb: u64| {
                let has_room = crate::walk::Stack::new(stack - (mb << 20)).has_room();
                crate::thread::own().stack.set((0, 0));
                has_room
            };
            let closed = (1..120).find(|mb| !has_room(*mb)).expect("not all pages of so many MB are there");
            crate::ask_loader();
            assert!(has_room(closed));
            assert_eq!(look(here), AddressLookup::Known);
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
                assert_eq!((look(address), is_known(address)), (AddressLookup::Known, true));
            }
        });
    }

    #[test]
    fn what_is_loaded_later_is_written_down() {
        in_its_own_process("hooks::process::tests::what_is_loaded_later_is_written_down", |directory| {
            let options = RecordOptions::of_environment().expect("the environment asks");
            assert!(start(&options, "a lock", Sleep::AtOnce, Source::Program));
            let mut image = Image::new(&[]);
            assert_eq!(look(put(&mut image)), AddressLookup::Known);
            let file = directory.read_dir().unwrap().next().unwrap().unwrap().path();
            let modules = crate::read::Reader::open(&file).unwrap().modules().unwrap();
            let found: Vec<_> = modules.iter().filter(|module| module.start == image.start()).collect();
            assert_eq!((found.len(), found[0].path.to_str()), (1, Some("/a/file")));
        });
    }
}
