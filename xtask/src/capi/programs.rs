//! The examples and tests of the C and C++ interface: built in every way that users have, and run.

use super::{Places, STRICT, said};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No program takes a tenth of it.
const LONGEST: Duration = Duration::from_secs(120);

/// A program that is built and run.
pub(super) struct Program {
    /// Its file, as `counter.c`.
    name: String,
    source: PathBuf,
    is_cpp: bool,
    /// Examples are built by CMake too.
    is_example: bool,
    /// What it prints.
    prints: String,
}

impl Program {
    /// All of `crates/capi`.
    pub(super) fn all(source: &Path) -> Result<Vec<Self>, String> {
        let mut programs = Vec::new();
        for (directory, is_example) in [("examples", true), ("tests", false)] {
            let directory = source.join(directory);
            let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
            for path in entries.flatten().map(|entry| entry.path()) {
                let is_cpp = path.extension().is_some_and(|extension| extension == "cpp");
                if is_cpp || path.extension().is_some_and(|extension| extension == "c") {
                    programs.push(Self::read(path, is_cpp, is_example)?);
                }
            }
        }
        programs.sort_by_key(|program| (!program.is_example, program.name.clone()));
        Ok(programs)
    }

    fn read(source: PathBuf, is_cpp: bool, is_example: bool) -> Result<Self, String> {
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&source).map_err(|error| format!("{name}: {error}"))?;
        let prints = text.lines().find_map(|line| Some(line.split_once("Prints: ")?.1.to_owned()));
        let prints = prints.ok_or_else(|| format!("{name}: its first comment does not say what it prints"))?;
        Ok(Program { name, source, is_cpp, is_example, prints })
    }
}

/// How a program gets the library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Linkage {
    Shared,
    Static,
    /// The C library too.
    AllStatic,
}

impl Linkage {
    const ALL: [(Linkage, &'static str); 3] =
        [(Linkage::Shared, "shared"), (Linkage::Static, "static"), (Linkage::AllStatic, "all static")];

    /// What pkg-config is asked.
    fn question(self) -> &'static [&'static str] {
        match self {
            Linkage::Shared => &["--cflags", "--libs", "ondeck"],
            Linkage::Static => &["--cflags", "--libs", "ondeck-static"],
            Linkage::AllStatic => &["--static", "--cflags", "--libs", "ondeck"],
        }
    }
}

/// Which of the programs that find libraries there are.
pub(super) struct Finders {
    pub(super) pkg_config: bool,
    pub(super) cmake: bool,
}

/// Builds and runs them all; a line for each, and the number of runs.
pub(super) fn try_all(
    places: &Places,
    programs: &[Program],
    compilers: &[[&str; 2]],
    finders: &Finders,
) -> Result<usize, String> {
    let mut projects = Vec::new();
    if finders.cmake {
        for pair in compilers {
            for (name, library) in [("shared", "ondeck::ondeck"), ("static", "ondeck::static")] {
                projects.push((format!("cmake {} {name}", pair[0]), cmake(places, *pair, library)?));
            }
        }
    }
    let mut n_runs = 0;
    for program in programs {
        let mut ways = Vec::new();
        for pair in compilers.iter().filter(|_| finders.pkg_config) {
            let compiler = pair[usize::from(program.is_cpp)];
            for (linkage, name) in Linkage::ALL {
                let path = places.work.join(format!("{}-{compiler}-{}", program.name, name.replace(' ', "-")));
                compile(places, program, compiler, linkage, &path)?;
                let library = (linkage == Linkage::Shared).then(|| places.prefix.join("lib"));
                run(program, &path, library.as_deref())?;
                ways.push(format!("{compiler} {name}"));
            }
        }
        for (name, project) in projects.iter().filter(|_| program.is_example) {
            run(program, &project.join(program.name.replace('.', "_")), None)?;
            ways.push(name.clone());
        }
        println!("capi: {:<18}{}", program.name, ways.join(", "));
        n_runs += ways.len();
    }
    Ok(n_runs)
}

fn compile(places: &Places, program: &Program, compiler: &str, linkage: Linkage, to: &Path) -> Result<(), String> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(linkage.question()).env("PKG_CONFIG_PATH", places.prefix.join("lib/pkgconfig"));
    let flags = said(&mut pkg_config)?;
    let mut command = Command::new(compiler);
    command.args([if program.is_cpp { "-std=c++17" } else { "-std=c11" }, "-O2"]).args(STRICT);
    if linkage == Linkage::AllStatic {
        command.arg("-static");
    }
    command.arg(&program.source).args(flags.split_whitespace()).arg("-o").arg(to);
    said(&mut command).map(drop)
}

/// Builds the examples as a project that finds the library by CMake; gives its directory.
fn cmake(places: &Places, [c, cpp]: [&str; 2], library: &str) -> Result<PathBuf, String> {
    let build = places.work.join(format!("cmake-{c}-{}", library.replace("::", "-")));
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(places.source.join("examples")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", places.prefix.display()));
    configure.args([&format!("-DCMAKE_C_COMPILER={c}"), &format!("-DCMAKE_CXX_COMPILER={cpp}")]);
    said(configure.arg(format!("-DONDECK={library}")))?;
    said(Command::new("cmake").arg("--build").arg(&build))?;
    Ok(build)
}

/// Runs a program, which has to end well and to print what it says that it prints.
fn run(program: &Program, path: &Path, library: Option<&Path>) -> Result<(), String> {
    let failed = |what: String| format!("capi: {}: {what}", path.display());
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        command.env("LD_LIBRARY_PATH", library);
    }
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let begin = Instant::now();
    // What it prints is shorter than what the pipe holds, so that it need not be read meanwhile.
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(error.to_string()))? {
            break status;
        }
        if begin.elapsed() > LONGEST {
            child.kill().and_then(|()| child.wait()).map_err(|error| failed(error.to_string()))?;
            return Err(failed(format!("still running after {LONGEST:?}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut printed = String::new();
    child.stdout.take().map(|mut out| out.read_to_string(&mut printed));
    if status.success() && printed.trim_end() == program.prints {
        return Ok(());
    }
    Err(failed(format!("{status}; it has printed `{}` and not `{}`", printed.trim_end(), program.prints)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_says_what_it_prints() {
        let programs = Program::all(&crate::root().join("crates/capi")).expect("readable");
        assert!(programs.iter().filter(|program| program.is_example).count() >= 8);
        assert!(programs.iter().all(|program| !program.prints.is_empty()));
    }

    #[test]
    fn the_first_program_of_the_page_is_the_example() {
        let read = |path: &str| fs::read_to_string(crate::root().join(path)).expect(path);
        let example = read("crates/capi/examples/counter.c");
        let (_, program) = example.split_once("*/\n").expect("a first comment");
        assert!(read("docs/c.md").contains(&format!("```c\n{program}```")));
    }
}
