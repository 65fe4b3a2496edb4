//! Programs whose locks are no matter of speed: what they compute must be the same.

use super::preload::Variant;
use super::process::{Process, Usage, run_plain};
use super::table::Setting;
use super::{Ground, Sample, needs};
use ondeck_report::fingerprint;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const TEXT: &str = "text";
/// Bytes that are compressed: enough blocks for every thread.
const TEXT_BYTES: usize = 16 << 20;
const FILES: u32 = 400;
const COMMITS: u32 = 4;
/// How long the program under valgrind may take until it begins.
const BEGINNING: Duration = Duration::from_secs(30);

fn same(result: String) -> Sample {
    Sample { seconds: 0.0, ops: 0.0, usage: Usage::default(), result, times: None }
}

/// Text that compresses, but not to nothing: numbers of a small generator.
fn text(n_bytes: usize, seed: u64) -> String {
    let (mut text, mut state) = (String::with_capacity(n_bytes + 32), seed | 1);
    while text.len() < n_bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "line {} of {:x}", state >> 52, state >> 40);
    }
    text
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn hash_of(file: &Path) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    // Only compared with itself, so it need not be text.
    Ok(fingerprint::hash(&String::from_utf8_lossy(&bytes)) + &format!(" of {} bytes", bytes.len()))
}

pub(super) fn prepare_text(ground: &Ground) -> Result<(), String> {
    write(&ground.file(TEXT), &text(ground.either(TEXT_BYTES, TEXT_BYTES / 2), 1))
}

/// Compresses the text and expands it again.
fn there_and_back(ground: &Ground, variant: &Variant, there: Command, mut back: Command) -> Result<Sample, String> {
    let (small, large) = (ground.file("small.out"), ground.file("large.out"));
    let mut there = there;
    Process::start(there.arg(ground.file(TEXT)), variant, &small)?.finish(ground.limit())?;
    Process::start(back.arg(&small), variant, &large)?.finish(ground.limit())?;
    if fs::read(&large).ok() != fs::read(ground.file(TEXT)).ok() {
        return Err("what was compressed expands to something else".into());
    }
    Ok(same(hash_of(&small)?))
}

pub(super) fn pigz(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let (mut there, mut back) = (needs::command("pigz"), needs::command("pigz"));
    there.args(["-p", &setting.threads.to_string(), "-b", "32", "-n", "-c"]);
    // Expanding takes a thread to read, one to write and one to check.
    back.args(["-p", &setting.threads.to_string(), "-d", "-c", "-f"]);
    there_and_back(ground, variant, there, back)
}

pub(super) fn xz(ground: &Ground, setting: &Setting, variant: &Variant) -> Result<Sample, String> {
    let (mut there, mut back) = (needs::command("xz"), needs::command("xz"));
    there.args([&format!("-T{}", setting.threads), "-1", "--block-size=1MiB", "-c"]);
    back.args([&format!("-T{}", setting.threads), "-d", "-c", "-f", "--format=xz"]);
    there_and_back(ground, variant, there, back)
}

/// Git with nobody's settings, and the same author and time for each commit, so that all names are the same.
fn git_command(place: &Path, words: &[&str]) -> Command {
    let mut command = needs::command("git");
    command.current_dir(place).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_AUTHOR_DATE", "1700000000 +0000").env("GIT_COMMITTER_DATE", "1700000000 +0000");
    for (name, value) in [("user.name", "nobody"), ("user.email", "nobody@localhost"), ("gc.auto", "0")] {
        command.args(["-c", &format!("{name}={value}")]);
    }
    for name in ["pack.threads", "grep.threads", "index.threads"] {
        command.args(["-c", &format!("{name}=8")]);
    }
    command.args(words);
    command
}

pub(super) fn prepare_git(ground: &Ground) -> Result<(), String> {
    let place = ground.file("origin");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let git = |words: &[&str]| run_plain(&mut git_command(&place, words), &ground.file("git.out"), ground.limit());
    git(&["init", "--quiet", "--initial-branch=main"])?;
    for commit in 0..COMMITS {
        for file in 0..ground.either(FILES, FILES / 4) {
            let seed = u64::from(file / 3 * 7 + commit);
            write(&place.join(format!("file-{file}")), &text(4000, seed))?;
        }
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", &format!("commit {commit}")])?;
    }
    Ok(())
}

pub(super) fn git(ground: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
    let copy = ground.file("copy");
    let _ = fs::remove_dir_all(&copy);
    let run = |words: &[&str]| {
        let place = if copy.is_dir() { &copy } else { &ground.place };
        Process::start(&mut git_command(place, words), variant, &ground.file("git.out"))?.finish(ground.limit())
    };
    run(&["clone", "--quiet", "--no-local", "origin", "copy"])?;
    run(&["gc", "--quiet", "--aggressive", "--prune=now"])?;
    let found = run(&["grep", "--count", "of [0-9a-f]*a[0-9]"])?.text;
    run(&["fsck", "--full", "--strict"])?;
    let objects = run(&["cat-file", "--batch-check", "--batch-all-objects"])?.text;
    let packs = fs::read_dir(copy.join(".git/objects/pack")).map_err(|error| format!("packs: {error}"))?;
    let pack = packs.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "pack"));
    let pack = pack.ok_or("`git gc` has left no pack")?.display().to_string();
    let index = ground.file("again.idx").display().to_string();
    let _ = fs::remove_file(&index);
    run(&["index-pack", "--threads=8", "-o", &index, &pack])?;
    let (n_found, n_objects) = (found.lines().count(), objects.lines().count());
    let hashes = (fingerprint::hash(&found), fingerprint::hash(&objects));
    Ok(same(format!("{n_found} files found ({}), {n_objects} objects ({})", hashes.0, hashes.1)))
}

const LIBSTDCPP: &str = "standard_library.cpp";

pub(super) fn prepare_libstdcpp(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, LIBSTDCPP, &[])
}

pub(super) fn libstdcpp(ground: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = Command::new(needs::compiled(ground, LIBSTDCPP));
    Ok(same(Process::start(&mut command, variant, &ground.file("run.out"))?.finish(ground.limit())?.text))
}

const FREES: &str = "free_after_unlock.c";

pub(super) fn prepare_valgrind(ground: &Ground) -> Result<(), String> {
    needs::compile(ground, FREES, &[])
}

/// Whether an unlock touches what was freed right after it.
pub(super) fn valgrind(ground: &Ground, _: &Setting, variant: &Variant) -> Result<Sample, String> {
    let mut command = needs::command("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--fair-sched=yes"]).arg(needs::compiled(ground, FREES));
    let process = Process::start(&mut command, variant, &ground.file("run.out"))?;
    let start = Instant::now();
    while !process.text().contains("started") && start.elapsed() < BEGINNING {
        process.must_run()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    // What the loader wrote may be of valgrind's own start.
    process.must_have_mapped()?;
    Ok(same(process.finish(ground.limit())?.text))
}
