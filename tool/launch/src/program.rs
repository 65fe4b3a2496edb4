//! Which file a command means, and whether the loader will put our library into it.
//!
//! The loader leaves LD_PRELOAD alone where there is no loader (static programs), and where the program has more rights
//! than its user. Both would run as ever, and a measurement would compare the C library with itself; so both are refused.

use crate::Refusal;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSymbol};
use ondeck_futex::elf::{parse, read};
use ondeck_futex::loader::{is_loader, is_name_of_loader, program_of};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file that a shell would start: a path, or a name that is looked for in PATH.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Refusal> {
    let name = program.to_string_lossy();
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return if path.exists() { Ok(path) } else { Err(Refusal::NotFound(format!("{name}: there is no such file"))) };
    }
    let list = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let candidates: Vec<PathBuf> = std::env::split_paths(&list).map(|directory| directory.join(program)).collect();
    let is_program = |path: &&PathBuf| path.is_file() && is_executable(path);
    match candidates.iter().find(is_program).or_else(|| candidates.iter().find(|path| path.is_file())) {
        Some(path) => Ok(path.clone()),
        None => Err(Refusal::NotFound(format!("{name}: there is no such program in PATH"))),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Refuses a program that the library would not get into. A static one may do without, if it is `only_recorded`, and has a
/// recorder for its own locks.
pub(crate) fn judge(path: &Path, only_recorded: bool) -> Result<(), Refusal> {
    /// Interpreters of interpreters; the kernel allows four.
    const DEPTH: usize = 5;
    let mut path = path.to_owned();
    for _ in 0..DEPTH {
        let refuse = |why: String| Refusal::Program(format!("{}: {why}", path.display()));
        let metadata = path.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse("it is not a file".to_owned()));
        }
        if !is_executable(&path) {
            return Err(refuse("it is not executable".to_owned()));
        }
        let content = read(&path).map_err(|error| refuse(error.to_string()))?;
        if let Some(line) = content.strip_prefix(b"#!") {
            path = interpreter(line).map_err(refuse)?;
            continue;
        }
        // Of the loader, what it loads counts: see [`judge_loaded`].
        if !is_loader(&path) {
            judge_content(&path, &content, only_recorded)?;
        }
        return judge_rights(&path, &metadata).map_err(refuse);
    }
    Err(Refusal::Program(format!("{}: too many interpreters of interpreters", path.display())))
}

/// Refuses a program that the loader is to load, which was named as a program. It needs no right to be executed, gives its
/// user no rights, and is no script.
pub(crate) fn judge_loaded(words: &[OsString], only_recorded: bool) -> Result<(), Refusal> {
    let loader = words[0].to_string_lossy();
    let program = program_of(&words[1..]).map_err(|option| {
        let why = match option.is_empty() {
            true => "no program is named behind the loader".to_owned(),
            false => format!("with {} the loader runs no program", option.display()),
        };
        Refusal::Program(format!("{loader}: {why}; accepted: {loader} PROGRAM ARGUMENTS"))
    })?;
    let path = Path::new(program);
    let refuse = |why: String| Refusal::Program(format!("{}: {why}", path.display()));
    if !program.as_bytes().contains(&b'/') {
        // The loader would look among libraries.
        return Err(refuse("the loader takes the program's path, as ./PROGRAM".to_owned()));
    }
    if !path.exists() {
        return Err(Refusal::NotFound(format!("{}: there is no such file", path.display())));
    }
    judge_content(path, &read(path).map_err(|error| refuse(error.to_string()))?, only_recorded)
}

/// Refuses what is in a program's file.
fn judge_content(path: &Path, content: &[u8], only_recorded: bool) -> Result<(), Refusal> {
    let own = |why: &str| format!("{}: {why}", path.display());
    if let Some(why) = judge_binary(content).map_err(|why| Refusal::Program(own(&why)))?
        && !(only_recorded && why == STATIC && has_recorder(content))
    {
        return Err(Refusal::OutOfReach(own(&why)));
    }
    let options = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    sanitizer(content, &options).map_or(Ok(()), |why| Err(Refusal::OutOfReach(own(why))))
}

/// What a script's first line starts. `env` starts what it finds by a name.
fn interpreter(line: &[u8]) -> Result<PathBuf, String> {
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = PathBuf::from(OsString::from_vec(words.next().ok_or("its first line names no interpreter")?.to_vec()));
    let is_name = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    match words.find(is_name) {
        Some(name) if first.file_name() == Some(OsStr::new("env")) => {
            find(OsStr::from_bytes(name)).map_err(|refusal| refusal.to_string())
        }
        _ => Ok(first),
    }
}

/// Why it cannot be started; or, if it can be, why no library of ours would be loaded into it.
fn judge_binary(content: &[u8]) -> Result<Option<String>, String> {
    match FileKind::parse(content) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err("it is a 32-bit program, and ondeck's library has 64 bits".to_owned()),
        // A script without a first line is started by a shell, or not at all.
        _ => return Err("it is neither a program of this system nor a script that names its interpreter".to_owned()),
    }
    // The kernel reads no more than this either: what else there is may be damaged.
    let header =
        FileHeader64::<Endianness>::parse(content).map_err(|error| format!("its header cannot be read: {error}"))?;
    let endian = header.endian().map_err(|error| error.to_string())?;
    if header.e_machine(endian) != MACHINE {
        return Err("it is a program for another processor".to_owned());
    }
    let segments = header.program_headers(endian, content).map_err(|error| error.to_string())?;
    let loader = segments.iter().find_map(|segment| segment.interpreter(endian, content).ok().flatten());
    match loader {
        None => Ok(Some(STATIC.to_owned())),
        Some(loader) if is_glibc(loader) => Ok(None),
        Some(loader) => Ok(Some(format!(
            "its loader is {}, so its C library is not glibc; only glibc's locks can be recorded or replaced",
            String::from_utf8_lossy(loader)
        ))),
    }
}

const STATIC: &str = "it is a static program, so its locks cannot be recorded or replaced";

/// Whether a program has the recorder of ondeck's own locks in it: that one asks for a variable which nobody else knows.
fn has_recorder(content: &[u8]) -> bool {
    const ITS: &[u8] = b"ONDECK_RECORD_MAX_MB\0";
    content.windows(ITS.len()).any(|bytes| bytes == ITS)
}

/// Why a program that a compiler has built with one of its sanitizers gets no library of ours; `options` are those of
/// AddressSanitizer.
///
/// With its runtime inside the program, AddressSanitizer has nothing against a library. ThreadSanitizer's then calls glibc's
/// condition variables with our mutexes, and reports races in what we do at a mutex.
fn sanitizer(content: &[u8], options: &str) -> Option<&'static str> {
    let file = parse(content).ok()?;
    let is_there = |name: &[u8], is_in_the_program: bool| {
        let mut found = file.dynamic_symbols().filter(|symbol| symbol.name_bytes() == Ok(name));
        found.any(|symbol| symbol.is_undefined() != is_in_the_program)
    };
    let has_leave = options.split([':', ',', ' ']).any(|option| option == LEAVE);
    if is_there(b"__asan_init", false) && !has_leave {
        return Some(
            "it is built with AddressSanitizer, which ends a program that loads another library before its own; accepted: \
             ASAN_OPTIONS=verify_asan_link_order=0, a program linked with -static-libasan, or a build without it",
        );
    }
    // Inside a program its functions have no names for the loader, but what it answers in the C library's place has.
    let is_inside = || is_there(b"pthread_cond_wait", true) && says(&file, b"ThreadSanitizer");
    (is_there(b"__tsan_init", false) || is_inside()).then_some(
        "it is built with ThreadSanitizer, which reports races that are none if ondeck's library answers lock calls, or waits \
         for ever; accepted: a build without it",
    )
}

/// Whether a text is among a program's constants.
fn says(file: &object::File<'_>, text: &[u8]) -> bool {
    let constants = file.section_by_name_bytes(b".rodata").and_then(|section| section.data().ok());
    constants.is_some_and(|constants| constants.windows(text.len()).any(|part| part == text))
}

/// With it, AddressSanitizer does not ask to be the first library.
const LEAVE: &str = "verify_asan_link_order=0";

const MACHINE: elf::Machine = if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 };

fn is_glibc(loader: &[u8]) -> bool {
    let name = loader.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    is_name_of_loader(name)
}

/// With other rights than its user's, the loader ignores a library that is named by its path.
fn judge_rights(path: &Path, metadata: &std::fs::Metadata) -> Result<(), String> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let has = |bit: u32| metadata.mode() & bit != 0;
    if has(SET_USER) && metadata.uid() != user.as_raw() || has(SET_GROUP) && metadata.gid() != group.as_raw() {
        return Err("it runs with the rights of another user or group, so the loader ignores LD_PRELOAD".to_owned());
    }
    if !user.is_root() && has_capabilities(path) {
        return Err("it has file capabilities, so the loader ignores LD_PRELOAD".to_owned());
    }
    Ok(())
}

fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr_query(path, "security.capability").is_ok_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(directory: &tempfile::TempDir, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        match judge(path, false) {
            Err(Refusal::Program(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_of_this_system_may_run() {
        assert_eq!(judge(&find(OsStr::new("sh")).unwrap(), false), Ok(()));
    }

    #[test]
    fn a_script_is_what_its_interpreter_is() {
        let directory = tempfile::tempdir().unwrap();
        for (name, line) in [("a", "#!/bin/sh\n"), ("b", "#! /usr/bin/env -S FOO=1 sh -e\n"), ("c", "#!/bin/sh -e")] {
            assert_eq!(judge(&script(&directory, name, line, 0o755), false), Ok(()), "{line}");
        }
        let lost = script(&directory, "d", "#!/nowhere/at/all\n", 0o755);
        assert!(refusal(&lost).contains("/nowhere/at/all"));
        assert!(refusal(&script(&directory, "e", "#!\n", 0o755)).contains("no interpreter"));
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(refusal(&script(&directory, "text", "hello", 0o755)).contains("neither a program"));
        assert!(refusal(&script(&directory, "shut", "#!/bin/sh\n", 0o644)).contains("not executable"));
        assert!(refusal(directory.path()).contains("not a file"));
        assert!(matches!(find(OsStr::new("no-such-program-here")), Err(Refusal::NotFound(_))));
        assert!(matches!(find(OsStr::new("./no/such/program")), Err(Refusal::NotFound(_))));
    }

    /// Whether a program that a compiler builds with these flags is refused, and why. Not every system has what it needs.
    fn built_with(directory: &tempfile::TempDir, compiler: &str, flags: &[&str]) -> Option<Result<(), String>> {
        let (source, program) = (directory.path().join("a.c"), directory.path().join("a"));
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let mut how = std::process::Command::new(compiler);
        how.args(flags).arg(&source).arg("-o").arg(&program).stderr(std::process::Stdio::null());
        if !how.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: {compiler} {flags:?} cannot be built here");
            return None;
        }
        Some(sanitizer(&read(&program).unwrap(), "").map_or(Ok(()), |why| Err(why.to_owned())))
    }

    #[test]
    fn sanitizers_are_known_before_the_program_is_started() {
        let directory = tempfile::tempdir().unwrap();
        let (address, thread) = (Some("AddressSanitizer"), Some("ThreadSanitizer"));
        for (compiler, flags, refused) in [
            ("gcc", &["-fsanitize=address"][..], address),
            ("gcc", &["-fsanitize=address", "-static-libasan"], None),
            ("gcc", &["-fsanitize=address", "-static-libasan", "-s"], None),
            ("gcc", &["-fsanitize=thread"], thread),
            ("gcc", &["-fsanitize=thread", "-static-libtsan"], thread),
            ("gcc", &["-fsanitize=thread", "-static-libtsan", "-s"], thread),
            ("gcc", &["-fsanitize=undefined"], None),
            ("gcc", &["-fsanitize=leak"], None),
            // Its runtimes are inside the program, unless asked otherwise.
            ("clang", &["-fsanitize=address"], None),
            ("clang", &["-fsanitize=address", "-shared-libasan"], address),
            ("clang", &["-fsanitize=thread", "-s"], thread),
        ] {
            match (built_with(&directory, compiler, flags), refused) {
                (None, _) | (Some(Ok(())), None) => {}
                (Some(Err(why)), Some(name)) if why.contains(name) => {}
                (found, _) => panic!("{compiler} {flags:?}: {found:?} instead of {refused:?}"),
            }
        }
    }

    #[test]
    fn who_leaves_the_order_of_libraries_alone_is_not_refused() {
        let directory = tempfile::tempdir().unwrap();
        if built_with(&directory, "gcc", &["-fsanitize=address"]).is_some() {
            let program = directory.path().join("a");
            assert!(matches!(judge(&program, false), Err(Refusal::OutOfReach(_))));
            assert_eq!(sanitizer(&read(&program).unwrap(), "detect_leaks=0:verify_asan_link_order=0"), None);
        }
    }

    #[test]
    fn of_the_loader_the_program_counts_that_it_loads() {
        let loader = find(OsStr::new("/lib64/ld-linux-x86-64.so.2")).or(find(OsStr::new("/lib/ld-linux-aarch64.so.1")));
        let Ok(loader) = loader else { return };
        assert_eq!(judge(&loader, false), Ok(()));
        let directory = tempfile::tempdir().unwrap();
        let text = script(&directory, "script", "#!/bin/sh\n", 0o755);
        let loaded = |words: &[&OsStr]| {
            let words: Vec<OsString> = [loader.as_os_str()].iter().chain(words).map(OsString::from).collect();
            judge_loaded(&words, false).map_err(|refusal| refusal.to_string())
        };
        let shell = find(OsStr::new("sh")).unwrap();
        assert_eq!(loaded(&["--argv0".as_ref(), "x".as_ref(), shell.as_ref()]), Ok(()));
        for (words, why) in [
            (&["--list".as_ref(), shell.as_os_str()][..], "with --list the loader runs no program"),
            (&[], "no program is named"),
            (&["sh".as_ref()], "path"),
            (&["/no/such/program".as_ref()], "no such file"),
            (&[text.as_os_str()], "neither a program"),
            (&[loader.as_os_str()], "static"),
        ] {
            let refused = loaded(words).unwrap_err();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }

    #[test]
    fn loaders_are_known_by_their_names() {
        for (loader, is_ours) in [
            (&b"/lib64/ld-linux-x86-64.so.2"[..], true),
            (b"/lib/ld-linux-aarch64.so.1", true),
            (b"/lib/ld-musl-x86_64.so.1", false),
            (b"/system/bin/linker64", false),
        ] {
            assert_eq!(is_glibc(loader), is_ours);
        }
    }

    #[test]
    fn more_rights_than_the_user_has_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = script(&directory, "mine", "#!/bin/sh\n", 0o4755);
        assert_eq!(judge_rights(&path, &path.metadata().unwrap()), Ok(()), "its user is the caller");
        let su = Path::new("/bin/su");
        if su.exists() && !rustix::process::geteuid().is_root() {
            assert!(judge_rights(su, &su.metadata().unwrap()).unwrap_err().contains("rights"));
        }
    }
}
