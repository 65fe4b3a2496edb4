//! Programs whose locks are no matter of speed: what they compute must be the same.

use super::place::Place;
use super::process::Locks;
use super::run::{Run, Sample};
use crate::files::ErrorContext;
use ondeck_kit::hash::hash;
use std::fmt::Write as _;
use std::fs;

const TEXT: &str = "text";
/// Bytes that are compressed: enough blocks for every thread.
const TEXT_BYTES: usize = 16 << 20;
const FILES: u32 = 400;
const COMMITS: u32 = 4;
/// Git with nobody's settings, and the same author and time for each commit, so that all names are the same.
const GIT: &str = "GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE=2023-11-14T22:13:20Z \
                   GIT_COMMITTER_DATE=2023-11-14T22:13:20Z git -c user.name=nobody -c user.email=nobody@localhost \
                   -c gc.auto=0 -c pack.threads=8 -c grep.threads=8 -c index.threads=8";

fn same(result: String) -> Sample {
    Sample { result, ..Sample::default() }
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

pub(super) fn prepare_text(place: &Place) -> Result<(), String> {
    place.write(TEXT, &text(place.either(TEXT_BYTES, TEXT_BYTES / 2), 1))
}

/// Compresses the text to standard output, and expands that again.
fn there_and_back(run: &Run, program: &str, there: &str, back: &str) -> Result<Sample, String> {
    let (output, small) = (run.place.file(&format!("{program}.out")), run.place.file("small"));
    run.finish(&format!("{program} {there} {TEXT}"))?;
    fs::rename(&output, &small).at(&output)?;
    run.finish(&format!("{program} {back} small"))?;
    if fs::read(&output).ok() != fs::read(run.place.file(TEXT)).ok() {
        return Err("what was compressed expands to something else".into());
    }
    let bytes = fs::read(&small).at(&small)?;
    // Only compared with itself, so it need not be text.
    let hash = hash(&String::from_utf8_lossy(&bytes));
    Ok(same(format!("{hash} of {} bytes", bytes.len())))
}

/// Expanding takes a thread to read, one to write and one to check.
pub(super) fn pigz(run: &Run) -> Result<Sample, String> {
    there_and_back(run, "pigz", "-p 8 -b 32 -n -c", "-p 8 -d -c -f")
}

pub(super) fn xz(run: &Run) -> Result<Sample, String> {
    there_and_back(run, "xz", "-T8 -1 --block-size=1MiB -c", "-T8 -d -c -f --format=xz")
}

pub(super) fn prepare_git(place: &Place) -> Result<(), String> {
    let git = |words: &str| place.plain(&format!("{GIT} {words}")).map(|_| ());
    git("init --quiet --initial-branch=main origin")?;
    for commit in 0..COMMITS {
        for file in 0..place.either(FILES, FILES / 4) {
            place.write(&format!("origin/file-{file}"), &text(4000, u64::from(file / 3 * 7 + commit)))?;
        }
        git("-C origin add --all")?;
        git(&format!("-C origin commit --quiet --message {commit}"))?;
    }
    Ok(())
}

pub(super) fn git(run: &Run) -> Result<Sample, String> {
    let (place, copy) = (run.place.directory.display(), run.place.file("copy"));
    let _ = fs::remove_dir_all(&copy);
    let git = |words: &str| Ok::<_, String>(run.finish(&format!("{GIT} {words}"))?.text);
    git("clone --quiet --no-local origin copy")?;
    git("-C copy gc --quiet --aggressive --prune=now")?;
    let found = git("-C copy grep --count of.[0-9a-f]*a[0-9]")?;
    git("-C copy fsck --full --strict")?;
    let objects = git("-C copy cat-file --batch-check --batch-all-objects")?;
    let packs = fs::read_dir(copy.join(".git/objects/pack")).at("packs")?;
    let pack = packs.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "pack"));
    let pack = pack.ok_or("`git gc` has left no pack")?;
    let _ = fs::remove_file(run.place.file("again.idx"));
    git(&format!("-C copy index-pack --threads=8 -o {place}/again.idx {}", pack.display()))?;
    let (n_found, n_objects) = (found.lines().count(), objects.lines().count());
    let hashes = (hash(&found), hash(&objects));
    Ok(same(format!("{n_found} files found ({}), {n_objects} objects ({})", hashes.0, hashes.1)))
}

pub(super) fn libstdcpp(run: &Run) -> Result<Sample, String> {
    Ok(same(run.finish("./standard_library")?.text))
}

pub(super) fn prepare_valgrind(place: &Place) -> Result<(), String> {
    place.compile("free_after_unlock.c", "")
}

/// Whether an unlock touches what was freed right after it.
pub(super) fn valgrind(run: &Run) -> Result<Sample, String> {
    let process = run.start("valgrind --quiet --error-exitcode=9 --fair-sched=yes ./free_after_unlock")?;
    if matches!(run.locks, Locks::Ours { .. }) {
        // Valgrind's own start has said that it has the library. The program that it runs has the same number.
        process.until(|| process.errors().contains("free_after_unlock) has the lock"))?;
    }
    Ok(same(process.finish()?.text))
}
