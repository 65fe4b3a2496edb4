//! What a program needs: Debian's packages, installed where they are missing and can be.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A Debian package, and a program or a header by which it is known to be there, whoever has installed it.
pub(super) type Need = (&'static str, &'static str);

/// Where Debian puts programs and headers. They come before a user's PATH, which may lack the servers, and begin with scripts
/// that choose among several versions of a program.
const PLACES: [&str; 4] = ["/usr/bin", "/usr/sbin", "/usr/include", "/usr/local/include"];

/// Where a program or a header is.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = PLACES.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// Makes sure that all is there; what is missing is installed. The error says which package could not be had and why.
pub(super) fn provide(needs: &[Need]) -> Result<(), String> {
    let missing = || needs.iter().filter(|(_, file)| find(file).is_none()).map(|(name, _)| *name).collect::<Vec<_>>();
    let wanted = missing();
    if wanted.is_empty() {
        return Ok(());
    }
    println!("installing {}", wanted.join(", "));
    let installed = install(&wanted);
    let left = missing().join(", ");
    match installed {
        _ if left.is_empty() => Ok(()),
        Ok(()) => Err(format!("apt-get has installed {left}, but what is wanted of it is not there")),
        Err(reason) => Err(format!("no {left}: {reason}")),
    }
}

fn install(packages: &[&str]) -> Result<(), String> {
    if find("apt-get").is_none() {
        return Err("there is no apt-get here; install it by hand".into());
    }
    let install = || apt(&["install", "-y", "-qq", "--no-install-recommends"], packages);
    // Lists may be too old, or missing altogether, so a failure is given a second chance.
    install().or_else(|_| apt(&["update", "-qq"], &[]).and_then(|()| install()))
}

fn apt(words: &[&str], packages: &[&str]) -> Result<(), String> {
    let id = Command::new("id").arg("-u").output().map(|output| output.stdout);
    let mut command = Command::new("env");
    if !id.is_ok_and(|id| id.starts_with(b"0\n")) {
        command = Command::new("sudo");
        // Nobody may be there to type a password.
        command.arg("-n");
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(words).args(packages).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("apt-get: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(format!("apt-get {} failed: {line}", words[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed() {
        assert!(find("sh").is_some());
        provide(&[("dash", "sh")]).unwrap();
    }
}
