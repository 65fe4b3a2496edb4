//! The library that takes the place of glibc's locks: built or given, and known to be loadable before anything is measured.

use super::process::maps_name;
use super::rows::{AGAIN, RECORDED};
use super::wish::Wish;
use crate::install::Build;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The crate that makes it.
const PACKAGE: &str = "ondeck-pthread";
const FILE: &str = "libondeck_pthread.so";
/// The command that profiles, and the crate that makes it.
const COMMAND: (&str, &str) = ("ondeck", "ondeck-cli");
/// Tells the library which lock takes the mutexes' place.
const CHOICE: &str = "ONDECK_LOCK";
/// Tells `measure_sections.c` where to write.
const SECTIONS: &str = "ONDECK_SECTIONS";

/// With which locks a program runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Variant {
    /// As in the records.
    pub(super) name: String,
    /// What is preloaded; `None` for glibc's own locks.
    pub(super) library: Option<PathBuf>,
    /// What the library is told, by variables.
    told: Vec<(&'static str, OsString)>,
    /// `ondeck profile` with its words, if that runs the program.
    profiler: Vec<OsString>,
}

impl Variant {
    /// glibc's own locks.
    pub(super) fn plain() -> Variant {
        Variant { name: "plain".into(), ..Variant::default() }
    }

    /// The same again, by another name: what a round has twice shows what chance does.
    pub(super) fn plain_again() -> Variant {
        Variant { name: AGAIN.into(), ..Variant::default() }
    }

    /// Those of the library.
    pub(super) fn preloaded(library: &Path, lock: Option<&str>) -> Variant {
        let told = lock.map(|lock| (CHOICE, lock.into())).into_iter().collect();
        Variant { name: lock.unwrap_or("ondeck").into(), library: Some(library.into()), told, ..Variant::default() }
    }

    /// glibc's own, whose sections a library writes to files that begin with `sections`.
    pub(super) fn measured(library: &Path, sections: &Path) -> Variant {
        Variant { told: vec![(SECTIONS, sections.into())], ..Variant::preloaded(library, None) }
    }

    /// The locks called `lock`, recorded by the command `ondeck`; the profile goes to `out`, in its JSON form.
    pub(super) fn profiled(ondeck: &Path, lock: &str, out: &Path) -> Variant {
        let words = [OsStr::new("profile"), "--lock".as_ref(), lock.as_ref(), "--format".as_ref(), "json".as_ref()];
        let words =
            [ondeck.as_os_str()].into_iter().chain(words).chain(["--out".as_ref(), out.as_ref(), "--".as_ref()]);
        let profiler = words.map(OsStr::to_owned).collect();
        Variant { name: format!("{lock}{RECORDED}"), profiler, ..Variant::default() }
    }

    /// Whether there is nothing of ours.
    pub(super) fn is_plain(&self) -> bool {
        self.library.is_none() && !self.is_profiled()
    }

    /// Whether the process that is started is not the program's, but its parent.
    pub(super) fn is_profiled(&self) -> bool {
        !self.profiler.is_empty()
    }

    /// The command that runs the program with these locks. Who has exported one of the variables measures the others anyway.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut words = self.profiler.iter().map(OsString::as_os_str).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env_remove("LD_PRELOAD").env_remove(CHOICE).env_remove(SECTIONS);
        command.envs(self.library.iter().map(|library| ("LD_PRELOAD", library))).envs(self.told.iter().cloned());
        command
    }
}

/// The library that is asked for, absolute and loadable.
pub(super) fn library(root: &Path, wish: &Wish) -> Result<PathBuf, String> {
    let path = match &wish.library {
        Some(path) => path.clone(),
        None => build(root, &[PACKAGE])?.join(FILE),
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
    // The loader only warns about a library that it cannot load, and runs the program without it, which would then be measured
    // as the library. So a small program says what it has mapped.
    let mut cat = Variant::preloaded(&path, lock).command(Path::new("cat"));
    let output = cat.arg("/proc/self/maps").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run cat: {error}"))?;
    if output.status.success() && maps_name(&String::from_utf8_lossy(&output.stdout), &path) {
        return Ok(path);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = if said.is_empty() { output.status.to_string() } else { said };
    Err(format!("{} cannot be preloaded: {said}", path.display()))
}

/// The command `ondeck` and the library, which it finds beside itself; as built from here.
pub(super) fn with_command(root: &Path) -> Result<(PathBuf, PathBuf), String> {
    let place = build(root, &[PACKAGE, COMMAND.1])?;
    Ok((place.join(COMMAND.0), loadable(&place.join(FILE), None)?))
}

/// Builds packages as they are released, and says where what they make is.
fn build(root: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let words: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    let status = cargo.args(["build", "--quiet", "--release"]).args(&words).current_dir(root).status();
    if !status.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err(format!("`cargo build --release {}` failed", words.join(" ")));
    }
    Ok(Build::ask(root)?.target.join("release"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiled_command_has_the_program_after_the_profiler_and_its_words() {
        let variant = Variant::profiled(Path::new("/o"), "glibc", Path::new("/p.json"));
        let command = variant.command(Path::new("a"));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let expected = ["profile", "--lock", "glibc", "--format", "json", "--out", "/p.json", "--", "a"];
        assert_eq!((command.get_program().to_str(), words), (Some("/o"), expected.map(str::to_owned).to_vec()));
        assert!(variant.is_profiled() && !Variant::plain().is_profiled());
    }

    #[test]
    fn a_variant_sets_what_it_needs_and_removes_the_rest() {
        let set = |variant: Variant| -> Vec<String> {
            let command = variant.command(Path::new("a"));
            let text =
                |(name, value): (&OsStr, Option<&OsStr>)| Some(format!("{}={}", name.display(), value?.display()));
            command.get_envs().filter_map(text).collect()
        };
        let library = Path::new("/a.so");
        assert!(set(Variant::plain()).is_empty());
        assert_eq!(set(Variant::preloaded(library, Some("std"))), ["LD_PRELOAD=/a.so", "ONDECK_LOCK=std"]);
        assert_eq!(set(Variant::measured(library, Path::new("/s"))), ["LD_PRELOAD=/a.so", "ONDECK_SECTIONS=/s"]);
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
    }
}
