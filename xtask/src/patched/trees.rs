//! Packages of the registry as workspaces of their own, with parking_lot or with ours, and their tests.

use crate::command::{cargo, metadata, output};
use crate::files::{ErrorContext, mirror, read, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the registry, whose tests run with ours.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) features: &'static str,
    /// Tables of its manifest that are left out: what only they need takes minutes to build.
    pub(super) without: &'static [&'static str],
}

/// What is replaced.
pub(super) const ORIGINAL: Package = Package { name: "parking_lot", version: "0.12.5", features: "", without: &[] };

/// Where everything happens.
pub(super) struct Trees {
    /// The crate that is patched in.
    pub(super) ours: PathBuf,
    pub(super) directory: PathBuf,
}

impl Trees {
    /// A copy of the package that is a workspace of its own. Its manifest is written anew, a toolchain that it asks for is not
    /// the one to be tested, and its lock file may hold versions that are too old for ours.
    pub(super) fn unpack(&self, package: &Package, is_patched: bool) -> Result<PathBuf, String> {
        let sources = self.fetch(package)?;
        let side = if is_patched { "patched" } else { "original" };
        let directory = self.directory.join(format!("{}-{side}", package.name));
        let not_copied =
            ["Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"].map(|name| directory.join(name));
        mirror(&sources, &directory, &not_copied)?;
        let manifest = without(&read(&sources.join("Cargo.toml"))?, package.without);
        let patch = if is_patched { self.patch() } else { "\n[patch.crates-io]\n".to_owned() };
        // Its tests may need it by way of others, and two of it would not fit together.
        let itself = format!("{} = {{ path = '.' }}", package.name);
        write(&directory.join("Cargo.toml"), format!("{manifest}\n[workspace]\n{patch}{itself}\n"))?;
        Ok(directory)
    }

    /// The unpacked sources of a package, as cargo keeps them.
    pub(super) fn fetch(&self, Package { name, version, .. }: &Package) -> Result<PathBuf, String> {
        let directory = self.directory.join("fetch").join(name);
        let manifest = format!("{}[dependencies]\n{name} = \"={version}\"\n", head("fetch"));
        write(&directory.join("Cargo.toml"), manifest)?;
        write(&directory.join("src/lib.rs"), "")?;
        let metadata = metadata(&mut self.cargo(&directory, &[]))?;
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let ours = packages.iter().find(|found| found["name"] == *name && found["version"] == *version);
        let manifest = ours.and_then(|found| found["manifest_path"].as_str()).map(Path::new);
        let sources = manifest.and_then(Path::parent).ok_or_else(|| format!("cargo has no {name} {version}"))?;
        Ok(sources.to_path_buf())
    }

    /// The lines that put ours in the place of the original.
    pub(super) fn patch(&self) -> String {
        // A literal string of TOML, for the sake of backslashes in paths.
        format!("\n[patch.crates-io]\nparking_lot = {{ path = '{}' }}\n", self.ours.display())
    }

    /// Cargo, in an unpacked package; builds are shared among all of them.
    pub(super) fn cargo(&self, directory: &Path, words: &[&str]) -> Command {
        let mut cargo = cargo(directory);
        cargo.args(words).env("CARGO_TARGET_DIR", self.directory.join("target"));
        // Hundreds of test programs are linked, and nobody debugs them.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        // Set by the cargo that runs this tool, for this workspace's sake.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_MANIFEST_DIR");
        cargo
    }

    /// Fails unless the tree in `directory` has one parking_lot 0.12, which is ours; shows who depends on it.
    pub(super) fn prove(&self, directory: &Path, features: &str) -> Result<(), String> {
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

/// How the manifest of a package of ours begins.
pub(super) fn head(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n")
}

/// A manifest without some of its tables, named by their heads, or by the `name` in them.
fn without(manifest: &str, tables: &[&str]) -> String {
    let is_named = |table: &str, name: &str| {
        table.starts_with(&format!("[{name}]")) || table.contains(&format!("\nname = \"{name}\"\n"))
    };
    let mut kept = String::new();
    let mut rest = manifest;
    while !rest.is_empty() {
        let end = rest[1..].find("\n[").map_or(rest.len(), |at| at + 2);
        let (table, others) = rest.split_at(end);
        if !tables.iter().any(|name| is_named(table, name)) {
            kept.push_str(table);
        }
        rest = others;
    }
    kept
}

/// What became of tests, as the test programs print it.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Tests {
    pub(super) n_passed: usize,
    /// Sorted.
    pub(super) failed: Vec<String>,
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
pub(super) fn test(cargo: &mut Command) -> Result<(Tests, bool), String> {
    let output = cargo.output().at("cargo")?;
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
    fn tables_are_left_out_by_head_and_by_name() {
        let manifest = "a = 1\n[b]\nc = 2\n\n[[test]]\nname = \"d\"\n\n[[test]]\nname = \"e\"\n";
        assert_eq!(without(manifest, &["b", "d"]), "a = 1\n[[test]]\nname = \"e\"\n");
        assert_eq!(without(manifest, &[]), manifest);
    }

    #[test]
    fn ours_has_the_version_that_it_replaces() {
        let manifest = read(&crate::root().join("crates/parking_lot/Cargo.toml")).expect("readable");
        assert!(manifest.contains(&format!("\nversion = \"{}\"\n", ORIGINAL.version)));
    }
}
