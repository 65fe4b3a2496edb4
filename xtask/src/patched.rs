//! `cargo xtask patched`: `crates/parking_lot` in the place of parking_lot, in its own tests and in those of its users.
//!
//! Packages come from the registry as cargo gets them, are unpacked below `target/patched`, and nothing of them is kept in
//! this repository. First the tests and examples of parking_lot 0.12 itself are made into a crate that depends on ours.
//! Then the tests of programs that use parking_lot run in a tree where ours is patched in, which `cargo tree` must show.
//! What fails there is tried with the original too, so that it is known whose fault it is. With `--bench` the programs are
//! measured before and after instead; `cargo xtask docs` makes the table of `docs/parking_lot.md` of that.

mod bench;
mod suite;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const USAGE: &str = "\
usage: cargo xtask patched [parking_lot|tokio|moka|dashmap|dashmap-rwlock]... [--test GLOB]...
       cargo xtask patched --bench [ROUNDS]";
/// Below the root of the workspace.
const GROUND: &str = "target/patched";
/// What is replaced.
const ORIGINAL: Package = Package { key: "parking_lot", name: "parking_lot", version: "0.12.5" };

/// A package of the registry.
struct Package {
    /// What it is called on the command line and in manifests.
    key: &'static str,
    name: &'static str,
    version: &'static str,
}

/// Which parking_lot a program is built with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Original,
    Patched,
}

impl Side {
    const BOTH: [Side; 2] = [Side::Original, Side::Patched];

    fn name(self) -> &'static str {
        match self {
            Side::Original => "original",
            Side::Patched => "patched",
        }
    }
}

/// Where everything happens.
struct Ground {
    /// The crate that is patched in.
    ours: PathBuf,
    directory: PathBuf,
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let ground = Ground { ours: root.join("crates/parking_lot"), directory: root.join(GROUND) };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["--bench", rest @ ..] = &words[..] {
        let n_rounds = match rest {
            [] => Some(bench::N_ROUNDS),
            [n_rounds] => n_rounds.parse().ok().filter(|n_rounds| *n_rounds > 0),
            _ => None,
        };
        return bench::run(root, &ground, n_rounds.ok_or(USAGE)?);
    }
    let (names, globs) = options(&words).ok_or(USAGE)?;
    let is_wanted = |key: &str| names.is_empty() || names.contains(&key);
    let mut faults = Vec::new();
    if is_wanted(ORIGINAL.key) {
        faults.extend(suite::run(&ground)?);
    }
    for tree in trees::TREES.iter().filter(|tree| is_wanted(tree.package.key)) {
        faults.extend(trees::run(&ground, tree, &globs)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{}\npatched: {} faults", faults.join("\n"), faults.len())) }
}

/// Names of packages, none for all; and which of their test programs to run, none for all.
fn options<'a>(words: &[&'a str]) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    let (mut names, mut globs) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--test" {
            globs.push(*words.next()?);
        } else if *word == ORIGINAL.key || trees::TREES.iter().any(|tree| tree.package.key == *word) {
            names.push(*word);
        } else {
            return None;
        }
    }
    Some((names, globs))
}

impl Ground {
    /// The unpacked sources of a package, as cargo keeps them.
    fn fetch(&self, package: &Package) -> Result<PathBuf, String> {
        let Package { key, name, version } = package;
        let directory = self.directory.join("fetch").join(key);
        let tables = format!("[dependencies]\n{name} = \"={version}\"\n");
        self.manifest(&directory, "fetch", Side::Original, &tables)?;
        write(&directory.join("src/lib.rs"), "")?;
        let text = output(&mut self.cargo(&directory, &["metadata", "--format-version", "1"]))?;
        let metadata: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let ours = packages.iter().find(|found| found["name"] == *name && found["version"] == *version);
        let manifest = ours.and_then(|found| found["manifest_path"].as_str()).map(Path::new);
        let sources = manifest.and_then(Path::parent).ok_or_else(|| format!("cargo has no {name} {version}"))?;
        Ok(sources.to_path_buf())
    }

    /// Writes the manifest of a package, with these tables.
    fn manifest(&self, directory: &Path, name: &str, side: Side, tables: &str) -> Result<(), String> {
        let head = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n");
        write(&directory.join("Cargo.toml"), &(head + tables + &self.patch(side)))
    }

    /// The lines that put ours in the place of the original; none for the original.
    fn patch(&self, side: Side) -> String {
        match side {
            Side::Original => String::new(),
            // A literal string of TOML, for the sake of backslashes in paths.
            Side::Patched => format!("\n[patch.crates-io]\nparking_lot = {{ path = '{}' }}\n", self.ours.display()),
        }
    }

    /// Cargo, in an unpacked package; builds are shared among all of them.
    fn cargo(&self, directory: &Path, words: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words).current_dir(directory).env("CARGO_TARGET_DIR", self.directory.join("target"));
        // Hundreds of test programs are linked, and nobody debugs them.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        // Set by the cargo that runs this tool, for this workspace's sake.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_MANIFEST_DIR");
        cargo
    }

    /// Fails unless the tree in `directory` has one parking_lot 0.12, which is ours; shows who depends on it.
    fn prove(&self, directory: &Path, features: &str) -> Result<(), String> {
        let spec = format!("{}@{}", ORIGINAL.name, ORIGINAL.version);
        let words = ["tree", "--edges", "normal,dev", "--depth", "2", "--features", features, "--invert", &spec];
        let tree = output(&mut self.cargo(directory, &words))?;
        println!("{tree}");
        // Two of one version are ambiguous, which cargo refuses; and without a path it is the registry's.
        let head = tree.lines().next().unwrap_or_default();
        if head.contains(&format!("({})", self.ours.display())) {
            Ok(())
        } else {
            Err(format!("{}: parking_lot is not patched: {head}", directory.display()))
        }
    }
}

/// What became of tests, as the test programs print it.
#[derive(Default, PartialEq, Eq, Debug)]
struct Tests {
    n_passed: usize,
    /// Sorted.
    failed: Vec<String>,
}

impl Tests {
    fn read(text: &str) -> Tests {
        let mut tests = Tests::default();
        for line in text.lines().filter_map(|line| line.strip_prefix("test ")) {
            // What a test prints itself may stand between its name and the word.
            match line.rsplit_once(" ... ") {
                Some((name, "FAILED")) => tests.failed.push(name.to_owned()),
                Some((_, "ok")) => tests.n_passed += 1,
                _ => {}
            }
        }
        tests.failed.sort();
        tests
    }
}

/// Runs `cargo test`, whose programs may fail. Whether all was built and passed is the second part.
fn test(cargo: &mut Command) -> Result<(Tests, bool), String> {
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    let tests = Tests::read(&String::from_utf8_lossy(&output.stdout));
    let is_good = output.status.success();
    if !is_good {
        // The last lines name what was not compiled, or which program failed.
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: Vec<&str> = errors.lines().collect();
        eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
    }
    Ok((tests, is_good))
}

fn output(command: &mut Command) -> Result<String, String> {
    let words = command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{words}: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{words}` failed"));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{words}: {error}"))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    // Left alone if it is right, so that cargo does not build it again.
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let parent = file.parent().map_or(Ok(()), fs::create_dir_all);
    parent.and_then(|()| fs::write(file, text)).map_err(|error| format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_from_what_test_programs_print() {
        let text = "running 4 tests\ntest b ... FAILED\ntest a - should panic ... ok\ntest c ... ignored\n\
                    test a ... FAILED\ntest result: FAILED. 1 passed\n";
        assert_eq!(Tests::read(text), Tests { n_passed: 1, failed: vec!["a".into(), "b".into()] });
    }

    #[test]
    fn options_are_taken_or_refused() {
        assert_eq!(options(&["tokio", "--test", "rt_*", "moka"]), Some((vec!["tokio", "moka"], vec!["rt_*"])));
        for wrong in [&["--test"][..], &["serde"], &["--bench"]] {
            assert_eq!(options(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn ours_has_the_version_that_it_replaces() {
        let manifest = read(&crate::root().join("crates/parking_lot/Cargo.toml")).expect("readable");
        assert!(manifest.contains(&format!("\nversion = \"{}\"\n", ORIGINAL.version)));
    }
}
