//! `cargo xtask deb`: a Debian package of the program, the library that it preloads, and the libraries for C and C++.
//!
//! The tree is the one of `cargo xtask install`, and Debian's own tools make the package of it. With `--check` the package is
//! installed into an empty directory, and its program must find the library, the man page and a real program's mutexes.

use crate::command::{cargo, output, said, succeed};
use crate::files::{empty, write};
use crate::install;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes `target/deb/ondeck_VERSION_ARCHITECTURE.deb`.
pub(crate) fn run(root: &Path, is_checked: bool) -> Result<(), String> {
    let package = make(root)?;
    println!("deb: {}", package.display());
    if is_checked { check(&package, &root.join("target/deb/installed")) } else { Ok(()) }
}

/// Builds everything and packs it; gives the package's file.
fn make(root: &Path) -> Result<PathBuf, String> {
    succeed(cargo(root).args(["build", "--release", "--locked"]))?;
    let directory = root.join("target/deb");
    let tree = directory.join("tree");
    empty(&tree)?;
    install::install(root, &tree.join("usr"))?;
    let version = install::Build::ask(root)?.version;
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    write(&tree.join("usr/share/doc/ondeck/copyright"), COPYRIGHT)?;
    let control = control(&version, architecture.trim(), &depends(&directory, &tree)?);
    write(&tree.join("DEBIAN/control"), &control)?;
    let package = directory.join(format!("ondeck_{version}_{}.deb", architecture.trim()));
    output(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&package))?;
    Ok(package)
}

/// What the files need of other packages, as Debian's tool reads it off their symbols.
fn depends(directory: &Path, tree: &Path) -> Result<String, String> {
    // The tool insists on a source package around it.
    write(&directory.join("debian/control"), "Source: ondeck\n\nPackage: ondeck\nArchitecture: any\n")?;
    let mut tool = Command::new("dpkg-shlibdeps");
    tool.arg("-O").current_dir(directory);
    for file in ["bin/ondeck", "lib/ondeck/libondeck_pthread.so", "lib/libondeck.so"] {
        tool.arg(tree.join("usr").join(file));
    }
    let said = output(&mut tool)?;
    let depends = said.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    depends.map(str::to_owned).ok_or_else(|| format!("dpkg-shlibdeps has named no packages: {said}"))
}

fn control(version: &str, architecture: &str, depends: &str) -> String {
    format!(
        "Package: ondeck\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: the authors of ondeck <ondeck@localhost>\nSection: devel\nPriority: optional\nDepends: {depends}\n\
         Description: finds contended mutexes in a program, and replaces them\n \
         `ondeck profile` lists the mutexes that a program's threads wait for. `ondeck run`\n \
         starts an unmodified program with other mutexes, which keep their speed when many\n \
         threads want them. The package also has these mutexes for C and C++.\n"
    )
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ondeck

Files: *
Copyright: the authors of ondeck
License: MIT or Apache-2.0
 The texts are beside this file: LICENSE-MIT, LICENSE-APACHE.
";

/// Installs the package below an empty directory, and uses it.
fn check(package: &Path, place: &Path) -> Result<(), String> {
    empty(place)?;
    // Whether this system can have all that the package depends on.
    output(Command::new("apt-get").args(["install", "--simulate"]).arg(package))?;
    let admin = place.join("var/lib/dpkg");
    for file in ["status", "updates/none", "info/none"] {
        write(&admin.join(file), [])?;
    }
    // What the package depends on is outside of that directory.
    let mut dpkg = Command::new("dpkg");
    dpkg.args(["--force-not-root", "--force-depends", "--force-script-chrootless", "--log=/dev/null", "--root"]);
    output(dpkg.arg(place).arg("--install").arg(package))?;
    for file in ["share/man/man1/ondeck-run.1", "include/ondeck.h", "lib/libondeck.so"] {
        let file = place.join("usr").join(file);
        if !file.exists() {
            return Err(format!("deb: the package has not put {}", file.display()));
        }
    }
    use_it(&place.join("usr/bin/ondeck"), place)
}

/// Profiles a program of the system, whose threads share mutexes in a library, and runs it with ondeck's locks.
fn use_it(program: &Path, place: &Path) -> Result<(), String> {
    let zeros = vec![0; 40 << 20];
    write(&place.join("zeros"), &zeros)?;
    let xz = ["--", "/usr/bin/xz", "--threads=4", "--block-size=1MiB", "--force", "--keep", "-0", "zeros"];
    // The list comes on the standard error, as the other is the program's.
    let profile = said(Command::new(program).arg("profile").args(xz).current_dir(place))?;
    let list = String::from_utf8_lossy(&profile.stderr);
    if !list.starts_with("xz: ") || !list.contains(" lock") {
        return Err(format!("deb: the installed program has seen nothing of xz's mutexes:\n{list}"));
    }
    output(Command::new(program).args(["run", "--verbose"]).args(xz).current_dir(place))?;
    let unpacked = output(Command::new("xz").args(["--decompress", "--stdout", "zeros.xz"]).current_dir(place))?;
    if unpacked.as_bytes() != zeros {
        return Err("deb: with the installed library xz has packed something else".to_owned());
    }
    println!("deb: installed, and used:\n{}", list.lines().next().unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that dpkg would read as the start of another, or a description that ends at an empty line, is a fault.
    #[test]
    fn the_control_file_is_one_paragraph() {
        let text = control("1.2.3", "amd64", "libc6 (>= 2.35)");
        assert!(text.contains("\nVersion: 1.2.3\n") && text.contains("\nDepends: libc6 (>= 2.35)\n"));
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
        let is_field = |line: &str| line.split_once(": ").is_some_and(|(name, _)| !name.contains(' '));
        assert!(text.lines().all(|line| is_field(line) || line.starts_with(' ')), "{text}");
    }
}
