//! `cargo xtask install --prefix DIRECTORY`: the libraries for C and C++, with what finds them.
//!
//! Below the directory it puts the headers, the shared library with its version in its name and the links that linkers and
//! loaders look for, the static library, the files of pkg-config and of CMake; and, if they have been built, the program
//! `ondeck` with its man pages and completions, and the library that is preloaded under programs. What is put there knows
//! its place by where it is found, so the directory may be moved, or packed.

use crate::command::{cargo, metadata, said};
use crate::files::{At, read};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "ondeck-capi";
/// What the compiler calls the library.
const BUILT_AS: &str = "libondeck_c";

/// Libraries that every compiler's driver adds by itself, each in the form that the kind of program wants.
const OF_THE_DRIVER: [&str; 2] = ["-lgcc_s", "-lc"];

/// What is put in if it has been built before: by which command, its name there, and where it goes.
const IF_BUILT: [(&str, &str, &str); 2] = [
    ("cargo build --release", "ondeck", "bin/ondeck"),
    ("cargo build --release -p ondeck-pthread", "libondeck_pthread.so", "lib/ondeck/libondeck_pthread.so"),
];

/// Scripts that complete commands and flags: of which shell, and where it looks for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/ondeck"),
    ("zsh", "share/zsh/site-functions/_ondeck"),
    ("fish", "share/fish/vendor_completions.d/ondeck.fish"),
];
const MAN_PAGES: &str = "share/man/man1";

/// Installs below `prefix`, and tells what.
pub(crate) fn run(root: &Path, prefix: &Path) -> Result<(), String> {
    for line in install(root, &std::path::absolute(prefix).at(prefix)?)? {
        println!("install: {line}");
    }
    Ok(())
}

/// Version and place of what cargo builds.
pub(crate) struct Build {
    pub(crate) version: String,
    pub(crate) target: PathBuf,
}

impl Build {
    /// Asks cargo.
    pub(crate) fn ask(root: &Path) -> Result<Self, String> {
        let metadata = metadata(root)?;
        let members = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let version = members.iter().find(|member| member["name"] == PACKAGE).map(|member| &member["version"]);
        let version = version.and_then(serde_json::Value::as_str).ok_or("there is no package ondeck-capi")?;
        let target = metadata["target_directory"].as_str().ok_or("`cargo metadata` names no target directory")?;
        Ok(Build { version: version.to_owned(), target: target.into() })
    }

    /// Changes when programs that were linked with the library cannot use it any more: the first number of the version.
    fn abi(&self) -> &str {
        self.version.split('.').next().unwrap_or_default()
    }

    pub(crate) fn soname(&self) -> String {
        format!("libondeck.so.{}", self.abi())
    }

    fn shared_file(&self) -> String {
        format!("libondeck.so.{}", self.version)
    }
}

/// Builds and installs; gives a line for each thing that was put below `prefix`, or was not.
pub(crate) fn install(root: &Path, prefix: &Path) -> Result<Vec<String>, String> {
    if !cfg!(target_os = "linux") {
        return Err("install: names and links of libraries are those of Linux".into());
    }
    let build = Build::ask(root)?;
    let soname = build.soname();
    rustc(root, "cdylib", &["-C", &format!("link-arg=-Wl,-soname,{soname}")])?;
    let static_libs = static_libs(&rustc(root, "staticlib", &["--print", "native-static-libs"])?)?;

    let source = root.join("crates/capi");
    let release = build.target.join("release");
    let mut lines = Vec::new();
    let mut copy = |from: &Path, to: &str| {
        lines.push(to.to_owned());
        put(prefix, to, &fs::read(from).at(from)?, from)
    };
    for header in ["ondeck.h", "ondeck.hpp"] {
        copy(&source.join("include").join(header), &format!("include/{header}"))?;
    }
    copy(&release.join(format!("{BUILT_AS}.so")), &format!("lib/{}", build.shared_file()))?;
    copy(&release.join(format!("{BUILT_AS}.a")), "lib/libondeck.a")?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(licence), &format!("share/doc/ondeck/{licence}"))?;
    }
    for (link, to) in [(soname.as_str(), build.shared_file()), ("libondeck.so", soname.clone())] {
        replace_link(&to, &prefix.join("lib").join(link))?;
        lines.push(format!("lib/{link} -> {to}"));
    }
    for (template, to) in TEMPLATES {
        let template = source.join("templates").join(template);
        put(prefix, to, filled(&read(&template)?, &build, &static_libs)?.as_bytes(), &template)?;
        lines.push(to.to_owned());
    }
    for (command, name, to) in IF_BUILT {
        let file = release.join(name);
        if file.is_file() {
            put(prefix, to, &fs::read(&file).at(&file)?, &file)?;
            lines.push(to.to_owned());
        } else {
            lines.push(format!("{to} is left out: it has not been built (`{command}`)"));
        }
    }
    lines.extend(what_the_program_writes(&release.join("ondeck"), prefix)?);
    Ok(lines)
}

/// Man pages and completions, if the program has been built.
fn what_the_program_writes(program: &Path, prefix: &Path) -> Result<Vec<String>, String> {
    if !program.is_file() {
        return Ok(Vec::new());
    }
    said(Command::new(program).arg("man").arg(prefix.join(MAN_PAGES)))?;
    let mut lines = vec![format!("{MAN_PAGES}/ondeck*.1")];
    for (shell, to) in COMPLETIONS {
        let script = said(Command::new(program).args(["completions", shell]))?.stdout;
        crate::files::write(&prefix.join(to), script)?;
        lines.push(to.to_owned());
    }
    Ok(lines)
}

/// Files with places to fill in, and where they go.
const TEMPLATES: [(&str, &str); 4] = [
    ("ondeck.pc.in", "lib/pkgconfig/ondeck.pc"),
    ("ondeck-static.pc.in", "lib/pkgconfig/ondeck-static.pc"),
    ("ondeckConfig.cmake.in", "lib/cmake/ondeck/ondeckConfig.cmake"),
    ("ondeckConfigVersion.cmake.in", "lib/cmake/ondeck/ondeckConfigVersion.cmake"),
];

fn filled(template: &str, build: &Build, static_libs: &[String]) -> Result<String, String> {
    let text = template
        .replace("@VERSION@", &build.version)
        .replace("@ABI@", build.abi())
        .replace("@SONAME@", &build.soname())
        .replace("@SHARED_FILE@", &build.shared_file())
        .replace("@STATIC_LIBS@", &static_libs.join(" "))
        .replace("@STATIC_LIBS_LIST@", &static_libs.join(";"));
    match text.split('@').nth(1) {
        Some(left) => Err(format!("nobody fills in `@{left}@` of a template")),
        None => Ok(text),
    }
}

/// Builds one form of the library, and gives what the compiler has said.
fn rustc(root: &Path, crate_type: &str, flags: &[&str]) -> Result<String, String> {
    let mut cargo = cargo(root);
    cargo.args(["rustc", "--release", "--locked", "--color=never", "--package", PACKAGE, "--crate-type", crate_type]);
    Ok(String::from_utf8_lossy(&said(cargo.arg("--").args(flags))?.stderr).into_owned())
}

/// What a program needs besides the static library, as the compiler has said it.
fn static_libs(said: &str) -> Result<Vec<String>, String> {
    let libs = said.lines().find_map(|line| line.split_once("native-static-libs: ")).map(|(_, libs)| libs.split(' '));
    let libs = libs.ok_or("the compiler has not said what the static library needs")?;
    let mut found: Vec<String> = Vec::new();
    for lib in libs.filter(|lib| !lib.is_empty() && !OF_THE_DRIVER.contains(lib)) {
        if !found.iter().any(|earlier| earlier == lib) {
            found.push(lib.to_owned());
        }
    }
    Ok(found)
}

/// Writes a file with the permissions of `like`. Beside it first: a program that has mapped the old one keeps that.
fn put(prefix: &Path, to: &str, bytes: &[u8], like: &Path) -> Result<(), String> {
    let path = prefix.join(to);
    let new = path.with_extension("being-installed");
    crate::files::write(&new, bytes)?;
    let moved = fs::metadata(like).and_then(|like| fs::set_permissions(&new, like.permissions()));
    moved.and_then(|()| fs::rename(&new, &path)).at(&path)
}

/// A symbolic link in place of whatever has this name.
fn replace_link(to: &str, link: &Path) -> Result<(), String> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(to, link),
    }
    .at(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_static_library_needs_is_read_once_each() {
        let said = "note: link against\n\nnote: native-static-libs: -lgcc_s -lutil -lm -lutil -lc\n";
        assert_eq!(static_libs(said), Ok(vec!["-lutil".to_owned(), "-lm".to_owned()]));
        assert!(static_libs("nothing").is_err());
    }

    #[test]
    fn every_template_is_filled() {
        let build = Build { version: "1.2.3".into(), target: PathBuf::new() };
        for (template, _) in TEMPLATES {
            let text = read(&crate::root().join("crates/capi/templates").join(template)).expect("a template");
            let text = filled(&text, &build, &["-lm".to_owned()]).expect("all places are known");
            assert!(text.contains("1.2.3") || text.contains("libondeck.so.1"), "{template}");
        }
        assert!(filled("@WHAT@", &build, &[]).is_err());
    }
}
