//! The library that takes the place of glibc's locks: built or given, and known to be loadable before anything is measured.

use super::process::maps_name;
use super::wish::Wish;
use crate::docs::overhead::RECORDED;
use crate::docs::small::AGAIN;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The crate that makes it, if the workspace has it.
const CRATE: &str = "crates/pthread/Cargo.toml";
const PACKAGE: &str = "ondeck-pthread";
const FILE: &str = "libondeck_pthread.so";
/// The command that profiles, and the crate that makes it.
const COMMAND: (&str, &str) = ("ondeck", "ondeck-cli");
/// Tells the library which lock takes the mutexes' place.
pub(super) const CHOICE: &str = "ONDECK_LOCK";
/// Tells `measure_sections.c` where to write.
const SECTIONS: &str = "ONDECK_SECTIONS";

/// With which locks a program runs.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    /// As in the records.
    pub(super) name: String,
    /// What is preloaded; `None` for glibc's own locks.
    pub(super) library: Option<PathBuf>,
    lock: Option<String>,
    sections: Option<PathBuf>,
    profiler: Option<Profiler>,
}

/// `ondeck profile`.
#[derive(Clone, Debug)]
struct Profiler {
    command: PathBuf,
    /// The lock that is recorded.
    lock: &'static str,
    /// Where the profile goes, in its JSON form.
    out: PathBuf,
}

impl Variant {
    /// glibc's own locks.
    pub(super) fn plain() -> Variant {
        Variant { name: "plain".into(), library: None, lock: None, sections: None, profiler: None }
    }

    /// The same again, by another name: what a round has twice shows what chance does.
    pub(super) fn plain_again() -> Variant {
        Variant { name: AGAIN.into(), ..Variant::plain() }
    }

    /// Those of the library.
    pub(super) fn preloaded(library: &Path, lock: Option<&str>) -> Variant {
        let name = lock.unwrap_or("ondeck").to_owned();
        Variant { name, library: Some(library.to_owned()), lock: lock.map(str::to_owned), ..Variant::plain() }
    }

    /// glibc's own, whose sections a library writes to files that begin with `sections`.
    pub(super) fn measured(library: &Path, sections: &Path) -> Variant {
        Variant { sections: Some(sections.to_owned()), ..Variant::preloaded(library, None) }
    }

    /// The locks called `lock`, recorded by the command `ondeck`; the profile goes to `out`.
    pub(super) fn profiled(ondeck: &Path, lock: &'static str, out: &Path) -> Variant {
        let profiler = Profiler { command: ondeck.to_owned(), lock, out: out.to_owned() };
        Variant { name: format!("{lock}{RECORDED}"), profiler: Some(profiler), ..Variant::plain() }
    }

    /// The command that runs such a one under the profiler, if there shall be one.
    pub(super) fn wrapped(&self, command: &Command) -> Option<Command> {
        let profiler = self.profiler.as_ref()?;
        let mut wrapped = Command::new(&profiler.command);
        wrapped.args(["profile", "--lock", profiler.lock, "--format", "json", "--out"]).arg(&profiler.out).arg("--");
        wrapped.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        if let Some(place) = command.get_current_dir() {
            wrapped.current_dir(place);
        }
        Some(wrapped)
    }

    /// Whether the process that is started is not the program's, but its parent.
    pub(super) fn is_wrapped(&self) -> bool {
        self.profiler.is_some()
    }

    /// Says so in the program's environment, and nothing else: who has exported one of these measures the other anyway.
    pub(super) fn apply(&self, command: &mut Command) {
        command.env_remove("LD_PRELOAD").env_remove(CHOICE).env_remove(SECTIONS);
        if let Some(library) = &self.library {
            command.env("LD_PRELOAD", library);
        }
        if let Some(lock) = &self.lock {
            command.env(CHOICE, lock);
        }
        if let Some(sections) = &self.sections {
            command.env(SECTIONS, sections);
        }
    }
}

/// The library that is asked for, absolute and loadable.
pub(super) fn library(root: &Path, wish: &Wish) -> Result<PathBuf, String> {
    let path = match &wish.library {
        Some(path) => path.clone(),
        None if root.join(CRATE).is_file() => build(root, &[PACKAGE])?.join(FILE),
        None => return Err(format!("there is no {CRATE} to build {FILE} from; give one by --library PATH")),
    };
    loadable(&path, wish.lock.as_deref())
}

/// The library as the kernel names it in a process's maps, if the loader takes it.
pub(super) fn loadable(path: &Path, lock: Option<&str>) -> Result<PathBuf, String> {
    let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    // The loader takes these two for the ends of a name.
    if path.to_string_lossy().contains([':', ' ']) {
        return Err(format!("{}: the loader cannot preload a path with a colon or a space", path.display()));
    }
    probe(&path, lock)?;
    Ok(path)
}

/// The command `ondeck` and the library, which it finds beside itself; as built from here.
pub(super) fn with_command(root: &Path) -> Result<(PathBuf, PathBuf), String> {
    let place = build(root, &[PACKAGE, COMMAND.1])?;
    Ok((place.join(COMMAND.0), loadable(&place.join(FILE), None)?))
}

/// Builds packages as they are released, and says where what they make is.
fn build(root: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let words: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    let status = cargo().args(["build", "--quiet", "--release"]).args(&words).current_dir(root).status();
    if !status.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err(format!("`cargo build --release {}` failed", words.join(" ")));
    }
    let words = ["metadata", "--format-version", "1", "--no-deps"];
    let output = cargo().args(words).current_dir(root).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("`cargo metadata`: {error}"))?;
    let target = metadata["target_directory"].as_str().ok_or("`cargo metadata` names no target directory")?;
    Ok(Path::new(target).join("release"))
}

/// Lets a small program say what it has mapped: the loader only warns about a library that it cannot load, and runs the
/// program without it, which would then be measured as the library.
fn probe(library: &Path, lock: Option<&str>) -> Result<(), String> {
    let mut cat = Command::new("cat");
    cat.arg("/proc/self/maps").stdin(Stdio::null());
    Variant::preloaded(library, lock).apply(&mut cat);
    let output = cat.output().map_err(|error| format!("cannot run cat: {error}"))?;
    if output.status.success() && maps_name(&String::from_utf8_lossy(&output.stdout), library) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = if said.is_empty() { output.status.to_string() } else { said };
    Err(format!("{} cannot be preloaded: {said}", library.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiled_command_keeps_its_words_and_environment() {
        let variant = Variant::profiled(Path::new("/o"), "glibc", Path::new("/p.json"));
        let mut command = Command::new("a");
        let wrapped = variant.wrapped(command.args(["-x", "b c"]).env("K", "v").env_remove("L")).unwrap();
        let words: Vec<_> = wrapped.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let expected = ["profile", "--lock", "glibc", "--format", "json", "--out", "/p.json", "--", "a", "-x", "b c"];
        assert_eq!((wrapped.get_program().to_str(), words), (Some("/o"), expected.map(str::to_owned).to_vec()));
        let environment: Vec<_> = wrapped.get_envs().map(|(name, value)| (name.to_str(), value.is_some())).collect();
        assert_eq!(environment, [(Some("K"), true), (Some("L"), false)]);
        assert!(variant.is_wrapped() && Variant::plain().wrapped(&command).is_none());
    }

    #[test]
    fn what_is_no_library_is_refused_with_the_reason() {
        let file = std::env::temp_dir().join(format!("ondeck-no-library-{}.so", std::process::id()));
        std::fs::write(&file, "text").unwrap();
        let wish = |path: &Path| Wish { library: Some(path.to_owned()), ..Wish::default() };
        let fault = library(Path::new("nowhere"), &wish(&file)).unwrap_err();
        assert!(fault.contains("cannot be preloaded"), "{fault}");
        std::fs::remove_file(&file).unwrap();
        let fault = library(Path::new("nowhere"), &wish(&file)).unwrap_err();
        assert!(fault.contains("No such file"), "{fault}");
        let fault = library(Path::new("nowhere"), &Wish::default()).unwrap_err();
        assert!(fault.contains("--library PATH"), "{fault}");
    }
}
