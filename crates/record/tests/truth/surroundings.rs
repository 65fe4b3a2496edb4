//! What a process has and the machine allows when a recording begins.

use crate::common::Mode::Exact;
use crate::common::{files, in_its_own_process, reader, samples, start};
use crate::machine::refuse;
use ondeck_record::{Marks, RecordOptions, Sleep, Source};
use std::path::Path;

const MB: u64 = 1 << 20;

/// Whether a recording begins, and with it a file.
fn begins(directory: &Path) -> bool {
    let options = RecordOptions::of_environment().expect("the environment asks");
    let n_before = files(directory).len();
    let begins = ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library);
    assert_eq!(files(directory).len(), n_before + usize::from(begins));
    begins
}

fn limit_files_to(bytes: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the answer.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) }, 0);
    limit.rlim_cur = bytes;
    // SAFETY: of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

#[test]
fn a_recording_begins_if_a_file_may_be_as_long() {
    in_its_own_process("surroundings::a_recording_begins_if_a_file_may_be_as_long", 1, |directory| {
        limit_files_to(MB - 1);
        assert!(!begins(directory) && !ondeck_record::is_on());
        limit_files_to(MB);
        assert!(begins(directory));
    });
}

/// The file system has room, and none any more as soon as something is written.
#[test]
fn without_memory_for_its_beginning_there_is_no_recording() {
    in_its_own_process("surroundings::without_memory_for_its_beginning_there_is_no_recording", 1, |_| {
        refuse(libc::MADV_POPULATE_WRITE, libc::EFAULT);
        let options = RecordOptions::of_environment().unwrap();
        assert!(!ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library));
        assert!(!ondeck_record::is_on());
    });
}

/// What finds no room then is counted, and takes no number: there are not so many.
#[test]
fn a_file_system_that_was_full_for_a_while_has_room_again() {
    in_its_own_process("surroundings::a_file_system_that_was_full_for_a_while_has_room_again", 1, |directory| {
        const N: u64 = 2000;
        start(Exact);
        let use_once = |n: u64| {
            let marks = Marks::default();
            marks.taken(n * 64);
            marks.release(n * 64).into_iter().for_each(ondeck_record::PendingRelease::done);
        };
        // For as long as a thread lives.
        let in_vain = || {
            refuse(libc::MADV_POPULATE_WRITE, libc::EFAULT);
            (1..=N).for_each(use_once);
        };
        std::thread::scope(|scope| scope.spawn(in_vain).join().unwrap());
        let mut reader = reader(directory);
        let n_known = reader.locks().unwrap().len() as u64;
        assert_eq!(n_known + reader.dropped().unwrap().locks, N);
        assert_eq!(samples(&mut reader), []);
        use_once(N + 1);
        let last = *reader.locks().unwrap().last().unwrap();
        assert_eq!((last.address, u64::from(last.number)), ((N + 1) * 64, n_known + 1));
        assert_eq!(samples(&mut reader).iter().map(|sample| sample.lock).collect::<Vec<_>>(), [last.number]);
    });
}

/// Kernels before 4.14 do not wipe pages: there a child has to be told that it is one.
#[test]
fn a_child_that_is_told_records_nothing() {
    in_its_own_process("surroundings::a_child_that_is_told_records_nothing", 1, |_| {
        refuse(libc::MADV_WIPEONFORK, libc::EINVAL);
        let options = RecordOptions::of_environment().unwrap();
        ondeck_record::ask_loader();
        assert!(
            !ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Program),
            "nobody would tell its child"
        );
        assert!(ondeck_record::start(&options, "a lock", Sleep::AtOnce, Source::Library));
        // SAFETY: the child only does what follows.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let was_on = ondeck_record::is_on();
            ondeck_record::in_child();
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!was_on) + 2 * i32::from(ondeck_record::is_on())) };
        }
        let mut status = 0;
        // SAFETY: our child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 0, "1: it was wiped, 2: it records");
        assert!(ondeck_record::is_on());
    });
}

/// The file is mapped, and not open: programs count what they have open, or close all of it.
#[test]
fn no_file_stays_open() {
    in_its_own_process("surroundings::no_file_stays_open", 1, |directory| {
        start(Exact);
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        let open: Vec<_> = open.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok()).collect();
        assert!(!open.is_empty() && open.iter().all(|path| !path.starts_with(directory)), "{open:?}");
    });
}

/// The first number of all is one like others.
#[test]
fn a_process_without_standard_input_is_recorded() {
    in_its_own_process("surroundings::a_process_without_standard_input_is_recorded", 1, |directory| {
        // SAFETY: nobody reads from it.
        assert_eq!(unsafe { libc::close(0) }, 0);
        start(Exact);
        reader(directory);
        // SAFETY: the number is free again.
        assert_eq!(unsafe { libc::fcntl(0, libc::F_GETFD) }, -1);
    });
}

#[test]
fn what_the_environment_leaves_open_is_as_usual() {
    in_its_own_process("surroundings::what_the_environment_leaves_open_is_as_usual", 7, |directory| {
        for name in [RecordOptions::RATE, RecordOptions::MAX_MB] {
            // SAFETY: this process has one thread that reads it.
            unsafe { std::env::remove_var(name.to_str().unwrap()) };
        }
        start(Exact);
        assert_eq!(reader(directory).about.rate, RecordOptions::DEFAULT_RATE);
        assert_eq!(std::fs::metadata(&files(directory)[0]).unwrap().len(), RecordOptions::DEFAULT_MAX_MB * MB);
        // SAFETY: as above.
        unsafe { std::env::remove_var(RecordOptions::DIRECTORY.to_str().unwrap()) };
        assert!(RecordOptions::of_environment().is_none());
    });
}
