//! A program that runs as our child, and was meant by its number before it was there.
//!
//! A service manager hands its sockets to one process: LISTEN_PID is the number of that process, and a server that finds another
//! number there takes no socket. Between the two of them we are that process. So the child, which alone knows its number before
//! it becomes the program, writes it into the variables that have ours.
//!
//! Between fork and exec nothing may be allocated. So all words of the new program are prepared before, with room for the digits,
//! and the child starts it by itself: the standard library would use the environment as it was before the fork.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicPtr;

/// The variables in which systemd names a process by its number: for sockets, for a watchdog, and as the one that it started.
const NUMBERS: [&str; 3] = ["LISTEN_PID", "WATCHDOG_PID", STARTED];
/// The last one.
const STARTED: &str = "SYSTEMD_EXEC_PID";
/// Says in another way which process LISTEN_PID is about. Who does not find it looks at LISTEN_PID alone.
const SAME_IN_OTHER_WORDS: &str = "LISTEN_PIDFDID";
/// Of a number of 32 bits, and a 0 behind them.
const DIGITS: usize = 11;

/// Whether a service manager has started us as the process that it knows, so that messages count if they are ours. Systems that are
/// too old to say whom they have started say where messages go.
pub fn are_known_by_number() -> bool {
    let ours = std::process::id().to_string();
    let variable = |name: &str| std::env::var_os(name);
    let is_ours = |name: &str| variable(name).is_some_and(|value| *value == *ours);
    NUMBERS.into_iter().any(is_ours) || (variable(STARTED).is_none() && variable("NOTIFY_SOCKET").is_some())
}

/// Has the child that is started by `command` find its own number where ours is. To be called after all other steps between
/// fork and exec were added. `name` is what the program is called by.
pub fn give_own_number(command: &mut Command, name: &OsStr) {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => _ = variables.insert(variable.to_owned(), value.to_owned()),
            None => _ = variables.remove(variable),
        }
    }
    let ours = std::process::id().to_string();
    let is_ours = |variable: &&str| variables.get(OsStr::new(variable)).is_some_and(|value| *value == *ours);
    let meant: Vec<&str> = NUMBERS.into_iter().filter(is_ours).collect();
    if meant.is_empty() {
        return;
    }
    for variable in meant.iter().chain([&SAME_IN_OTHER_WORDS]) {
        variables.remove(OsStr::new(variable));
    }
    let program = command.get_program().to_owned();
    let words = std::iter::once(name).chain(command.get_args());
    // A word with a 0 in it is refused by `spawn`, with its own words.
    let Some(mut prepared) = Prepared::new(&program, words, &variables, &meant) else { return };
    // SAFETY: `start` only writes into memory that was made before the fork, and makes system calls.
    unsafe { command.pre_exec(move || Err(prepared.start())) };
}

/// All that is needed to become a program.
struct Prepared {
    program: CString,
    arguments: Words,
    environment: Words,
    /// Where the digits of the number belong: so far into each of the last entries of the environment.
    places: Vec<(usize, usize)>,
}

/// Words, each with a 0 behind it, and their addresses, with a 0 behind them.
struct Words {
    words: Vec<Vec<u8>>,
    addresses: Vec<AtomicPtr<c_char>>,
}

impl Words {
    fn new(mut words: Vec<Vec<u8>>) -> Self {
        // They are not moved from here on, as nothing is added to one.
        let mut addresses: Vec<_> = words.iter_mut().map(|word| AtomicPtr::new(word.as_mut_ptr().cast())).collect();
        addresses.push(AtomicPtr::default());
        Words { words, addresses }
    }

    /// As C has it: an `AtomicPtr` lies in memory as the pointer in it does.
    fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr().cast()
    }
}

impl Prepared {
    fn new<'a>(
        program: &OsStr,
        arguments: impl Iterator<Item = &'a OsStr>,
        variables: &BTreeMap<OsString, OsString>,
        meant: &[&str],
    ) -> Option<Self> {
        let word = |text: &OsStr| CString::new(text.as_bytes()).ok().map(CString::into_bytes_with_nul);
        let arguments = arguments.map(word).collect::<Option<Vec<_>>>()?;
        let entry = |(variable, value): (&OsString, &OsString)| {
            word(&[variable.as_os_str(), value.as_os_str()].join(OsStr::new("=")))
        };
        let mut environment = variables.iter().map(entry).collect::<Option<Vec<_>>>()?;
        let mut places = Vec::new();
        for variable in meant {
            places.push((environment.len(), variable.len() + 1));
            environment.push([variable.as_bytes(), b"=", &[0; DIGITS]].concat());
        }
        let program = CString::new(program.as_bytes()).ok()?;
        Some(Prepared { program, arguments: Words::new(arguments), environment: Words::new(environment), places })
    }

    /// Becomes the program. Returns only if that has failed.
    fn start(&mut self) -> io::Error {
        for (entry, at) in &self.places {
            write_digits(std::process::id(), &mut self.environment.words[*entry][*at..]);
        }
        // SAFETY: a text that ends with 0, and two lists of such that end with a null pointer; all of them live on.
        unsafe { libc::execvpe(self.program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr()) };
        io::Error::last_os_error()
    }
}

/// A number as a text, where there is room for one. Nothing is allocated.
fn write_digits(number: u32, room: &mut [u8]) {
    let mut n_digits = 1;
    while number / 10_u32.pow(n_digits - 1) > 9 {
        n_digits += 1;
    }
    for (at, place) in room.iter_mut().take(n_digits as usize).enumerate() {
        *place = b'0' + (number / 10_u32.pow(n_digits - 1 - at as u32) % 10) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a shell prints that has these variables, and its number.
    fn told(variables: &[(&str, &str)], script: &str) -> (String, u32) {
        let mut command = Command::new("/bin/sh");
        command.arg0("its-name").args(["-c", script]).envs(variables.iter().copied()).env_remove("PATH");
        give_own_number(&mut command, OsStr::new("its-name"));
        let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        (String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), pid)
    }

    const SCRIPT: &str =
        "echo $LISTEN_PID $WATCHDOG_PID $SYSTEMD_EXEC_PID $LISTEN_FDS ${LISTEN_PIDFDID-none} $0 ${PATH-none}";

    #[test]
    fn who_was_meant_by_our_number_finds_its_own() {
        let own = std::process::id().to_string();
        let numbers = [("LISTEN_PID", own.as_str()), ("WATCHDOG_PID", &own), ("SYSTEMD_EXEC_PID", &own)];
        let all = [&numbers[..], &[("LISTEN_FDS", "2"), ("LISTEN_PIDFDID", "77")]].concat();
        let (text, pid) = told(&all, SCRIPT);
        assert!(text.starts_with(&format!("{pid} {pid} {pid} 2 none its-name ")), "{text}");
        // One that is meant for somebody else stays.
        let (text, pid) =
            told(&[numbers[0], ("WATCHDOG_PID", "1"), ("SYSTEMD_EXEC_PID", "2"), ("LISTEN_FDS", "3")], SCRIPT);
        assert!(text.starts_with(&format!("{pid} 1 2 3 ")), "{text}");
    }

    #[test]
    fn who_was_not_meant_is_started_as_ever() {
        let all = [("LISTEN_PID", "1"), ("WATCHDOG_PID", "x"), ("SYSTEMD_EXEC_PID", ""), ("LISTEN_PIDFDID", "77")];
        let (text, _) = told(&all, SCRIPT);
        assert!(text.starts_with("1 x 77 its-name "), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_is_the_same_error() {
        let mut command = Command::new("/no/such/program");
        command.env("LISTEN_PID", std::process::id().to_string());
        give_own_number(&mut command, OsStr::new("program"));
        assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn numbers_are_written_without_zeros_before_them() {
        for number in [0, 7, 10, 99, 4_194_304, u32::MAX] {
            let mut room = [0; DIGITS];
            write_digits(number, &mut room);
            assert_eq!(
                CString::new(number.to_string()).unwrap().as_bytes_with_nul(),
                &room[..number.to_string().len() + 1]
            );
        }
    }
}
