//! Building the programs, and running them with and without the recorder.

use crate::support::programs::{compiled, library};
use crate::truth::Truth;
use ondeck_profile::Profile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};

/// Who answers the program's calls.
pub(crate) const LOCKS: [&str; 2] = ["glibc", "ondeck"];

/// The programs that measure themselves.
const PROGRAMS: [&str; 10] = [
    "c11.c",
    "charges.c",
    "children.c",
    "conditions.c",
    "kinds.c",
    "often.c",
    "several.cpp",
    "sites.c",
    "special.c",
    "waits.cpp",
];

/// Where a program is. All are made before the first runs: compilers would disturb what it measures.
fn program(name: &str) -> &'static str {
    static MADE: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
        let rest = Mutex::new(PROGRAMS.into_iter());
        let make_some = || std::iter::from_fn(|| rest.lock().unwrap().next()).map(made).collect();
        std::thread::scope(|scope| {
            let n = std::thread::available_parallelism().unwrap().get();
            let makers: Vec<_> = (0..n).map(|_| scope.spawn(|| -> Vec<_> { make_some() })).collect();
            makers.into_iter().flat_map(|maker| maker.join().unwrap()).collect()
        })
    });
    &MADE[name]
}

fn made(source: &'static str) -> (&'static str, String) {
    let (name, ending) = source.split_once('.').expect("a source has an ending");
    let standard = if ending == "cpp" { "-std=gnu++17" } else { "-std=gnu17" };
    (name, compiled(source, &["-O2", standard, "-Wall", "-Wextra", "-Werror"]))
}

/// A directory for what one run leaves; it stays until the next one, to be looked at.
struct RunDirectory(PathBuf);

impl RunDirectory {
    fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("known-runs").join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        RunDirectory(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn truths(&self) -> Vec<Truth> {
        let mut truths = Vec::new();
        for entry in self.0.read_dir().unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_str().unwrap().starts_with("truth.") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let truth: Truth = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
                truths.push(truth);
            }
        }
        truths
    }
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A program without the recorder: what it knows of itself.
pub(crate) fn run_alone(name: &str) -> Vec<Truth> {
    /// A directory for each, as tests with each of the locks do so at the same time.
    static N_ALONE: AtomicU32 = AtomicU32::new(0);
    let directory = RunDirectory::new(&format!("{name}-alone-{}", N_ALONE.fetch_add(1, Relaxed)));
    let output = Command::new(program(name)).arg(directory.path("truth")).output().unwrap();
    let truths = directory.truths();
    assert!(!truths.is_empty(), "{name}: it wrote nothing of itself: {}", output_text(&output));
    truths
}

/// What a profiled run left.
pub(crate) struct ProfiledRun {
    pub(crate) profile: Profile,
    pub(crate) truths: Vec<Truth>,
    /// The program with its path, and its arguments.
    pub(crate) command: Vec<String>,
}

/// A program under the recorder. `rate` is the default without.
pub(crate) fn run_profiled(name: &str, lock: &str, rate: Option<u32>) -> Result<ProfiledRun, String> {
    let directory = RunDirectory::new(&format!("{name}-{lock}"));
    let out = directory.path("profile.json");
    let command = vec![program(name).to_owned(), directory.path("truth")];
    let mut ondeck = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    ondeck.args(["profile", "--library", library(), "--lock", lock, "--each-lock", "-o", &out]);
    if let Some(rate) = rate {
        ondeck.args(["--rate", &rate.to_string()]);
    }
    let output = ondeck.arg("--").args(&command).stdin(Stdio::null()).output().unwrap();
    let text = output_text(&output);
    if !output.status.success() {
        return Err(format!("{}: {text}", output.status));
    }
    let json = std::fs::read_to_string(&out).map_err(|error| format!("no profile: {error}: {text}"))?;
    let profile: Profile = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    let truths = directory.truths();
    if truths.is_empty() {
        return Err(format!("it wrote nothing of itself: {text}"));
    }
    Ok(ProfiledRun { profile, truths, command })
}
