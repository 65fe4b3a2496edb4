//! Runtimes with a scheduler of their own, whose tasks wait without the kernel and without the C library: what whole threads
//! wait for is not what their programs wait for, and a reader has to know.
//!
//! A program is known by its file, or by functions on its stacks: it may have the runtime in a library.

use crate::Note;
use crate::names::brief;
use crate::profile::{Process, Profile};
use crate::symbols::guarded;
use memchr::memmem;
use object::{Object, ObjectSection};
use ondeck_futex::elf::{parse, read, unreadable};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A runtime.
#[derive(Debug, PartialEq)]
pub(crate) struct Runtime {
    /// What waits in place of threads.
    pub(crate) tasks: &'static str,
    /// Sections of a program's file, and what stands in them.
    marks: &'static [(&'static str, &'static str)],
    /// How short names of its functions begin.
    functions: &'static [&'static str],
    /// Whether its programs have locks of threads, too, which the view from the kernel shows.
    pub(crate) has_locks_of_threads: bool,
    /// For readers: which runtime it is, and what shows its locks. A profile has it among its notes.
    note: &'static str,
}

const RUNTIMES: &[Runtime] = &[
    Runtime {
        tasks: "goroutines",
        // It is in each of Go's programs, also in those without symbols: the runtime walks stacks with it.
        marks: &[(".gopclntab", "")],
        functions: &["runtime.goexit", "runtime.mcall", "runtime.mstart", "runtime.futexsleep"],
        has_locks_of_threads: false,
        note: "locks between goroutines are not seen: a goroutine that waits leaves its thread to another one. To see them, \
               import net/http/pprof into the program, call runtime.SetMutexProfileFraction(1) at its start, and type:\n\
               go tool pprof http://localhost:6060/debug/pprof/mutex",
    },
    Runtime {
        tasks: "tokio's tasks",
        // Symbols of both ways to mangle names; and what its panics say of their place, which is left without symbols.
        marks: &[(".strtab", "5tokio7runtime"), (".rodata", "/src/runtime/task/harness.rs")],
        functions: &["tokio::runtime::"],
        has_locks_of_threads: true,
        note: "locks between tokio's tasks are not seen: a task that waits for a tokio::sync::Mutex leaves its thread to \
               another one. To see them, add the crate console-subscriber to the program, and type:\ntokio-console",
    },
    Runtime {
        tasks: "tasks of async-executor",
        marks: &[(".strtab", "14async_executor")],
        functions: &["async_executor::"],
        has_locks_of_threads: true,
        note: "locks between tasks of async-executor (smol, async-std) are not seen: a task that waits leaves its thread to \
               another one",
    },
    Runtime {
        tasks: "Java's threads",
        // What starts a virtual machine is called so in all its launchers.
        marks: &[(".dynstr", "JLI_Launch")],
        functions: &["JavaThread::", "JavaMain", "Unsafe_Park", "Parker::park"],
        has_locks_of_threads: true,
        note: "Java's own locks are not seen: its monitors (`synchronized`) and `java.util.concurrent.locks` are made of other waits. \
               To see them, use a profiler of Java's, such as async-profiler:\nasprof -e lock -d 30 PID",
    },
    Runtime {
        tasks: "fibers",
        marks: &[(".dynstr", "5boost6fibers"), (".strtab", "5boost6fibers")],
        // Many programs have folly's fibers in them and do not use them.
        functions: &["boost::fibers::", "folly::fibers::FiberManager::"],
        has_locks_of_threads: true,
        note: "locks between fibers are not seen: a fiber that waits leaves its thread to another one",
    },
];

/// The first runtime that a profile's notes tell of.
pub(crate) fn of(profile: &Profile) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| profile.notes.iter().any(|note| *note == runtime.note))
}

/// What was found in programs' files, so that each is read once.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    known: HashMap<PathBuf, Vec<&'static Runtime>>,
}

impl Programs {
    /// What a reader of the profile has to know of runtimes in its programs.
    pub(crate) fn notes(&mut self, profile: &Profile) -> Vec<Note> {
        let briefs: Vec<String> = profile.frames.iter().map(|frame| brief(&frame.function)).collect();
        let is_on_stacks = |runtime: &Runtime| {
            let is_its = |brief: &String| runtime.functions.iter().any(|begin| brief.starts_with(begin));
            briefs.iter().any(is_its)
        };
        let in_files: Vec<&Runtime> = profile.processes.iter().flat_map(|process| self.of_program(process)).collect();
        let found = RUNTIMES.iter().filter(|runtime| in_files.contains(runtime) || is_on_stacks(runtime));
        found.map(|runtime| Note::ending("", runtime.note)).collect()
    }

    /// Whether a process's program has a runtime.
    pub(crate) fn has_runtime(&mut self, process: &Process) -> bool {
        !self.of_program(process).is_empty()
    }

    fn of_program(&mut self, process: &Process) -> Vec<&'static Runtime> {
        let path = Path::new(&process.program);
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        // Without a file, its stacks have to tell.
        let Ok(found) = guarded(|| of_file(&file_of(process))) else { return Vec::new() };
        self.known.insert(path.to_owned(), found.clone());
        found
    }
}

/// The file that a process runs. Its path may lead elsewhere than ours, and its number may be another one's by now.
fn file_of(process: &Process) -> PathBuf {
    let link = PathBuf::from(format!("/proc/{}/exe", process.pid));
    let path = Path::new(&process.program);
    let is_it = std::fs::read_link(&link).is_ok_and(|leads_to| leads_to == path);
    if is_it { link } else { path.to_owned() }
}

fn of_file(path: &Path) -> Result<Vec<&'static Runtime>, String> {
    let mapped = read(path).map_err(unreadable)?;
    let object = parse(&mapped)?;
    /// A section may be longer than any disk, of holes.
    const LONGEST: usize = 1 << 30;
    let has = |(section, text): &(&str, &str)| {
        let section = object.section_by_name(section);
        section.is_some_and(|section| {
            text.is_empty()
                || section.data().is_ok_and(|data| {
                    let data = &data[..data.len().min(LONGEST)];
                    memmem::find(data, text.as_bytes()).is_some()
                })
        })
    };
    Ok(RUNTIMES.iter().filter(|runtime| runtime.marks.iter().any(has)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    fn notes(profile: &Profile) -> Vec<Note> {
        Programs::default().notes(profile)
    }

    #[test]
    fn a_runtime_is_known_by_functions_on_stacks() {
        for (function, word) in [
            ("runtime.futexsleep", "goroutines"),
            ("tokio::runtime::park::Inner::park", "tokio-console"),
            ("<async_executor::Executor as Drop>::drop", "async-executor"),
            ("boost::fibers::scheduler::dispatch()", "fibers"),
            ("Parker::park(bool, long)", "asprof"),
        ] {
            let mut profile = made_up::server();
            assert_eq!((notes(&profile), of(&profile)), (Vec::<Note>::new(), None));
            profile.frames[0].function = function.to_owned();
            profile.notes = notes(&profile);
            assert!(profile.notes.len() == 1 && profile.notes[0].contains(word), "{:?}", profile.notes);
            assert!(of(&profile).is_some_and(|runtime| profile.notes[0] == runtime.note));
            let has_command = profile.notes[0].shown().contains('\n');
            assert_eq!(has_command, !matches!(word, "async-executor" | "fibers"), "{:?}", profile.notes);
        }
        // A function of somebody else's that is only called alike.
        let mut profile = made_up::server();
        profile.frames[0].function = "my::tokio::runtime::x".to_owned();
        assert_eq!(notes(&profile), [""; 0]);
    }

    #[test]
    fn a_runtime_is_known_by_the_programs_file() {
        let directory = tempfile::tempdir().unwrap();
        let text =
            "__asm__(\".pushsection .gopclntab,\\\"a\\\"\\n.byte 1\\n.popsection\");\nint main(void) { return 0; }\n";
        let go = compiled(directory.path(), "go", text);
        let text =
            "int _ZN5tokio7runtime4park(void) { return 0; }\nint main(void) { return _ZN5tokio7runtime4park(); }\n";
        let tokio = compiled(directory.path(), "tokio", text);
        let plain = compiled(directory.path(), "plain", "int main(void) { return 0; }\n");
        let of = |path: &Path| {
            let process = Process { program: path.display().to_string(), ..Process::default() };
            notes(&Profile { processes: vec![process], ..Profile::default() })
        };
        assert!(of(&go).iter().all(|note| note.contains("goroutines")) && of(&go).len() == 1);
        assert!(of(&tokio).iter().all(|note| note.contains("tokio")) && of(&tokio).len() == 1);
        assert_eq!([&plain, Path::new("/"), Path::new("/nowhere")].map(|path| of(path).len()), [0; 3]);
    }

    fn compiled(directory: &Path, name: &str, text: &str) -> PathBuf {
        let (source, program) = (directory.join(format!("{name}.c")), directory.join(name));
        std::fs::write(&source, text).unwrap();
        let status = std::process::Command::new("gcc").args([&source, Path::new("-o"), &program]).status().unwrap();
        assert!(status.success());
        program
    }
}
