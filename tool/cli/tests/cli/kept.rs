//! What `ondeck` has found is in its list, wherever the program has gone, and the list is printed if it cannot be kept.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::kernel::built;
use crate::support::programs::{compiled, library, recorded};
use crate::support::{Run, Scratch, ondeck, words};
use ondeck_profile::Profile;
use std::process::Command;

/// A profile with nothing left out.
fn profile(flags: &[&str], words: &[&str]) -> Run {
    let usual = ["profile", "--library", library(), "--rate", "1"];
    ondeck(&[&usual, flags, &["--"], words].concat())
}

fn profiled(words: &[&str]) -> Profile {
    recorded(&["--rate", "1"], words).0
}

/// For each process, the seconds that its threads have waited for the lock `held`, and its own.
fn waited(profile: &Profile) -> Vec<(f64, f64)> {
    let locks = profile.locks.iter().filter(|lock| lock.name.starts_with("held"));
    let length = |process: u32| profile.processes[process as usize].to - profile.processes[process as usize].from;
    locks.map(|lock| (lock.wait_ns / 1e9, length(lock.process))).collect()
}

/// Whether `unshare` may make such a namespace here.
fn may_unshare(flags: &[&str]) -> bool {
    let may = Command::new("unshare").args(flags).args(["--fork", "true"]).output();
    let may = may.is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("SKIPPED: unshare {} is not allowed here", flags.join(" "));
    }
    may
}

/// Of 0.6 s with two waiters at a time, far more than one look has seen.
const MOST_OF_IT_S: f64 = 0.5;

#[test]
fn processes_are_followed_into_pid_namespaces() {
    if !may_unshare(&["--pid"]) {
        return;
    }
    let program = compiled("waiters.c", &[]);
    // Two at once, whose processes have the same numbers there, most of which nobody has here.
    let inside = format!("i=0; while [ $i -lt 150 ]; do (:); i=$((i+1)); done; {program} 600; :");
    let both = format!("unshare --pid --fork sh -c '{inside}' & unshare --pid --fork sh -c '{inside}'; wait");
    let profile = profiled(&["sh", "-c", &both]);
    let waited = waited(&profile);
    assert_eq!(waited.len(), 2, "{waited:?}, {:?}", profile.notes);
    assert!(waited.iter().all(|(waited, _)| *waited > MOST_OF_IT_S), "{waited:?}, {:?}", profile.notes);
}

#[test]
fn the_clock_of_a_time_namespace_is_understood() {
    if !may_unshare(&["--time", "--monotonic", "1000000"]) {
        return;
    }
    let program = compiled("waiters.c", &[]);
    for offset in ["1000000", "-5"] {
        let profile = profiled(&["unshare", "--time", "--monotonic", offset, "--fork", &program, "300"]);
        let waited = waited(&profile);
        assert_eq!((waited.len(), &profile.notes[..]), (1, &[][..]), "{waited:?}");
        assert!(profile.processes.iter().all(|process| process.to < profile.seconds + 2.0), "{:?}", profile.processes);
        let slice = &profile.locks[0].timeline;
        assert!(slice.amounts.len() as f64 * slice.slice < profile.seconds + 2.0, "{slice:?}");
    }
}

#[test]
fn a_process_that_goes_on_is_in_the_list() {
    let program = compiled("waiters.c", &[]);
    let start = format!("{program} 4000 >/dev/null 2>&1 & sleep 0.4; exit 3");
    let profile = profiled(&["sh", "-c", &start]);
    let waited = waited(&profile);
    assert!(waited.len() == 1 && waited[0].0 > 0.2, "{waited:?}");
}

#[test]
fn another_program_in_the_same_process_is_in_the_list_too() {
    let program = compiled("waiters.c", &[]);
    let waited = waited(&profiled(&["env", &program, "600"]));
    assert!(waited.len() == 1 && waited[0].0 > MOST_OF_IT_S, "{waited:?}");
}

#[test]
fn processes_that_do_not_record_are_named() {
    let scratch = Scratch::new();
    let program = compiled("waiters.c", &[]);
    let notes = |script: &str| {
        let notes = profiled(&["sh", "-c", &format!("{script} {program} 2600")]).notes;
        notes.iter().map(|note| note.to_string()).collect::<Vec<_>>().join("\n")
    };
    // A directory that has another name is as one that cannot be reached.
    let scripts = ["env -i", &format!("mv $ONDECK_RECORD {};", scratch.path("moved")), ""];
    // At once, as each takes more than two seconds.
    let [without, elsewhere, recorded] = std::thread::scope(|scope| {
        let notes = &notes;
        scripts.map(|script| scope.spawn(move || notes(script))).map(|run| run.join().unwrap())
    });
    assert!(without.contains("waiters (") && without.contains("environment was cleared"), "{without}");
    assert!(elsewhere.contains("waiters (") && elsewhere.contains("cannot write to the directory"), "{elsewhere}");
    assert!(!recorded.contains("without a recording"), "{recorded}");
}

#[test]
fn a_list_that_cannot_be_written_is_printed() {
    let program = compiled("waiters.c", &[]);
    for format in ["table", "json"] {
        let run = profile(&["--format", format, "--out", "/dev/full"], &[&program]);
        let has_list = run.stderr.contains("held") && run.stderr.contains("waiters: ");
        assert!(has_list && run.stderr.contains("cannot write /dev/full: No space left"), "{}", run.stderr);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
    }
    let page = profile(&["--report", "/dev/full"], &[&program]);
    assert_eq!((page.code, page.stderr.matches("\nheld\n").count()), (Some(1), 1), "{}", page.stderr);
    for line in [
        "bench --workload solo --lock ondeck --seconds 0.01 --rounds 1 --out /dev/full",
        "sim --machine m1 --workload solo --lock ondeck --seconds 0.001 --out /dev/full",
    ] {
        let run = ondeck(&words(line));
        assert!(run.stderr.contains("cannot write /dev/full"), "{}", run.stderr);
        assert!(run.code == Some(1) && run.stdout.contains("solo"), "{line}: {}{}", run.stdout, run.stderr);
    }
}

/// Its stacks have names though it has used no lock, and has ended long before the program does.
#[test]
fn a_process_without_locks_that_has_ended_has_functions() {
    let scratch = Scratch::new();
    let text = "#include <unistd.h>\n__attribute__((noinline)) static void rests(void) { char c; read(0, &c, 1); }\n\
        int main(void) { rests(); return 0; }\n";
    let (source, program) = (scratch.write("rests.c", text), scratch.path("rests"));
    built("cc", &["-O1", "-g", "-o", &program, &source]);
    let profile = profiled(&["sh", "-c", &format!("sleep 0.5 | {program}; sleep 0.7")]);
    let is_there = |stack| profile.frames_of(stack).any(|frame| frame.function == "rests");
    assert!(profile.times.iter().filter_map(|time| time.stack).any(is_there), "{:?}", profile.frames);
}
