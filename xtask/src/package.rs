//! `cargo xtask package`: the crates that are published, as their users get them.
//!
//! A package holds less than the workspace, and is built without what other members switch on. So a crate that compiles
//! here may not compile there, or may bring what no user wants. The dry run of publishing is made, and what comes out of
//! it is looked at: the licences, the manifest, the examples of the documentation, and which files a user compiles.

use crate::command::{self, metadata, succeed};
use crate::files::{At, names, read, remove};
use ondeck_locks::LOCKS;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Below it are cargo's own directory `package`, where it unpacks each package to verify it, and our builds. Cargo looks
/// for a workspace above what is in a `target/package`, but not beyond that: the unpacked crates are not members.
const TARGET: &str = "target/package-check/target";

/// An unpacked package.
struct Package {
    name: String,
    directory: PathBuf,
}

/// Packs, and lists every fault of what is in the packages before their examples are run.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let packages = pack(root)?;
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(judge(root, package)?.into_iter().map(|fault| format!("{}: {fault}", package.name)));
    }
    faults.extend(yardsticks(root, &packages)?);
    if !faults.is_empty() {
        return Err(format!("{}\npackage: {} faults", faults.join("\n"), faults.len()));
    }
    for package in &packages {
        // As a user of the defaults has it, and as docs.rs shows it.
        for features in [&[][..], &["--all-features"]] {
            println!("package: the examples of {} {}", package.name, features.concat());
            let words = [&["test", "--doc"], features].concat();
            cargo_in(root, package, &packages, &words)?;
        }
    }
    Ok(())
}

/// Makes the packages of all members that are not kept from being published, uncommitted changes included.
fn pack(root: &Path) -> Result<Vec<Package>, String> {
    let metadata = metadata(root)?;
    let members = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let published = members.iter().filter(|member| member["publish"].is_null());
    let package = |member: &serde_json::Value| {
        let text = |key: &str| member[key].as_str().unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("version"));
        Package { directory: root.join(TARGET).join(format!("package/{name}-{version}")), name }
    };
    let packages: Vec<Package> = published.map(package).collect();
    // The examples need crates that packing does not; from here on nothing but the dry run asks for a network.
    succeed(&mut cargo(root, &["fetch", "--locked", "--quiet"]))?;
    // A dry run asks crates.io what is there already. Without a network the packages can be made all the same.
    let is_offline = std::env::var("CARGO_NET_OFFLINE").is_ok_and(|word| word == "true");
    let words: &[&str] = if is_offline { &["package"] } else { &["publish", "--dry-run"] };
    forget_last(root, &packages)?;
    let mut pack = cargo(root, words);
    pack.args(["--allow-dirty", "--locked", "--quiet", "--target-dir", TARGET]);
    succeed(pack.args(packages.iter().flat_map(|package| ["--package", &package.name])))?;
    Ok(packages)
}

/// Removes what cargo unpacked and compiled when it verified these packages the last time. It knows both by name and version,
/// and does not look whether the sources are still the same: one crate would be verified against another's past.
fn forget_last(root: &Path, packages: &[Package]) -> Result<(), String> {
    remove(&root.join(TARGET))?;
    let given = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = given.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("cargo has no home directory")?;
    // A registry in a directory has no host: its name begins with the dash that separates host and hash.
    let registries = home.join("registry/src");
    for registry in names(&registries).unwrap_or_default().iter().filter(|name| name.starts_with('-')) {
        for package in packages {
            remove(&registries.join(registry).join(package.directory.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// What is wrong with what is in a package.
fn judge(root: &Path, package: &Package) -> Result<Vec<String>, String> {
    let manifest = read(&package.directory.join("Cargo.toml"))?;
    let mut faults = judge_manifest(&package.name, &manifest)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        if read(&package.directory.join(licence)) != read(&root.join(licence)) {
            faults.push(format!("{licence} is missing, or not the one of the workspace"));
        }
    }
    if !package.directory.join("README.md").is_file() {
        faults.push("README.md is missing".to_owned());
    }
    Ok(faults)
}

fn judge_manifest(name: &str, manifest: &str) -> Result<Vec<String>, String> {
    let manifest: toml::Table = manifest.parse().at(name)?;
    let entry = |key: &str| manifest.get("package")?.get(key)?.as_str().filter(|text| !text.is_empty());
    let missing = ["description", "license", "readme", "documentation"].into_iter().filter(|key| entry(key).is_none());
    let mut faults: Vec<String> = missing.map(|key| format!("`{key}` is missing in Cargo.toml")).collect();
    // There may be none, but not a placeholder.
    if entry("repository").is_some_and(|address| !address.starts_with("https://")) {
        faults.push("`repository` is no address".to_owned());
    }
    Ok(faults)
}

/// The yardsticks that are compiled for a user of `ondeck` who asks for nothing.
fn yardsticks(root: &Path, packages: &[Package]) -> Result<Vec<String>, String> {
    let find = |name: &str| {
        packages.iter().find(|package| package.name == name).ok_or_else(|| format!("`{name}` is not published"))
    };
    let (ondeck, locks) = (find("ondeck")?, find("ondeck-locks")?);
    cargo_in(root, ondeck, packages, &["build"])?;
    // Cargo writes beside the library which files went into it, those of our other crates included.
    let sources = read(&root.join(TARGET).join("debug/libondeck.d"))?.replace('\\', "/");
    let place = locks.directory.file_name().unwrap_or_default().to_string_lossy();
    let path = |name: &str| format!("src/{}.rs", name.replace('-', "_"));
    let is_compiled = |name: &str| sources.contains(&format!("{place}/{}", path(name)));
    if !is_compiled("ondeck") {
        return Err("the list of files in ondeck does not have the flagship: this check has gone blind".to_owned());
    }
    let mut faults = Vec::new();
    for entry in LOCKS.iter().filter(|entry| entry.name != "ondeck") {
        if !locks.directory.join(path(entry.name)).is_file() {
            faults.push(format!("ondeck-locks: `{}` is not in the package", path(entry.name)));
        }
        if is_compiled(entry.name) {
            faults.push(format!("ondeck: a user compiles the yardstick `{}`", entry.name));
        }
    }
    Ok(faults)
}

/// Runs cargo in an unpacked crate, where the others stand for those of crates.io.
fn cargo_in(root: &Path, package: &Package, packages: &[Package], words: &[&str]) -> Result<(), String> {
    let mut cargo = cargo(&package.directory, words);
    cargo.args(["--quiet", "--offline", "--target-dir"]).arg(root.join(TARGET));
    for other in packages.iter().filter(|other| other.name != package.name) {
        // A literal string of TOML, for the sake of backslashes in paths.
        cargo.arg("--config");
        cargo.arg(format!("patch.crates-io.{}.path='{}'", other.name, other.directory.display()));
    }
    succeed(&mut cargo).map_err(|error| format!("{}, unpacked: {error}", package.name))
}

fn cargo(directory: &Path, words: &[&str]) -> Command {
    let mut cargo = command::cargo(directory);
    cargo.args(words);
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_what_a_reader_of_the_registry_wants() {
        let whole = "[package]\ndescription = 'd'\nlicense = 'l'\nreadme = 'r'\ndocumentation = 'a'\n";
        assert_eq!(judge_manifest("a", whole), Ok(vec![]));
        let empty = whole.replace("'l'", "''");
        assert_eq!(judge_manifest("a", &empty), Ok(vec!["`license` is missing in Cargo.toml".to_owned()]));
        assert_eq!(judge_manifest("a", "[package]\n").map(|faults| faults.len()), Ok(4));
        let placeholder = format!("{whole}repository = 'to be decided'\n");
        assert_eq!(judge_manifest("a", &placeholder), Ok(vec!["`repository` is no address".to_owned()]));
    }
}
