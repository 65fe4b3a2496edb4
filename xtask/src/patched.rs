//! `cargo xtask patched`: `crates/parking_lot` in the place of parking_lot, in its own tests and in those of its users.
//!
//! Packages come from the registry as cargo gets them, are unpacked below `target/patched`, and nothing of them is kept in
//! this repository. First the tests and examples of parking_lot 0.12 itself are made into a crate that depends on ours
//! (`suite.rs`). Then the tests of programs that use parking_lot run in a tree where ours is patched in, which `cargo tree`
//! must show. What fails there is tried with the original too, so that it is known whose fault it is.

mod suite;

use crate::command::{cargo, output};
use crate::files::{ErrorContext, mirror, read, write};
use clap::builder::PossibleValuesParser;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the registry, whose tests run with ours.
struct Package {
    name: &'static str,
    version: &'static str,
    features: &'static str,
    /// Tables of its manifest that are left out: what only they need takes minutes to build.
    without: &'static [&'static str],
}

/// What is replaced.
const ORIGINAL: Package = Package { name: "parking_lot", version: "0.12.5", features: "", without: &[] };

/// Who uses it.
const USERS: [Package; 3] = [
    Package { name: "tokio", version: "1.54.1", features: "full,test-util", without: &[] },
    // An actor runtime and an HTTP client with TLS; three test programs are about those.
    Package {
        name: "moka",
        version: "0.12.16",
        features: "sync,future",
        without: &[
            "dev-dependencies.actix-rt",
            "dev-dependencies.reqwest",
            "entry_api_actix_rt2",
            "entry_api_tokio",
            "runtime_actix_rt2",
        ],
    },
    // The last version that used `parking_lot::RwLock`.
    Package { name: "dashmap", version: "5.2.0", features: "", without: &[] },
];

/// Where everything happens.
struct Trees {
    /// The crate that is patched in.
    ours: PathBuf,
    directory: PathBuf,
}

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these packages
    #[arg(value_name = "PACKAGE",
          value_parser = PossibleValuesParser::new(USERS.iter().chain([&ORIGINAL]).map(|package| package.name)))]
    packages: Vec<String>,
    /// Only these test programs of the users
    #[arg(long = "test", value_name = "GLOB")]
    globs: Vec<String>,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let trees = Trees { ours: root.join("crates/parking_lot"), directory: root.join("target/patched") };
    let is_wanted =
        |package: &Package| options.packages.is_empty() || options.packages.iter().any(|name| name == package.name);
    let mut faults = if is_wanted(&ORIGINAL) { suite::run(&trees)? } else { Vec::new() };
    for user in USERS.iter().filter(|user| is_wanted(user)) {
        faults.extend(trees.try_user(user, &options.globs)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{}\npatched: {} faults", faults.join("\n"), faults.len())) }
}

impl Trees {
    /// Runs the tests inside the package and its test programs, and says which fail that do not fail with the original.
    fn try_user(&self, user: &Package, globs: &[String]) -> Result<Vec<String>, String> {
        let Package { name, version, features, .. } = user;
        let run_tests = |directory: &Path| {
            let mut cargo = self.cargo(directory, &["test", "--no-fail-fast", "--lib", "--features", features]);
            cargo.args(if globs.is_empty() { &["--tests"][..] } else { &[] });
            test(cargo.args(globs.iter().flat_map(|glob| ["--test", glob.as_str()])))
        };
        let directory = self.unpack(user, true)?;
        self.prove(&directory, features)?;
        let (patched, is_good) = run_tests(&directory)?;
        println!("{name} {version} with ours: {} tests passed, {} failed", patched.n_passed, patched.failed.len());
        if patched.n_passed == 0 {
            return Ok(vec![format!("{name}: its tests were not built")]);
        }
        if is_good {
            return Ok(Vec::new());
        }
        let (original, _) = run_tests(&self.unpack(user, false)?)?;
        println!("{name} with the original: {} tests passed; {} failed", original.n_passed, original.failed.join(", "));
        let ours = patched.failed.iter().filter(|test| !original.failed.contains(test));
        Ok(ours.map(|test| format!("{name}: `{test}` fails with ours only")).collect())
    }

    /// A copy of the package that is a workspace of its own. Its manifest is written anew, a toolchain that it asks for is not
    /// the one to be tested, and its lock file may hold versions that are too old for ours.
    fn unpack(&self, package: &Package, is_patched: bool) -> Result<PathBuf, String> {
        let sources = self.fetch(package)?;
        let side = if is_patched { "patched" } else { "original" };
        let directory = self.directory.join(format!("{}-{side}", package.name));
        let not_copied = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"].map(|name| directory.join(name));
        mirror(&sources, &directory, &not_copied)?;
        let manifest = without(&read(&sources.join("Cargo.toml"))?, package.without);
        let patch = if is_patched { self.patch() } else { String::new() };
        write(&directory.join("Cargo.toml"), format!("{manifest}\n[workspace]\n{patch}"))?;
        Ok(directory)
    }

    /// The unpacked sources of a package, as cargo keeps them.
    fn fetch(&self, Package { name, version, .. }: &Package) -> Result<PathBuf, String> {
        let directory = self.directory.join("fetch").join(name);
        let manifest = format!("{}[dependencies]\n{name} = \"={version}\"\n", head("fetch"));
        write(&directory.join("Cargo.toml"), manifest)?;
        write(&directory.join("src/lib.rs"), "")?;
        let text = output(&mut self.cargo(&directory, &["metadata", "--format-version", "1"]))?;
        let metadata: serde_json::Value = serde_json::from_str(&text).at("cargo metadata")?;
        let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let ours = packages.iter().find(|found| found["name"] == *name && found["version"] == *version);
        let manifest = ours.and_then(|found| found["manifest_path"].as_str()).map(Path::new);
        let sources = manifest.and_then(Path::parent).ok_or_else(|| format!("cargo has no {name} {version}"))?;
        Ok(sources.to_path_buf())
    }

    /// The lines that put ours in the place of the original.
    fn patch(&self) -> String {
        // A literal string of TOML, for the sake of backslashes in paths.
        format!("\n[patch.crates-io]\nparking_lot = {{ path = '{}' }}\n", self.ours.display())
    }

    /// Cargo, in an unpacked package; builds are shared among all of them.
    fn cargo(&self, directory: &Path, words: &[&str]) -> Command {
        let mut cargo = cargo(directory);
        cargo.args(words).env("CARGO_TARGET_DIR", self.directory.join("target"));
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

/// How the manifest of a package of ours begins.
fn head(name: &str) -> String {
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
