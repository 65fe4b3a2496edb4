//! The examples and tests of the C and C++ interface: built in every way that users have, and run.

use super::{Places, STRICT};
use crate::command::{output, within};
use crate::files::{names, read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
            for name in names(&source.join(directory))? {
                if name.ends_with(".c") || name.ends_with(".cpp") {
                    programs.push(Self::read(&source.join(directory), name, is_example)?);
                }
            }
        }
        programs.sort_by_key(|program| (!program.is_example, program.name.clone()));
        Ok(programs)
    }

    fn read(directory: &Path, name: String, is_example: bool) -> Result<Self, String> {
        let source = directory.join(&name);
        let text = read(&source)?;
        let prints = text.lines().find_map(|line| Some(line.split_once("Prints: ")?.1.to_owned()));
        let prints = prints.ok_or_else(|| format!("{name}: its first comment does not say what it prints"))?;
        Ok(Program { is_cpp: name.ends_with(".cpp"), name, source, is_example, prints })
    }
}

/// How a program gets the library.
struct Linkage {
    name: &'static str,
    /// What pkg-config is asked.
    question: &'static [&'static str],
    flags: &'static [&'static str],
    /// Whether the program looks for the library when it starts.
    is_shared: bool,
}

const LINKAGES: [Linkage; 3] = [
    Linkage { name: "shared", question: &["ondeck"], flags: &[], is_shared: true },
    Linkage { name: "static", question: &["ondeck-static"], flags: &[], is_shared: false },
    // The C library too.
    Linkage { name: "all static", question: &["--static", "ondeck"], flags: &["-static"], is_shared: false },
];

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
            for linkage in &LINKAGES {
                let way = format!("{compiler} {}", linkage.name);
                let path = places.work.join(format!("{}-{}", program.name, way.replace(' ', "-")));
                compile(places, program, compiler, linkage, &path)?;
                let library = linkage.is_shared.then(|| places.prefix.join("lib"));
                run(program, &path, library.as_deref())?;
                ways.push(way);
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

fn compile(places: &Places, program: &Program, compiler: &str, linkage: &Linkage, to: &Path) -> Result<(), String> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--cflags", "--libs"]).args(linkage.question);
    let flags = output(pkg_config.env("PKG_CONFIG_PATH", places.prefix.join("lib/pkgconfig")))?;
    let mut command = Command::new(compiler);
    command.args([if program.is_cpp { "-std=c++17" } else { "-std=c11" }, "-O2"]).args(STRICT).args(linkage.flags);
    command.arg(&program.source).args(flags.split_whitespace()).arg("-o").arg(to);
    output(&mut command).map(drop)
}

/// Builds the examples as a project that finds the library by CMake; gives its directory.
fn cmake(places: &Places, [c, cpp]: [&str; 2], library: &str) -> Result<PathBuf, String> {
    let build = places.work.join(format!("cmake-{c}-{}", library.replace("::", "-")));
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(places.source.join("examples")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", places.prefix.display()));
    configure.args([&format!("-DCMAKE_C_COMPILER={c}"), &format!("-DCMAKE_CXX_COMPILER={cpp}")]);
    output(configure.arg(format!("-DONDECK={library}")))?;
    output(Command::new("cmake").arg("--build").arg(&build))?;
    Ok(build)
}

/// Runs a program, which has to end well and to print what it says that it prints.
fn run(program: &Program, path: &Path, library: Option<&Path>) -> Result<(), String> {
    let mut command = Command::new(path);
    command.env_remove("LD_LIBRARY_PATH").envs(library.map(|library| ("LD_LIBRARY_PATH", library)));
    let (output, in_time) = within(&mut command, LONGEST)?;
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let (printed, wanted) = (printed.trim_end(), &program.prints);
    if output.status.success() && printed == wanted {
        return Ok(());
    }
    let end = if in_time { output.status.to_string() } else { format!("no end within {LONGEST:?}") };
    Err(format!("{said}capi: {}: {end}; it has printed `{printed}` and not `{wanted}`", path.display()))
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
        let read = |path: &str| read(&crate::root().join(path)).expect(path);
        let example = read("crates/capi/examples/counter.c");
        let (_, program) = example.split_once("*/\n").expect("a first comment");
        assert!(read("docs/c.md").contains(&format!("```c\n{program}```")));
    }
}
