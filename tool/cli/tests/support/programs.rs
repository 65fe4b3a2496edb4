//! The programs in `proof/testprograms/known`, and what is told of their runs.

pub(crate) use super::library::{built, library};
use super::{Run, Scratch, ondeck};
use ondeck_profile::Profile;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// Says which test is left out for want of something.
pub(crate) fn skipped(what: &str) {
    let this = std::thread::current();
    eprintln!("SKIPPED: {} needs {what}", this.name().unwrap_or("a test"));
}

/// Whether system calls can be traced. Mounts what is missing, if this user may.
pub(crate) fn may_trace() -> bool {
    let place = "/sys/kernel/tracing";
    let format = format!("{place}/events/syscalls/sys_enter_futex/format");
    if std::fs::read(&format).is_err() {
        let _ = Command::new("mount").args(["-t", "tracefs", "nodev", place]).stderr(Stdio::null()).status();
    }
    // SAFETY: always may be called.
    let is_root = unsafe { libc::geteuid() } == 0;
    let may = is_root && std::fs::read(&format).is_ok();
    if !may {
        skipped(&format!("root and tracefs (sudo mount -t tracefs nodev {place})"));
    }
    may
}

/// The profile that these flags and words of `ondeck profile` give, and the run.
pub(crate) fn profiled(arguments: &[&str]) -> (Profile, Run) {
    let scratch = Scratch::new();
    let json = scratch.path("profile.json");
    let run = ondeck(&[&["profile", "-o", &json], arguments].concat());
    assert!(Path::new(&json).is_file(), "{}", run.stderr);
    (profile_in(&json), run)
}

/// The same with the library in the program that the words name.
pub(crate) fn recorded(flags: &[&str], words: &[&str]) -> (Profile, Run) {
    profiled(&[&["--library", library()], flags, &["--"], words].concat())
}

/// The profile of a run that ends well.
#[track_caller]
pub(crate) fn profile_of(arguments: &[&str]) -> Profile {
    let (profile, run) = profiled(arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    profile
}

/// The same with the library in the program.
#[track_caller]
pub(crate) fn recording_of(flags: &[&str], words: &[&str]) -> Profile {
    profile_of(&[&["--library", library()], flags, &["--"], words].concat())
}

/// The profile in a file.
pub(crate) fn profile_in(json: &str) -> Profile {
    ondeck_profile::json::from_json(&std::fs::read_to_string(json).unwrap()).unwrap()
}

/// A source.
pub(crate) fn source(name: &str) -> String {
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/testprograms/known").canonicalize().unwrap();
    known.join(name).to_str().unwrap().to_owned()
}

/// A program, made once with these flags: who changes its file takes a copy.
#[track_caller]
pub(crate) fn compiled(name: &str, flags: &[&str]) -> String {
    try_compiled(name, flags).unwrap_or_else(|| panic!("{name} {flags:?} cannot be compiled"))
}

/// The same where not every compiler can do it: then it is said what is left out.
pub(crate) fn try_compiled(name: &str, flags: &[&str]) -> Option<String> {
    /// By a hash of what they are made of. Who wants one waits for its compiler only.
    type Programs = HashMap<u64, Arc<OnceLock<Option<String>>>>;
    static MADE: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);
    let key = made_of(name, flags);
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    made.get_or_init(|| make(name, flags, key)).clone()
}

/// Where `ondeck.h` and `ondeck.hpp` are.
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/capi/include");

/// A hash of sources, flags, and the state of files that the flags name.
fn made_of(name: &str, flags: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, flags).hash(&mut hasher);
    let headers = ["sleepers.h", "known.h", "truth.h", "../check.h"].map(source);
    let for_locks = ["ondeck.h", "ondeck.hpp"].map(|header| format!("{HEADERS}/{header}"));
    for file in [source(name)].iter().chain(&headers).chain(&for_locks) {
        std::fs::read(file).unwrap().hash(&mut hasher);
    }
    for file in flags.iter().filter_map(|flag| std::fs::metadata(flag).ok()) {
        (file.len(), file.modified().unwrap()).hash(&mut hasher);
    }
    hasher.finish()
}

/// Compiles a program, unless an earlier run of the tests has.
fn make(name: &str, flags: &[&str], key: u64) -> Option<String> {
    let (stem, kind) = name.split_once('.').expect("a source has an ending");
    let program = if flags.contains(&"-shared") { format!("{stem}.so") } else { stem.to_owned() };
    let own = format!("{}/compiled/{kind}-{key:x}", env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&own).unwrap();
    let program = Path::new(&own).canonicalize().unwrap().join(program).to_str().unwrap().to_owned();
    if Path::new(&program).is_file() {
        return Some(program);
    }
    let new = format!("{program}.{}", std::process::id());
    let usual = ["-g", "-O1", "-pthread", "-I", HEADERS];
    let (compiler, usual) = match kind {
        "rs" => ("rustc", &["-g", "--edition=2024"][..]),
        "cpp" => ("c++", &usual[..]),
        _ => ("cc", &usual[..]),
    };
    let output = Command::new(compiler).args(usual).args(["-o", &new, &source(name)]).args(flags).output().unwrap();
    if !output.status.success() {
        skipped(&format!("what this says is missing: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    std::fs::rename(&new, &program).unwrap();
    Some(program)
}

/// A copy of a program under its own name, for who looks for it or changes its file.
pub(crate) fn own_copy(scratch: &Scratch, program: &str) -> String {
    let copy = scratch.path(Path::new(program).file_name().unwrap().to_str().unwrap());
    std::fs::copy(program, &copy).unwrap();
    copy
}

/// An example of another package, which records.
pub(crate) fn recording_example(package: &str, name: &str) -> String {
    let built = built(&format!("../../crates/{package}"), &["--features", "record", "--example", name]);
    built.join("examples").join(name).to_str().unwrap().to_owned()
}
