//! `ondeck demo`: the way from a slow program to a faster one, on a small server of our own.

mod server;

use crate::exit::Exit;
use crate::terminal::{as_typed, print};
use ondeck_report::stats::median;
use ondeck_report::wording::{count, times};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) use server::serve;

/// How often the server runs with each of the locks, in turn.
const ROUNDS: usize = 3;
/// The hidden command that is the server.
const SERVER: &str = "demo-server";

/// What one run of the server did.
struct ServerRun {
    per_s: f64,
    cpu_ns: f64,
}

/// Finds the server's lock, replaces it, and says what that was worth.
pub(crate) fn run(library: Option<&Path>) -> Result<(), Exit> {
    let ondeck =
        std::env::current_exe().map_err(|error| Exit::Failed(format!("cannot find out where `ondeck` is: {error}")))?;
    let demo = Demo { ondeck, library: library.map(Path::to_owned) };
    let page = std::env::temp_dir().join("ondeck-demo.html");
    print(&format!(
        "A small server: {} threads answer requests from one cache, which a pthread mutex guards.\n\n\
         1. Which lock slows it down?\n\n   ondeck profile -o {} -- ondeck {SERVER}\n\n",
        server::threads(),
        page.display()
    ))?;
    demo.profile(&page)?;
    print(&format!("\n2. What does ondeck's lock change?\n\n   ondeck run -- ondeck {SERVER}\n\n"))?;
    let rounds: Vec<[ServerRun; 2]> = (0..ROUNDS).map(|_| demo.round()).collect::<Result<_, Exit>>()?;
    print(&verdict(&rounds))?;
    print(&as_typed(&format!(
        "\nThe page about it: {}\n\nNext, find the lock of your own program:\nondeck profile -- PROGRAM\n",
        page.display()
    )))
}

/// This program, which runs itself.
struct Demo {
    ondeck: PathBuf,
    library: Option<PathBuf>,
}

impl Demo {
    /// The server, under the words.
    fn server_under(&self, words: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.ondeck);
        command.args(words);
        if let Some(library) = &self.library {
            command.arg("--library").arg(library);
        }
        command.arg("--").arg(&self.ondeck).arg(SERVER);
        command
    }

    fn profile(&self, page: &Path) -> Result<(), Exit> {
        let words = ["profile".as_ref(), "-o".as_ref(), page.as_os_str()];
        let status = self.server_under(&words).stdout(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Exit::Failed(format!("ondeck profile ended with {status}"))),
            Err(error) => Err(Exit::Failed(format!("{}: {error}", self.ondeck.display()))),
        }
    }

    /// The server with glibc's locks and with ondeck's.
    fn round(&self) -> Result<[ServerRun; 2], Exit> {
        let plain = served(Command::new(&self.ondeck).arg(SERVER))?;
        Ok([plain, served(&mut self.server_under(&["run".as_ref()]))?])
    }
}

/// Runs the server, and reads what it prints.
fn served(command: &mut Command) -> Result<ServerRun, Exit> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Exit::Failed(format!("{SERVER}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match figures[..] {
        [per_s, cpu_ns] if output.status.success() => Ok(ServerRun { per_s, cpu_ns }),
        _ => Err(Exit::Failed(format!("{SERVER} ended with {}: {text:?}", output.status))),
    }
}

/// Medians of what the rounds say.
fn verdict(rounds: &[[ServerRun; 2]]) -> String {
    let of = |figure: &dyn Fn(&[ServerRun; 2]) -> f64| {
        median(&rounds.iter().map(figure).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let line = |name: &str, which: usize| {
        let (per_s, cpu_ns) = (of(&|round| round[which].per_s), of(&|round| round[which].cpu_ns));
        format!("   {name:8}{:>8} requests/s, {cpu_ns:>6.0} ns of CPU time for each\n", count(per_s))
    };
    let ratio = of(&|round| round[1].per_s / round[0].per_s);
    let cpu = of(&|round| round[1].cpu_ns / round[0].cpu_ns);
    let verdict = format!("   {} times the requests, at {cpu:.2} of the CPU time for each.\n", times(ratio));
    line("glibc", 0) + &line("ondeck", 1) + &verdict
}
