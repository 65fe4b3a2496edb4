//! Programs that use parking_lot, with ours patched in.

use super::{Ground, ORIGINAL, Package, Side, Tests, read, test, write};
use std::fs;
use std::path::{Path, PathBuf};

/// A package and how its tests are run.
pub(super) struct Tree {
    pub(super) package: Package,
    features: &'static str,
    /// Tables of its manifest that are left out: what only they need takes minutes to build.
    without: &'static [&'static str],
    /// Whether parking_lot is in the tree at all.
    has_ours: bool,
}

pub(super) const TREES: [Tree; 4] = [
    Tree {
        package: Package { key: "tokio", name: "tokio", version: "1.54.1" },
        features: "full,test-util",
        without: &[],
        has_ours: true,
    },
    // An actor runtime and an HTTP client with TLS; three test programs are about those.
    Tree {
        package: Package { key: "moka", name: "moka", version: "0.12.16" },
        features: "sync,future",
        without: &[
            "dev-dependencies.actix-rt",
            "dev-dependencies.reqwest",
            "entry_api_actix_rt2",
            "entry_api_tokio",
            "runtime_actix_rt2",
        ],
        has_ours: true,
    },
    // A lock of its own on parking_lot_core: nothing is there to patch, and nothing may break.
    Tree {
        package: Package { key: "dashmap", name: "dashmap", version: "6.2.1" },
        features: "",
        without: &[],
        has_ours: false,
    },
    // The last version that used `parking_lot::RwLock`.
    Tree {
        package: Package { key: "dashmap-rwlock", name: "dashmap", version: "5.2.0" },
        features: "",
        without: &[],
        has_ours: true,
    },
];

/// Runs the tests, and says which fail that do not fail with the original.
pub(super) fn run(ground: &Ground, tree: &Tree, globs: &[&str]) -> Result<Vec<String>, String> {
    let key = tree.package.key;
    let directory = unpack(ground, tree, Side::Patched)?;
    if tree.has_ours {
        ground.prove(&directory, tree.features)?;
    } else if ground.prove(&directory, tree.features).is_ok() {
        return Ok(vec![format!("{key}: parking_lot is in its tree after all")]);
    } else {
        println!("{key}: no parking_lot in its tree, as it should be");
    }
    let (patched, is_good) = run_tests(ground, tree, globs, &directory)?;
    println!(
        "{key} {} with ours: {} tests passed, {} failed",
        tree.package.version,
        patched.n_passed,
        patched.failed.len()
    );
    if patched.n_passed == 0 {
        return Ok(vec![format!("{key}: its tests were not built")]);
    }
    if is_good {
        return Ok(Vec::new());
    }
    let (original, _) = run_tests(ground, tree, globs, &unpack(ground, tree, Side::Original)?)?;
    println!("{key} with the original: {} tests passed; {} failed", original.n_passed, original.failed.join(", "));
    let ours: Vec<_> = patched.failed.iter().filter(|name| !original.failed.contains(name)).collect();
    Ok(ours.into_iter().map(|name| format!("{key}: `{name}` fails with ours only")).collect())
}

/// The tests inside the package, and its test programs.
fn run_tests(ground: &Ground, tree: &Tree, globs: &[&str], directory: &Path) -> Result<(Tests, bool), String> {
    let mut cargo = ground.cargo(directory, &["test", "--no-fail-fast", "--lib", "--features", tree.features]);
    if globs.is_empty() {
        cargo.arg("--tests");
    }
    test(cargo.args(globs.iter().flat_map(|glob| ["--test", glob])))
}

/// A copy of the package that is a workspace of its own.
fn unpack(ground: &Ground, tree: &Tree, side: Side) -> Result<PathBuf, String> {
    let sources = ground.fetch(&tree.package)?;
    let directory = ground.directory.join(format!("{}-{}", tree.package.key, side.name()));
    copy(&sources, &directory)?;
    let manifest = read(&sources.join("Cargo.toml"))?;
    let manifest = format!("{}\n[workspace]\n{}", without(&manifest, tree.without), ground.patch(side));
    write(&directory.join("Cargo.toml"), &manifest)?;
    Ok(directory)
}

/// What of a package is not copied: its manifest is written anew, a toolchain that it asks for is not the one to be tested,
/// and its lock file may hold versions that are too old for ours.
const NOT_COPIED: [&str; 3] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let say = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| say(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| say(from, error))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if NOT_COPIED.iter().all(|not| name != *not) && !to.join(&name).exists() {
            fs::copy(&path, to.join(name)).map_err(|error| say(&path, error))?;
        }
    }
    Ok(())
}

/// A manifest without some of its tables, named by their heads, or by the `name` in them.
fn without(manifest: &str, tables: &[&str]) -> String {
    let mut kept = String::new();
    let starts: Vec<usize> = manifest.match_indices("\n[").map(|(at, _)| at + 1).collect();
    let ends = starts.iter().skip(1).copied().chain([manifest.len()]);
    kept.push_str(&manifest[..starts.first().copied().unwrap_or(manifest.len())]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let table = &manifest[start..end];
        let is_named =
            |name: &&str| table.starts_with(&format!("[{name}]")) || table.contains(&format!("\nname = \"{name}\"\n"));
        if !tables.iter().any(is_named) {
            kept.push_str(table);
        }
    }
    kept
}

/// The tree of which all programs of the bench are built.
pub(super) fn version(key: &str) -> &'static str {
    TREES.iter().find(|tree| tree.package.key == key).map_or(ORIGINAL.version, |tree| tree.package.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_left_out_by_head_and_by_name() {
        let manifest = "a = 1\n[b]\nc = 2\n\n[[test]]\nname = \"d\"\n\n[[test]]\nname = \"e\"\n";
        assert_eq!(without(manifest, &["b", "d"]), "a = 1\n[[test]]\nname = \"e\"\n");
        assert_eq!(without(manifest, &[]), manifest);
    }
}
