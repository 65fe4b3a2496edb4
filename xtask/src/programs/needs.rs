//! What a program needs: Debian's packages, installed where they are missing and can be, and the small programs of
//! `testprograms/`, compiled for each run.

use super::{Ground, process};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A file by which a package is known to be there, whoever has installed it.
pub(super) enum Sign {
    /// A program among Debian's, or in one of the directories of PATH.
    Program(&'static str),
    /// A header of C or C++.
    Header(&'static str),
}

/// A Debian package, and its sign.
pub(super) struct Need {
    pub(super) package: &'static str,
    pub(super) sign: Sign,
}

impl Need {
    /// A package that is needed for a program of it.
    pub(super) const fn program(package: &'static str, name: &'static str) -> Need {
        Need { package, sign: Sign::Program(name) }
    }

    /// A package that is needed for a header of it.
    pub(super) const fn header(package: &'static str, name: &'static str) -> Need {
        Need { package, sign: Sign::Header(name) }
    }

    fn is_there(&self) -> bool {
        match self.sign {
            Sign::Program(name) => find(name).is_some(),
            Sign::Header(name) => HEADERS.iter().any(|place| Path::new(place).join(name).is_file()),
        }
    }
}

const HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];
/// Where Debian puts programs. They come first: a user's PATH may lack the servers, and begin with scripts that choose among
/// several versions of a program.
const PROGRAMS: [&str; 2] = ["/usr/bin", "/usr/sbin"];
/// A compilation may wait for other work on the machine.
const COMPILING: Duration = Duration::from_secs(120);

/// Where a program is.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = PROGRAMS.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// A command for a program that its needs have named.
pub(super) fn command(name: &str) -> Command {
    Command::new(find(name).unwrap_or_else(|| name.into()))
}

/// Makes sure that all is there; what is missing is installed. The error says which package could not be had and why.
pub(super) fn provide(needs: &[Need]) -> Result<(), String> {
    let missing = || needs.iter().filter(|need| !need.is_there()).map(|need| need.package).collect::<Vec<_>>();
    let wanted = missing();
    if wanted.is_empty() {
        return Ok(());
    }
    println!("installing {}", wanted.join(", "));
    let reason = install(&wanted).err();
    let left = missing();
    match (left.as_slice(), reason) {
        ([], _) => Ok(()),
        (left, None) => {
            Err(format!("apt-get has installed {}, but what is wanted of it is not there", left.join(", ")))
        }
        (left, Some(reason)) => Err(format!("no {}: {reason}", left.join(", "))),
    }
}

fn install(packages: &[&str]) -> Result<(), String> {
    if find("apt-get").is_none() {
        return Err("there is no apt-get here; install it by hand".into());
    }
    // Lists may be too old, or missing altogether, so a failure is given a second chance.
    let first = apt(&["install", "-y", "-qq", "--no-install-recommends"], packages);
    first.or_else(|_| {
        apt(&["update", "-qq"], &[])?;
        apt(&["install", "-y", "-qq", "--no-install-recommends"], packages)
    })
}

fn apt(words: &[&str], packages: &[&str]) -> Result<(), String> {
    let id = Command::new("id").arg("-u").output().map(|output| output.stdout);
    let mut command = Command::new(if id.is_ok_and(|id| id.starts_with(b"0\n")) { "apt-get" } else { "sudo" });
    if command.get_program() == "sudo" {
        // Nobody may be there to type a password.
        command.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    }
    command.env("DEBIAN_FRONTEND", "noninteractive").args(words).args(packages).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("apt-get: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(format!("apt-get {} failed: {line}", words[0]))
}

/// The source of one of our own programs.
pub(super) fn source(ground: &Ground, file: &str) -> PathBuf {
    ground.root.join("testprograms/programs").join(file)
}

/// Compiles one of our own programs into the run's directory.
pub(super) fn compile(ground: &Ground, file: &str, libraries: &[&str]) -> Result<(), String> {
    let is_c = file.ends_with(".c");
    let mut compiler = command(if is_c { "cc" } else { "c++" });
    compiler.arg(if is_c { "-std=c11" } else { "-std=c++17" });
    compiler.args(["-O2", "-D_GNU_SOURCE", "-pthread", "-o"]).arg(compiled(ground, file)).arg(source(ground, file));
    compiler.args(libraries);
    process::run_plain(&mut compiler, &ground.file("compile.out"), COMPILING).map(|_| ())
}

/// Where that is.
pub(super) fn compiled(ground: &Ground, file: &str) -> PathBuf {
    ground.file(file.split('.').next().unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed() {
        assert!(find("sh").is_some());
        provide(&[Need::program("dash", "sh")]).unwrap();
    }
}
